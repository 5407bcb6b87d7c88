#include <algorithm>
#include <string_view>

#include "annotator/profile/bundle/bundle.h"
#include "annotator/profile/bundle/json.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

using namespace json;

constexpr int kBundleSchema = 1;
constexpr std::int64_t kMostNs = 1'000'000'000;  // of a page fault

std::vector<Ns> times(const Json& object, std::string_view key) {
  std::vector<Ns> list;
  for (const std::int64_t ns : whole_numbers(object, key)) list.emplace_back(ns);
  return list;
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

std::optional<VariedProgram> varied_program(const Json& row, const std::filesystem::path& folder) {
  const auto path = contained(folder, text(row, "file"));
  if (!path) return std::nullopt;
  VariedProgram read{
      .file = *path, .name = text(row, "name"), .value = whole(row, "value").value_or(0), .was = whole(row, "was").value_or(0)};
  if (read.name.empty() || read.value < 1 || read.was < 1) return std::nullopt;
  if (const auto at = member(row, "at")) {
    read.source = text(*at, "path");
    read.line = small(*at, "line").value_or(0);
    read.column = small(*at, "column").value_or(0);
    read.end_column = small(*at, "end_column").value_or(0);
  }
  return read;
}

void read_files(const Json& json, const std::filesystem::path& folder, Manifest& manifest) {
  for (const Json& trace : objects(json, "traces")) {
    if (const auto path = contained(folder, text(trace, "file"))) {
      manifest.traces.push_back({.file = *path,
                                 .rank = whole(trace, "rank").value_or(0),
                                 .plain_steps = times(trace, "plain_step_ns"),
                                 .profiled_steps = times(trace, "profiled_step_ns")});
    }
  }
  manifest.map_trace = contained(folder, text(json, "map_trace"));
  manifest.program = contained(folder, text(json, "program"));
  if (contained(folder, text(json, "loop"))) manifest.loop = text(json, "loop");
  if (contained(folder, text(json, "saved"))) manifest.saved = text(json, "saved");
  for (const Json& row : objects(json, "programs")) {
    const auto path = contained(folder, text(row, "file"));
    const std::int64_t size = whole(row, "batch_size").value_or(0), was = whole(row, "was").value_or(0);
    if (path && size > 0 && was > 0) manifest.sized_programs.push_back({.file = *path, .batch_size = size, .was = was});
  }
  for (const Json& row : objects(json, "varied")) {
    if (auto read = varied_program(row, folder)) manifest.varied_programs.push_back(std::move(*read));
  }
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
  manifest.plain_faults = whole_numbers(json, "plain_step_faults");
  manifest.plain_fetching = times(json, "plain_step_fetching_ns");
  if (const auto faults = member(json, "page_faults")) {
    if (const auto each = whole(*faults, "each_ns"); each && *each > 0 && *each < kMostNs) manifest.fault_time = Ns{*each};
    manifest.gives_freed_back = text(*faults, "allocator") == "glibc" && !flag(*faults, "keeps_freed");
  }
  bool tried = false;
  if (const auto known = member(json, "cudnn_benchmark"); known && known->get(tried) == simdjson::SUCCESS) manifest.cudnn_benchmark = tried;
  manifest.profiled_steps = times(json, "profiled_step_ns");
  manifest.samples_per_step = whole(json, "samples_per_step");
  manifest.batch_size = whole(json, "batch_size");
  if (!manifest.batch_size || *manifest.batch_size <= 0) manifest.batch_size = manifest.samples_per_step;  // of an earlier version
  for (const Json& optimizer : objects(json, "optimizers")) {
    manifest.optimizers.push_back(text(optimizer, "class"));
    if (const auto elsewhere = size(optimizer, "elsewhere_bytes")) {
      manifest.optimizer_elsewhere = manifest.optimizer_elsewhere.value_or(Bytes{}) + *elsewhere;
    }
  }
  for (const Json& warning : objects(json, "warnings")) {
    manifest.warnings.push_back({text(warning, "code"), text(warning, "message"), whole(warning, "count").value_or(1)});
  }
  read_compiled(json, manifest);
  read_files(json, folder, manifest);
  manifest.stopped = !text(json, "stopped_by").empty();
  if (manifest.traces.empty()) {
    return std::unexpected(broken(file, "the bundle names no trace: no step was measured; run `hotlens run` again"));
  }
  return manifest;
}

std::optional<PageFaults> page_faults(const Manifest& manifest) {
  constexpr std::int64_t kMost = 1'000'000'000;  // pages: 4 TB
  if (manifest.plain_faults.empty() || manifest.plain_steps.empty() || !manifest.fault_time) return std::nullopt;
  const PageFaults faults{.count = usual(manifest.plain_faults),
                          .each = *manifest.fault_time,
                          .step = median(manifest.plain_steps),
                          .can_end = manifest.gives_freed_back};
  return faults.count > 0 && faults.count < kMost && faults.step > Ns{} ? std::optional(faults) : std::nullopt;
}

}  // namespace hotlens::profile
