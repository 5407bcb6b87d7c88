// A max-pool and the ReLU before it in the other order: neighbours in an nn.Sequential, and `pool(relu(x))` in one expression.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/layers.h"

namespace hotlens::advice {
namespace {

using profile::ModelModule;

bool is_max_pool_layer(std::string_view name) {
  return name == "MaxPool1d" || name == "MaxPool2d" || name == "MaxPool3d";
}

// The entry of an nn.Sequential behind this one; null: there is none.
const ModelModule* entry_behind(const Script& script, const ModelModule& entry) {
  const std::string_view holder = holder_of(entry.path),
                         number = std::string_view(entry.path).substr(holder.empty() ? 0 : holder.size() + 1);
  const ModelModule* around = script.module(holder);
  int place = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), place);
  if (around == nullptr || around->class_name != "Sequential" || error != std::errc{} || end != number.data() + number.size())
    return nullptr;
  return script.module(holder.empty() ? std::to_string(place + 1) : fmt::format("{}.{}", holder, place + 1));
}

// Two calls that are neighbours in one list of arguments or one list.
bool are_neighbours(const PythonText& text, const Call& first, const Call& second) {
  const TSNode one = node_of(text, first), around = ts_node_parent(one);
  const bool listed = type(around) == "argument_list" || type(around) == "list";
  return listed && ts_node_eq(ts_node_next_named_sibling(one), node_of(text, second));
}

bool calls_own(const PythonText& text, const Call& call, const std::set<std::string>& names) {
  const std::string_view callee = text.at(call.callee);
  return callee.starts_with("self.") && names.contains(std::string(callee.substr(5)));
}

bool is_relu_call(const PythonText& text, const Call& call, const std::set<std::string>& layers) {
  const bool function = call.what == "torch.nn.functional.relu" || call.what == "torch.relu";
  return !call.given.empty() && call.given[0].name.empty() && !call.spreads() && (function || calls_own(text, call, layers));
}

bool is_pool_call(const PythonText& text, const Call& call, const std::set<std::string>& layers) {
  constexpr auto kFunctions =
      std::to_array<std::string_view>({"torch.nn.functional.max_pool1d", "torch.nn.functional.max_pool2d", "torch.nn.functional.max_pool3d",
                                       "torch.max_pool1d", "torch.max_pool2d", "torch.max_pool3d"});
  const bool function = std::ranges::find(kFunctions, std::string_view(call.what)) != kFunctions.end();
  const bool plain = !call.given.empty() && call.given[0].name.empty() && !call.spreads() && call.named("return_indices") == nullptr &&
                     call.given.size() < 7;  // `return_indices` is the seventh
  return plain && (function || calls_own(text, call, layers));
}

// `pool(relu(x), 2)` as `relu(pool(x, 2))`.
Replacement turned(const PythonText& text, const Call& pool, const Call& relu) {
  const auto up_to = [&](std::uint32_t begin, std::uint32_t end) { return std::string(text.at(Span{begin, end})); };
  const Span &outer = pool.given[0].value, &inner = relu.given[0].value;
  const std::string pooled = up_to(pool.whole.begin, outer.begin) + up_to(inner.begin, inner.end) + up_to(outer.end, pool.whole.end);
  return {pool.whole, up_to(relu.whole.begin, inner.begin) + pooled + up_to(inner.end, relu.whole.end)};
}

// In the code of a class. False: there are none.
bool add_nestings(const Script& script, const std::string& name, std::span<const std::string> paths, ByPlace& edits) {
  const auto relus = names_of_layers(script, name, [](const ModelModule& one) { return one.class_name == "ReLU"; });
  const auto pools = names_of_layers(script, name, [&](const ModelModule& one) {
    return is_max_pool_layer(one.class_name) && std::ranges::find(paths, one.path) != paths.end();
  });
  bool found = false;
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    const PythonText& text = script.texts()[file];
    for (const Call& pool : text.calls()) {
      if (class_around(text, pool) != name || !is_pool_call(text, pool, pools)) continue;
      for (const Call& relu : text.calls()) {
        if (!(relu.whole == pool.given[0].value) || !is_relu_call(text, relu, relus)) continue;
        edits[file].emplace(pool.whole.begin, turned(text, pool, relu));
        found = true;
      }
    }
  }
  return found;
}

// The calls that make a ReLU and the pool behind it in an nn.Sequential change their places.
std::optional<NoEdit> swap_entries(const Script& script, const ModelModule& relu, const ModelModule& pool,
                                   std::span<const std::string> paths, ByPlace& edits) {
  const auto first = call_of(script, relu, paths, Others::stay), second = call_of(script, pool, paths, Others::stay);
  if (!first || !second) return first ? second.error() : first.error();
  const PythonText& text = script.texts()[first->file];
  if (first->file != second->file || !are_neighbours(text, *first->call, *second->call)) {
    return NoEdit{fmt::format("`{}` and `{}` are not made beside each other, at {}", relu.path, pool.path, script.places({*first})), {}};
  }
  const Span one = first->call->whole, other = second->call->whole;
  edits[first->file].emplace(one.begin, Replacement{one, std::string(text.at(other))});
  edits[first->file].emplace(other.begin, Replacement{other, std::string(text.at(one))});
  return std::nullopt;
}

}  // namespace

Made pool_before_relu(const Script& script, std::span<const std::string> paths) {
  ByPlace edits;
  std::set<std::string> classes;  // in whose code one is called on the other
  for (const std::string& path : paths) {
    const ModelModule* module = script.module(path);
    if (module == nullptr) return no(fmt::format("the layer `{}` is not known", path));
    if (is_max_pool_layer(module->class_name)) continue;
    const bool layer = module->class_name == "ReLU";
    const ModelModule* next = layer ? entry_behind(script, *module) : nullptr;
    if (next != nullptr && is_max_pool_layer(next->class_name)) {
      if (auto why = swap_entries(script, *module, *next, paths, edits)) return std::unexpected(std::move(*why));
      continue;
    }
    const ModelModule* caller = layer ? script.module(holder_of(path)) : module;
    if (caller != nullptr) classes.insert(caller->class_name);
  }
  for (const std::string& name : classes) {
    if (!add_nestings(script, name, paths, edits))
      return no(fmt::format("no expression in the code of `{}` is a max-pool of a ReLU, `pool(relu(x))`", name));
  }
  if (edits.empty()) return no("no ReLU and max-pool stand beside each other in the files that ran");
  return listed(std::move(edits));
}

}  // namespace hotlens::advice
