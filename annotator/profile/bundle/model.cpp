#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/json.h"
#include "annotator/profile/bundle/moved_files.h"

namespace hotlens::profile {
namespace {

using namespace json;
using attribution::kNothing;

constexpr int kModelSchema = 1;
constexpr double kRounding = 1e-3;  // of parts that the recorder has rounded

void add(std::optional<Bytes>& sum, const std::optional<Bytes>& more) {
  if (more) sum = sum.value_or(Bytes{}) + *more;
}

std::optional<Site> site(const Json& object, std::string_view key, std::size_t files) {
  const std::optional<Json> at = member(object, key);
  if (!at || !at->is_object()) return std::nullopt;
  const std::optional<std::uint32_t> file = small(*at, "file");
  const std::optional<std::uint32_t> line = small(*at, "line");
  if (!file || *file >= files || !line) return std::nullopt;
  return Site{.file = FileId{*file},
              .line = *line,
              .end_line = std::max(*line, small(*at, "end_line").value_or(*line)),
              .column = small(*at, "column"),
              .end_column = small(*at, "end_column"),
              .function = text(*at, "function")};
}

// Where the cells of a notebook begin; none where they are no lines in their order.
std::vector<std::uint32_t> read_cells(const Json& file) {
  std::vector<std::uint32_t> cells;
  for (const Json& each : elements(file, "cells")) {
    std::int64_t line = 0;
    if (each.get(line) != simdjson::SUCCESS || line < 0 || !std::cmp_less(line, kNothing)) return {};
    cells.push_back(static_cast<std::uint32_t>(line));
  }
  return std::ranges::is_sorted(cells) ? cells : std::vector<std::uint32_t>{};
}

void read_files(const Json& json, const std::filesystem::path& folder, Model& model) {
  for (const Json& file : objects(json, "files")) {
    const auto copy = contained(folder, text(file, "copy"));
    const auto given = member(file, "workspace");
    bool workspace = false;
    if (given && given->get(workspace) != simdjson::SUCCESS) workspace = false;
    model.files.push_back({.path = text(file, "path"),
                           .copy = copy.value_or(std::filesystem::path()),
                           .sha256 = text(file, "sha256"),
                           .workspace = workspace,
                           .cells = read_cells(file)});
  }
}

// Modules that the same lines make have one number. Of what no line is known nothing is the same.
void number_definitions(Model& model) {
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  const auto place = [](const std::optional<Site>& site) {
    return site ? Place(site->file.index, site->line, site->end_line, site->column.value_or(kNothing)) : Place(kNothing, 0, 0, 0);
  };
  std::map<std::tuple<Place, Place, Place>, std::uint32_t> numbers;
  for (const ModelModule& module : model.modules) {
    const auto own = static_cast<std::uint32_t>(model.map.definition.size());
    const bool known = module.attached || module.constructed;
    const auto key = std::tuple(place(module.attached), place(module.constructed), place(module.class_site));
    model.map.definition.push_back(known ? numbers.try_emplace(key, own).first->second : own);
  }
}

void read_modules(const Json& json, Model& model) {
  std::map<std::string, std::uint32_t> classes;
  for (const Json& entry : objects(json, "modules")) {
    ModelModule module;
    module.path = text(entry, "path");
    module.class_name = text(entry, "class");
    module.package = text(entry, "python_module");
    module.package.resize(std::min(module.package.find('.'), module.package.size()));
    const std::optional<std::uint32_t> parent = small(entry, "parent");
    if (parent && *parent < model.modules.size()) module.parent = *parent;  // parents come first, so there is no cycle
    module.parameters = size(entry, "parameters_bytes");
    module.attached = site(entry, "attached", model.files.size());
    module.constructed = site(entry, "constructed", model.files.size());
    module.class_site = site(entry, "class_site", model.files.size());
    if (const auto by = member(entry, "checkpoint_switch")) {
      const std::optional<std::uint32_t> of = small(*by, "module");
      if (of && *of < model.modules.size()) module.checkpoint_switch = CheckpointSwitch{*of, text(*by, "method")};
    }
    model.map.module_parent.push_back(module.parent);
    model.map.module_class.push_back(classes.try_emplace(module.class_name, static_cast<std::uint32_t>(classes.size())).first->second);
    model.modules.push_back(std::move(module));
  }
  number_definitions(model);
}

void read_roles(const Json& json, Model& model) {
  model.map.role.assign(model.modules.size(), attribution::RootRole::other);
  for (const Json& root : objects(json, "roots")) {
    const std::optional<std::uint32_t> module = small(root, "module");
    if (!module || *module >= model.modules.size()) continue;
    const std::string role = text(root, "role");
    if (role == "model") model.map.role[*module] = attribution::RootRole::model;
    if (role == "loss") model.map.role[*module] = attribution::RootRole::loss;
  }
  for (std::size_t module = 0; module < model.modules.size(); ++module) {
    const std::uint32_t parent = model.modules[module].parent;
    if (parent != kNothing) model.map.role[module] = model.map.role[parent];
  }
}

// Places in source by their order: calls at the same expression have one site.
std::uint32_t number_of(const Site& site, std::map<std::array<std::uint32_t, 5>, std::uint32_t>& known) {
  const std::array<std::uint32_t, 5> key = {site.file.index, site.line, site.end_line, site.column.value_or(kNothing),
                                            site.end_column.value_or(kNothing)};
  return known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second;
}

void read_calls(const Json& json, Model& model) {
  std::map<std::array<std::uint32_t, 5>, std::uint32_t> sites;
  for (const Json& entry : objects(json, "calls")) {
    ModelCall call;
    call.module = small(entry, "module").value_or(kNothing);
    if (call.module >= model.modules.size()) call.module = kNothing;
    call.parent = small(entry, "parent").value_or(kNothing);
    if (call.parent >= model.calls.size()) call.parent = kNothing;
    call.site = site(entry, "site", model.files.size());
    model.map.module_of_call.push_back(call.module);
    model.map.site_of_call.push_back(call.site && call.module != kNothing ? number_of(*call.site, sites) : kNothing);
    model.calls.push_back(std::move(call));
  }
  model.call_sites = static_cast<std::uint32_t>(sites.size());
}

void read_lines(const Json& json, Model& model) {
  for (const Json& entry : objects(json, "lines")) {
    const std::uint32_t file = small(entry, "file").value_or(kNothing);
    model.lines.push_back({.file = file < model.files.size() ? FileId{file} : FileId{},
                           .line = small(entry, "line").value_or(0),
                           .function = text(entry, "function")});
    model.map.watching.emplace_back(small(entry, "watching_ns").value_or(0));
  }
  model.map.lines = model.lines.size();
}

// More modules than a compiler fuses into one kernel, and deeper than any model is.
constexpr std::size_t kMostShares = 64;

attribution::PartShare share_of(const Json& entry, std::size_t modules) {
  attribution::PartShare share;
  for (const Json& each : objects(entry, "modules")) {
    const std::uint32_t module = small(each, "id").value_or(kNothing);
    share.modules.push_back({.inside = text(each, "path"), .module = module < modules ? module : kNothing});
    if (share.modules.size() == attribution::kDeepest) break;
  }
  for (const std::int64_t line : whole_numbers(entry, "lines")) {
    if (line >= 0 && std::cmp_less(line, kNothing)) share.lines.push_back(static_cast<std::uint32_t>(line));
    if (share.lines.size() == attribution::kDeepest) break;
  }
  const double weight = number(entry, "weight").value_or(0);
  share.weight = weight > 0 && weight <= 1 ? weight : 0;
  return share;
}

void read_parts(const Json& json, Model& model) {
  for (const Json& entry : objects(json, "parts")) {
    std::vector<attribution::PartShare> shares;
    for (const Json& each : objects(entry, "shares")) {
      if (shares.size() < kMostShares) shares.push_back(share_of(each, model.modules.size()));
    }
    model.map.parts.push_back(std::move(shares));
  }
  if (model.map.parts.empty()) return;
  for (const ModelModule& module : model.modules) model.map.path.push_back(module.path);
}

// All or none: parts of a whole.
void read_fetches(const Json& json, Model& model) {
  std::vector<attribution::FetchLines> stacks;
  double whole = 0;
  for (const Json& entry : objects(json, "fetches")) {
    attribution::FetchLines stack{.lines = {}, .weight = number(entry, "weight").value_or(-1)};
    for (const std::int64_t line : whole_numbers(entry, "lines")) {
      if (line < 0 || std::cmp_greater_equal(line, model.lines.size()) || stack.lines.size() == attribution::kDeepest) return;
      stack.lines.push_back(static_cast<std::uint32_t>(line));
    }
    whole += stack.weight;
    if (stack.lines.empty() || stack.weight <= 0 || whole > 1 + kRounding) return;
    stacks.push_back(std::move(stack));
  }
  model.map.fetches = std::move(stacks);
}

void read_parameters(const Json& json, Model& model) {
  for (const Json& entry : objects(json, "parameters")) {
    const std::uint32_t module = small(entry, "module").value_or(kNothing);
    model.map.module_of_param.push_back(module < model.modules.size() ? module : kNothing);
    if (module >= model.modules.size()) continue;
    add(model.modules[module].gradients, size(entry, "gradient_bytes"));
    add(model.modules[module].optimizer, size(entry, "optimizer_bytes"));
  }
  for (std::size_t at = model.modules.size(); at-- > 0;) {
    const ModelModule& module = model.modules[at];
    if (module.parent == kNothing) continue;
    add(model.modules[module.parent].gradients, module.gradients);
    add(model.modules[module.parent].optimizer, module.optimizer);
  }
}

void read_stages(const Json& json, Model& model) {
  for (const Json& entry : objects(json, "stages")) {
    const std::optional<Stage> stage = attribution::stage_named(text(entry, "stage"));
    const std::optional<Site> place = site(entry, "site", model.files.size());
    if (stage && place) model.stages.push_back({.site = *place, .stage = *stage});
  }
}

}  // namespace

Result<Model> read_model(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "model.json";
  const Result<Document> read = read_json(folder, "model.json");
  if (!read) return std::unexpected(read.error());
  const Json& json = read->json;
  if (const auto schema = check_schema(json, "model", kModelSchema, file); !schema) return std::unexpected(schema.error());
  Model model;
  read_files(json, folder, model);
  if (const auto manifest = read_json(folder, "manifest.json")) name_as_they_lie(folder, text(manifest->json, "cwd"), model.files);
  read_modules(json, model);
  read_roles(json, model);
  read_calls(json, model);
  read_lines(json, model);
  read_parts(json, model);
  read_fetches(json, model);
  read_parameters(json, model);
  read_stages(json, model);
  return model;
}

std::optional<CheckpointSwitch> checkpoint_switch(const Model& model, std::span<const std::string> paths) {
  const auto is_one = [&](const ModelModule& module) { return std::ranges::find(paths, module.path) != paths.end(); };
  const auto first = std::ranges::find_if(model.modules, is_one);
  if (first == model.modules.end() || !first->checkpoint_switch) return std::nullopt;
  const bool exactly = std::ranges::all_of(
      model.modules, [&](const ModelModule& module) { return is_one(module) == (module.checkpoint_switch == first->checkpoint_switch); });
  const bool own = std::ranges::any_of(model.calls, [&](const ModelCall& call) {
    return call.module < model.modules.size() && is_one(model.modules[call.module]) && call.site &&
           model.files[call.site->file.index].workspace;
  });
  return exactly && !own ? first->checkpoint_switch : std::nullopt;
}

}  // namespace hotlens::profile
