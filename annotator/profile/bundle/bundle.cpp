#include "annotator/profile/bundle/bundle.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "annotator/profile/bundle/json.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

using namespace json;
using attribution::kNothing;

constexpr int kBundleSchema = 1;
constexpr int kModelSchema = 1;
constexpr int kLoopSchema = 1;

void add(std::optional<Bytes>& sum, const std::optional<Bytes>& more) {
  if (more) sum = sum.value_or(Bytes{}) + *more;
}

template <class Number>
std::vector<Number> numbers(const Json& object, std::string_view key) {
  std::vector<Number> list;
  for (const Json& element : elements(object, key)) {
    if (std::int64_t value = 0; element.get(value) == simdjson::SUCCESS) list.emplace_back(value);
  }
  return list;
}

std::vector<Ns> times(const Json& object, std::string_view key) {
  return numbers<Ns>(object, key);
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

// A name inside the bundle; a manifest may not point out of its folder. Links are looked at when the file is read.
std::optional<std::filesystem::path> contained(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path relative = std::filesystem::path(name).lexically_normal();
  const bool names_a_file = relative.has_filename() && relative != "." && *relative.begin() != "..";
  if (!names_a_file || relative.is_absolute() || name.contains('\0')) return std::nullopt;
  return folder / relative;
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
    const std::optional<std::uint32_t> parent = small(entry, "parent");
    if (parent && *parent < model.modules.size()) module.parent = *parent;  // parents come first, so there is no cycle
    module.parameters = size(entry, "parameters_bytes");
    module.attached = site(entry, "attached", model.files.size());
    module.constructed = site(entry, "constructed", model.files.size());
    module.class_site = site(entry, "class_site", model.files.size());
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
  for (const std::int64_t line : numbers<std::int64_t>(entry, "lines")) {
    if (line >= 0 && std::cmp_less(line, kNothing)) share.lines.push_back(static_cast<std::uint32_t>(line));
    if (share.lines.size() == attribution::kDeepest) break;
  }
  double weight = 0;
  const auto at = member(entry, "weight");
  share.weight = at && at->get(weight) == simdjson::SUCCESS && weight > 0 && weight <= 1 ? weight : 0;
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

// A path and a line of source that the bundle need not have.
void read_place(const Json& entry, std::string& file, std::uint32_t& line, std::string& function) {
  file = text(entry, "file");
  line = small(entry, "line").value_or(0);
  function = text(entry, "function");
}

Ns no_less_than_none(const Json& object, std::string_view key) {
  return Ns{std::max<std::int64_t>(whole(object, key).value_or(0), 0)};
}

void read_compiled(const Json& json, Manifest& manifest) {
  const std::optional<Json> compiled = member(json, "compiled");
  if (!compiled || !compiled->is_object()) return;
  CompilationLog log{.count = small(*compiled, "count").value_or(0),
                     .took = no_less_than_none(*compiled, "took_ns"),
                     .compilations = {},
                     .breaks = {},
                     .missing = {}};
  for (const Json& entry : objects(*compiled, "compilations")) {
    Compilation row{.region = text(entry, "region"), .function = {}, .file = {}, .again = text(entry, "again"), .failed = {}};
    read_place(entry, row.file, row.line, row.function);
    row.took = no_less_than_none(entry, "took_ns");
    row.failed = text(entry, "failed");
    row.backward = flag(entry, "backward");
    log.compilations.push_back(std::move(row));
    manifest.compilation_starts.push_back(whole(entry, "start_us"));
  }
  for (const Json& entry : objects(*compiled, "breaks")) {
    GraphBreak row{.file = {}, .function = {}, .reason = text(entry, "reason"), .count = small(entry, "count").value_or(1)};
    read_place(entry, row.file, row.line, row.function);
    log.breaks.push_back(std::move(row));
  }
  for (const Json& entry : elements(*compiled, "missing")) {
    if (std::string_view said; entry.get(said) == simdjson::SUCCESS) log.missing.emplace_back(said);
  }
  manifest.compiled = std::move(log);
}

// A part of `most`; nothing of what is not.
std::optional<Ns> part_of(const Json& object, std::string_view key, Ns most) {
  const std::int64_t value = whole(object, key).value_or(-1);
  return value >= 0 && value <= most.count() ? std::optional(Ns{value}) : std::nullopt;
}

std::string statement_kind(const Json& object) {
  constexpr std::array<std::string_view, 5> kKinds = {"for", "while", "if", "with", "loop"};
  const std::string kind = text(object, "kind");
  return std::ranges::find(kKinds, kind) != kKinds.end() ? kind : "statement";
}

std::optional<LoopStatement> loop_statement(const Json& entry, const Loop& loop, std::size_t files) {
  const auto file = small(entry, "file"), line = small(entry, "line");
  const auto total = part_of(entry, "total_ns", loop.watched), startup = part_of(entry, "startup_ns", loop.startup);
  if (!file || *file >= files || !line || !total || !startup) return std::nullopt;
  const auto count = [&](std::string_view key) { return std::int64_t{small(entry, key).value_or(0)}; };
  const auto update = [&](std::string_view key) { return std::int64_t{small(entry, key).value_or(0)}; };  // of all, watched or not
  LoopStatement statement;
  statement.site.file = FileId{*file};
  statement.site.line = *line;
  statement.site.end_line = std::max(*line, small(entry, "end_line").value_or(*line));
  statement.site.column = small(entry, "column");
  statement.site.function = text(entry, "function");
  statement.kind = statement_kind(entry);
  statement.calls = count("calls");
  statement.total = *total;
  // Bundles of earlier versions counted only what was watched.
  statement.timed = part_of(entry, "timed_ns", Ns::max()).value_or(*total);
  statement.in_updates = std::min(count("in_updates"), loop.made);
  statement.in_watched = std::min(count("in_watched"), loop.updates);
  statement.first_update = update("first_update");
  statement.last_update = update("last_update");
  statement.startup_calls = count("startup_calls");
  statement.startup = *startup;
  return statement;
}

}  // namespace

Result<Manifest> read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "manifest.json";
  const Result<Document> read = read_json(folder, "manifest.json");
  if (!read) return std::unexpected(read.error());
  const Json& json = read->json;
  if (const auto schema = check_schema(json, "bundle", kBundleSchema, file); !schema) return std::unexpected(schema.error());
  Manifest manifest;
  manifest.id = text(json, "id");
  manifest.created = text(json, "created");
  manifest.cwd = text(json, "cwd");
  for (const Json& argument : elements(json, "argv")) {
    if (std::string_view word; argument.get(word) == simdjson::SUCCESS) manifest.argv.emplace_back(word);
  }
  if (const auto libraries = member(json, "libraries")) manifest.torch = text(*libraries, "torch");
  manifest.threads = whole(json, "threads").value_or(0);
  for (const Json& device : objects(json, "devices")) manifest.devices.push_back({text(device, "name"), text(device, "kind")});
  if (const auto git = member(json, "git")) {
    manifest.commit = text(*git, "commit");
    manifest.edited = flag(*git, "dirty");
  }
  if (const auto step = member(json, "step")) {
    manifest.step_by = text(*step, "by");
    manifest.step_why = text(*step, "why");
  }
  manifest.plain_steps = times(json, "plain_step_ns");
  manifest.plain_faults = numbers<std::int64_t>(json, "plain_step_faults");
  manifest.profiled_steps = times(json, "profiled_step_ns");
  manifest.samples_per_step = whole(json, "samples_per_step");
  for (const Json& optimizer : objects(json, "optimizers")) {
    manifest.optimizers.push_back(text(optimizer, "class"));
    add(manifest.optimizer_elsewhere, size(optimizer, "elsewhere_bytes"));
  }
  for (const Json& warning : objects(json, "warnings")) {
    manifest.warnings.push_back({text(warning, "code"), text(warning, "message"), whole(warning, "count").value_or(1)});
  }
  for (const Json& trace : objects(json, "traces")) {
    if (const auto path = contained(folder, text(trace, "file"))) {
      manifest.traces.push_back({.file = *path,
                                 .rank = whole(trace, "rank").value_or(0),
                                 .plain_steps = times(trace, "plain_step_ns"),
                                 .profiled_steps = times(trace, "profiled_step_ns")});
    }
  }
  read_compiled(json, manifest);
  manifest.map_trace = contained(folder, text(json, "map_trace"));
  manifest.program = contained(folder, text(json, "program"));
  if (contained(folder, text(json, "loop"))) manifest.loop = text(json, "loop");
  if (contained(folder, text(json, "saved"))) manifest.saved = text(json, "saved");
  for (const Json& row : objects(json, "programs")) {
    const auto path = contained(folder, text(row, "file"));
    const std::int64_t size = whole(row, "batch_size").value_or(0), was = whole(row, "was").value_or(0);
    if (path && size > 0 && was > 0) manifest.sized_programs.push_back({.file = *path, .batch_size = size, .was = was});
  }
  manifest.stopped = !text(json, "stopped_by").empty();
  if (manifest.traces.empty()) {
    return std::unexpected(broken(file, "the bundle names no trace: no step was measured; run `hotlens run` again"));
  }
  return manifest;
}

