#include "annotator/lab/layers/match/recorded_layers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/python/torch_layers.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
using nlohmann::json;

void flatten(const Ref& module, const std::string& path, Modules& to, std::set<const Value*>& seen) {
  if (!seen.insert(module).second) return;
  to[path] = module;
  for (const auto& [name, value] : module->attributes) {
    if (is_module(value)) flatten(value, path.empty() ? name : path + "." + name, to, seen);
  }
}

std::optional<json> plain(const Ref& value) {
  if (value->kind == Kind::integer) return json(value->integer);
  if (value->kind == Kind::boolean) return json(value->integer != 0);
  if (value->kind == Kind::real) return json(value->real);
  if (value->kind == Kind::text) return json(value->text);
  if (value->kind != Kind::tuple && value->kind != Kind::list) return std::nullopt;
  json all = json::array();
  for (const Ref& item : value->items) {
    const auto one = plain(item);
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  return all;
}

// A recorded attribute may be the number that was given, once for each dimension.
bool fits(const json& recorded, const json& given) {
  if (recorded.is_array() && !given.is_array()) return std::ranges::all_of(recorded, [&](const json& one) { return one == given; });
  return recorded == given;
}

bool is_recorded(const Value& layer, const json& attributes) {
  for (const std::string_view name : constructor_parameters(layer.layer)) {
    const Ref value = argument(layer, name);
    const auto found = attributes.find(std::string(name));
    const auto known = value ? plain(value) : std::nullopt;
    if (known && found != attributes.end() && name != "bias" && !fits(*found, *known)) return false;
  }
  return true;
}

bool all_recorded(const Modules& modules, const Recorded& recorded) {
  return std::ranges::all_of(modules, [&](const auto& one) {
    const auto found = recorded.find(one.first);
    return found != recorded.end() && found->second->value("class", "") == class_name(*one.second) &&
           is_recorded(*one.second, found->second->value("attributes", json::object()));
  });
}

}  // namespace

Modules flattened(const Ref& root) {
  Modules all;
  std::set<const Value*> seen;
  flatten(root, "", all, seen);
  return all;
}

void add_below(Modules& to, const Ref& root, const std::string& path) {
  for (const auto& [below, module] : flattened(root)) to[below.empty() ? path : path + "." + below] = module;
}

std::vector<Ref> roots(const Interpreter& followed, const std::string& type) {
  std::set<const Value*> held;
  for (const Ref& module : followed.modules()) {
    for (const auto& [name, value] : module->attributes) {
      if (value != module) held.insert(value);
    }
  }
  std::vector<Ref> found;
  for (const Ref& module : followed.modules()) {
    if (!held.contains(module) && class_name(*module) == type) found.push_back(module);
  }
  return found;
}

std::optional<std::size_t> recorded_root(const std::vector<Ref>& candidates, const Recorded& recorded) {
  std::optional<std::size_t> best;
  std::size_t most = 0;
  for (std::size_t at = 0; at < candidates.size(); ++at) {
    const Modules all = flattened(candidates[at]);
    if (!all_recorded(all, recorded) || all.size() < most) continue;
    best = at;
    most = all.size();
  }
  return best;
}

std::map<std::string, std::size_t> other_roots(const Interpreter& followed, const Recorded& recorded, const Modules& model) {
  std::map<std::string, std::size_t> found;
  for (const auto& [path, row] : recorded) {
    const std::string type = row->value("class", "");
    if (path != type || model.contains(path)) continue;
    const std::vector<Ref> candidates = roots(followed, type);
    for (std::size_t at = 0; at < candidates.size(); ++at) {
      Modules all;
      add_below(all, candidates[at], path);
      const bool holds = all.size() > 1;  // no loss
      if (holds && candidates[at] != model.at("") && all_recorded(all, recorded)) found[path] = at;
    }
  }
  return found;
}

void learn(const Modules& modules, const Recorded& recorded, Heap& heap, std::map<std::string, Ref>& known) {
  for (const auto& [path, layer] : modules) {
    const json attributes = recorded.at(path)->value("attributes", json::object());
    for (const std::string_view name : constructor_parameters(layer->layer)) {
      const Ref value = argument(*layer, name);
      const auto found = attributes.find(std::string(name));
      if (value && value->kind == Kind::unknown && found != attributes.end() && found->is_number_integer())
        known[value->text] = heap.value({.kind = Kind::integer, .integer = found->get<std::int64_t>()});
    }
  }
}

bool stands_for(const Modules& modules, const std::string& path) {
  for (std::string above = path; !above.empty();) {
    const std::size_t dot = above.rfind('.');
    const std::string name = above.substr(dot == std::string::npos ? 0 : dot + 1);
    above = dot == std::string::npos ? "" : above.substr(0, dot);
    const auto holder = modules.find(above);
    if (holder == modules.end()) continue;
    const Value& object = *holder->second;
    const bool torchs = object.self->kind == Kind::external && object.layer != "Sequential" && object.layer != "ModuleList";
    return torchs ||
           std::ranges::any_of(object.attributes, [&](const auto& one) { return one.first == name && one.second->kind == Kind::unknown; });
  }
  return false;
}

}  // namespace hotlens::layers