Result<Model> read_model(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "model.json";
  const Result<Document> read = read_json(folder, "model.json");
  if (!read) return std::unexpected(read.error());
  const Json& json = read->json;
  if (const auto schema = check_schema(json, "model", kModelSchema, file); !schema) return std::unexpected(schema.error());
  Model model;
  read_files(json, folder, model);
  read_modules(json, model);
  read_roles(json, model);
  read_calls(json, model);
  read_lines(json, model);
  read_parts(json, model);
  read_parameters(json, model);
  read_stages(json, model);
  return model;
}

std::optional<Processors> processors_of(const Json& loop) {
  const auto found = member(loop, "processors");
  if (!found) return std::nullopt;
  const auto time = [&](const char* name) { return Ns{std::max<std::int64_t>(whole(*found, name).value_or(0), 0)}; };
  const Processors read{
      .count = whole(*found, "count").value_or(0), .wall = time("wall_ns"), .ours = time("ours_ns"), .others = time("others_ns")};
  return read.count > 0 && read.wall > Ns{} ? std::optional(read) : std::nullopt;
}

Result<Loop> read_loop(const std::filesystem::path& folder, const std::string& name, std::size_t files) {
  const Result<Document> read = read_json(folder, name);
  if (!read) return std::unexpected(read.error());
  const std::filesystem::path file = folder / name;
  if (const auto schema = check_schema(read->json, "loop", kLoopSchema, file); !schema) return std::unexpected(schema.error());
  Loop loop{.updates = small(read->json, "updates").value_or(0),
            .made = 0,
            .watched = Ns{whole(read->json, "watched_ns").value_or(0)},
            .startup = Ns{std::max<std::int64_t>(whole(read->json, "startup_ns").value_or(0), 0)},
            .statements = {}};
  if (loop.updates < 1 || loop.watched <= Ns{}) return std::unexpected(broken(file, "the loop was watched for no update"));
  loop.made = std::max<std::int64_t>(small(read->json, "made").value_or(0), loop.updates);
  for (const Json& entry : objects(read->json, "statements")) {
    if (auto statement = loop_statement(entry, loop, files)) loop.statements.push_back(std::move(*statement));
  }
  loop.rare = rare_time(loop);
  loop.processors = processors_of(read->json);
  return loop;
}

std::optional<Ns> plain_step(const Manifest& manifest, const Loop* loop) {
  if (loop != nullptr) return per_update(*loop, loop->watched);
  return manifest.plain_steps.empty() ? std::nullopt : std::optional(median(manifest.plain_steps));
}

std::optional<Ns> shown_step(const std::filesystem::path& bundle, const Manifest& manifest) {
  constexpr std::size_t kAnyFile = std::numeric_limits<std::size_t>::max();  // which file a statement is in does not matter here
  const auto loop = manifest.loop.empty() ? std::nullopt : std::optional(read_loop(bundle, manifest.loop, kAnyFile));
  return loop && *loop ? step_time(mean_update(**loop)) : plain_step(manifest, nullptr);
}

}  // namespace hotlens::profile
