#include "annotator/profile/build/annotated.h"

#include <algorithm>
#include <future>
#include <string>
#include <utility>

#include "annotator/attribution/structure/annotations.h"
#include "annotator/common/file.h"
#include "annotator/profile/build/fit.h"
#include "annotator/profile/build/load.h"

namespace hotlens::profile {
namespace {

// All that the map step says by itself.
struct MapStep {
  trace::Trace trace;
  attribution::Forest forest;
  attribution::Steps steps;
  attribution::Owners owners;
  std::optional<MemoryUse> memory;
};

Result<MapStep> read_map_step(const std::filesystem::path& file, const attribution::ModuleMap& modules, Issues& issues) {
  Result<trace::Trace> trace = trace::read_file(file, issues);
  if (!trace) return std::unexpected(trace.error());
  MapStep map{.trace = std::move(*trace), .forest = {}, .steps = {}, .owners = {}, .memory = std::nullopt};
  map.forest = attribution::module_forest(map.trace);
  map.steps = attribution::find_steps(map.trace, map.forest);
  map.owners = attribution::find_owners(map.trace, map.forest, map.steps, &modules);
  if (!map.steps.spans.empty()) {
    map.memory = memory_use({.trace = map.trace,
                             .forest = map.forest,
                             .owners = map.owners,
                             .module_parent = modules.module_parent,
                             .step = map.steps.spans.front()});
  }
  return map;
}

// What a bundle tells beside its trace, read on a thread of its own while that is read.
struct Recording {
  Result<Model> model = std::unexpected(Error{});
  std::optional<Result<MapStep>> map;  // nothing where the bundle recorded none
  Issues issues;                       // of the map step
};

// A bundle's trace has to lie in the bundle and to be a file.
Result<void> check_trace(const std::filesystem::path& bundle, const std::filesystem::path& trace) {
  std::error_code error;
  if (!std::filesystem::exists(trace, error)) {
    return std::unexpected(
        Error{ErrorCode::not_found, "the bundle lacks its trace: it is half written; run `hotlens run` again", trace.string()});
  }
  if (is_file_inside(trace, bundle)) return {};
  return std::unexpected(Error{ErrorCode::unreadable,
                               "the bundle's trace is no regular file in the bundle and was not read; run `hotlens run` again",
                               trace.string()});
}

std::unique_ptr<Recording> read_recording(const std::filesystem::path& bundle, const std::optional<std::filesystem::path>& map_trace) {
  auto recording = std::make_unique<Recording>();
  recording->model = read_model(bundle);
  if (!recording->model || !map_trace) return recording;
  const Result<void> checked = check_trace(bundle, *map_trace);
  recording->map = checked ? read_map_step(*map_trace, recording->model->map, recording->issues) : std::unexpected(checked.error());
  return recording;
}

// Takes the times of the map step's events, which nothing else needs any more.
std::optional<MapHeld> held_of(MapStep& map) {
  if (map.steps.spans.empty()) return std::nullopt;
  HeldOverTime held = held_in(map.trace.memory, map.steps.spans.front());
  if (held.empty()) return std::nullopt;
  return MapHeld{.held = std::move(held),
                 .step = map.steps.spans.front(),
                 .start = std::move(map.trace.events.start),
                 .duration = std::move(map.trace.events.duration)};
}

// Owners from the bundle's map step; nothing where it recorded none or it cannot be read.
std::optional<attribution::Transfer> from_map_step(Annotated& annotated, Recording& recording) {
  if (!recording.map || !annotated.model) return std::nullopt;
  Result<MapStep>& map = *recording.map;
  for (const Issue& issue : recording.issues.items()) annotated.issues.add(issue.code, issue.message, issue.count);
  if (!map) {
    annotated.issues.add("no-map-trace", "the bundle's map step cannot be read, so nothing is known of modules: " + map.error().message);
    return std::nullopt;
  }
  annotated.map_memory = std::move(map->memory);
  attribution::Transfer transfer =
      attribution::transfer({annotated.trace, annotated.forest, annotated.steps}, {map->trace, map->forest, map->steps},
                            std::move(map->owners), annotated.model->map);
  annotated.map_held = held_of(*map);
  annotated.map_inputs = MapInputs{std::move(map->trace.inputs), std::move(map->trace.inputs_text), std::move(transfer.twin)};
  return transfer;
}

How how_known(attribution::ModuleSource source) {
  switch (source) {
    case attribution::ModuleSource::none:
      return How::none;
    case attribution::ModuleSource::markers:
      return How::recorded;
    case attribution::ModuleSource::frames:
      return How::frames;
    case attribution::ModuleSource::ranges:
      return How::annotations;
  }
  return How::none;
}

// A bundle without a map step may still hold frames of its own; they are no part of its table of modules.
void forget_modules(attribution::Owners& owners) {
  for (attribution::Owner& owner : owners.of) owner.call = attribution::kNothing;
  owners.calls = {};
  owners.found.clear();
  owners.source = attribution::ModuleSource::none;
}

// A trace of the host that could have said which code ran, had it been asked to. Ranges that name modules may do instead.
void report_missing_frames(Annotated& annotated) {
  const trace::Recording& recording = annotated.trace.recording;
  const std::vector<trace::Category>& kinds = annotated.trace.events.category;
  const auto has = [&](trace::Category kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  const bool asked = recording.with_stack || recording.call_stacks || recording.legacy || has(trace::Category::python);
  if (annotated.how != How::none || asked || !has(trace::Category::cpu_op)) return;
  annotated.issues.add(kNoFrames,
                       "no line of code can be given: the trace was recorded without with_stack=True. Record it again with "
                       "torch.profiler.profile(with_stack=True), or run the script with `hotlens run`");
}

// `recording`: of a bundle, else null.
void find_owners(Annotated& annotated, Recording* recording) {
  std::optional<attribution::Transfer> transfer = recording != nullptr ? from_map_step(annotated, *recording) : std::nullopt;
  if (transfer && annotated.model) {
    annotated.owners = std::move(transfer->owners);
    annotated.alignment = found(*transfer);
    annotated.how = How::recorded;
    report_fit(*transfer, annotated.steps, *annotated.model, annotated.loop.get(), annotated.issues);
    annotated.fit = std::move(transfer->steps);
    return;
  }
  annotated.owners = attribution::find_owners(annotated.trace, annotated.forest, annotated.steps, nullptr);
  if (annotated.model) forget_modules(annotated.owners);
  annotated.how = how_known(annotated.owners.source);
  if (!annotated.manifest) report_missing_frames(annotated);
}

// A module of the model that others call as well has a number under each of them.
void tell_callers(Annotated& annotated) {
  attribution::CallTree tree = attribution::call_tree(annotated.owners.calls, annotated.model->map.module_parent);
  annotated.called = std::move(tree.rows);
  annotated.owners.calls.value = std::move(tree.row_of_call);
}

// Module calls inside more of them than are told apart.
std::size_t calls_too_deep(const attribution::Forest& forest, const attribution::Owners& owners) {
  if (std::ranges::find(owners.calls.depth, owners.calls.deepest) == owners.calls.depth.end()) return 0;
  std::vector<std::uint32_t> depth(forest.size());
  std::size_t deeper = 0;
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    using attribution::Kind;
    const bool call = forest.kind[node] == Kind::frame || forest.kind[node] == Kind::range || forest.kind[node] == Kind::call;
    depth[node] = (forest.parent[node] == attribution::kNoNode ? 0 : depth[forest.parent[node]]) + (call ? 1 : 0);
    if (call && depth[node] > owners.calls.deepest) ++deeper;
  }
  return deeper;
}

void report_depth(Annotated& annotated) {
  const std::size_t deeper = calls_too_deep(annotated.forest, annotated.owners);
  if (deeper == 0) return;
  annotated.issues.add("deep-modules",
                       "modules are nested more than " + std::to_string(attribution::kDeepest) +
                           " levels deep; what lies deeper is shown beside the module around it",
                       static_cast<std::int64_t>(deeper));
}

// Every module has numbers for every step. A recording with very many of both is shown from its beginning, as far as they fit.
void limit_steps(Annotated& annotated) {
  constexpr std::size_t kMostNumbers = std::size_t{1} << 22;  // modules by steps: half a gigabyte
  const std::size_t modules = annotated.model ? annotated.called.size() : annotated.owners.found.size();
  std::vector<attribution::StepSpan>& steps = annotated.steps.spans;
  const std::size_t most = std::max<std::size_t>(1, kMostNumbers / std::max<std::size_t>(1, modules));
  if (steps.size() <= most) return;
  annotated.issues.add("more-steps",
                       "the trace holds " + std::to_string(steps.size()) + " steps of " + std::to_string(modules) + " modules; the first " +
                           std::to_string(most) + " are shown",
                       static_cast<std::int64_t>(steps.size() - most));
  steps.resize(most);
  annotated.fit.resize(std::min(most, annotated.fit.size()));
}

Result<Manifest> open_bundle(const std::filesystem::path& folder) {
  if (folder.extension() == ".partial") {
    return std::unexpected(
        Error{ErrorCode::malformed, "the bundle is half written: its run was stopped; run `hotlens run` again", folder.string()});
  }
  return read_manifest(folder);
}

// As the clocks of the loop, of the rank that wrote the bundle.
void add_saved(Annotated& annotated) {
  const Manifest& manifest = *annotated.manifest;
  if (manifest.saved.empty() || annotated.rank != manifest.traces.front().rank) return;
  Result<SavedTensors> saved = read_saved(annotated.path, manifest.saved, *annotated.model);
  if (saved) {
    annotated.saved = std::move(*saved);
  } else {
    annotated.issues.add("no-saved", "what is kept until the backward pass cannot be read: " + saved.error().message);
  }
}

// The clocks of the loop are the writer's. Everything else is shown without them.
void add_loop(Annotated& annotated) {
  const Manifest& manifest = *annotated.manifest;
  if (manifest.loop.empty() || annotated.rank != manifest.traces.front().rank) return;
  Result<Loop> loop = read_loop(annotated.path, manifest, annotated.model->files.size());
  if (loop) {
    annotated.loop = std::make_shared<const Loop>(std::move(*loop));
  } else {
    annotated.issues.add("no-loop", "the times of the whole loop cannot be read: " + loop.error().message);
  }
}

// Takes one rank's trace and step times for those of the run.
Result<void> choose_rank(Annotated& annotated, Manifest manifest, std::optional<std::int64_t> wanted) {
  const std::int64_t rank = wanted.value_or(manifest.traces.front().rank);
  const auto chosen = std::ranges::find(manifest.traces, rank, &RankTrace::rank);
  if (chosen == manifest.traces.end()) {
    std::string known;
    for (const RankTrace& one : manifest.traces) known += (known.empty() ? "" : ", ") + std::to_string(one.rank);
    return std::unexpected(
        Error{ErrorCode::usage, "the bundle has no rank " + std::to_string(rank) + "; it holds " + known, annotated.path.string()});
  }
  if (const Result<void> checked = check_trace(annotated.path, chosen->file); !checked) return checked;
  annotated.trace_file = chosen->file;
  annotated.rank = chosen->rank;
  if (chosen != manifest.traces.begin()) {
    manifest.plain_steps = chosen->plain_steps;
    manifest.profiled_steps = chosen->profiled_steps;
  }
  annotated.manifest = std::move(manifest);
  return {};
}

Result<void> read_steps(Annotated& annotated) {
  Result<trace::Trace> trace = trace::read_file(annotated.trace_file, annotated.issues);
  if (!trace) return std::unexpected(trace.error());
  annotated.trace = std::move(*trace);
  const bool has_map = annotated.manifest && annotated.manifest->map_trace;
  annotated.forest = attribution::module_forest(annotated.trace, !has_map);
  annotated.steps = attribution::find_steps(annotated.trace, annotated.forest);
  if (annotated.steps.spans.empty()) {
    return std::unexpected(Error{ErrorCode::malformed,
                                 "the trace holds no operator, launch or kernel (events read: " +
                                     std::to_string(annotated.trace.events.size()) + "); record it with torch.profiler",
                                 annotated.path.string()});
  }
  if (annotated.steps.other_processes > 0) {
    const auto& main = annotated.trace.threads[annotated.forest.threads[annotated.steps.main].id.index];
    annotated.issues.add("more-processes", "the trace holds several processes; process " + main.process + " is shown",
                         static_cast<std::int64_t>(annotated.steps.other_processes));
  }
  return {};
}

}  // namespace

Result<Annotated> annotate(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> rank) {
  Annotated annotated;
  annotated.path = annotated.trace_file = bundle_or_trace;
  std::error_code status;
  std::future<std::unique_ptr<Recording>> reading;  // waits for its thread when it goes
  if (std::filesystem::is_directory(bundle_or_trace, status)) {
    Result<Manifest> manifest = open_bundle(bundle_or_trace);
    if (!manifest) return std::unexpected(manifest.error());
    reading = std::async(std::launch::async, read_recording, bundle_or_trace, manifest->map_trace);
    if (const Result<void> chosen = choose_rank(annotated, std::move(*manifest), rank); !chosen) return std::unexpected(chosen.error());
  }
  const Result<void> read = read_steps(annotated);
  const std::unique_ptr<Recording> recording = reading.valid() ? reading.get() : nullptr;
  if (recording && !recording->model) return std::unexpected(recording->model.error());
  if (!read) return std::unexpected(read.error());
  if (recording) {
    annotated.model = std::move(*recording->model);
    add_loop(annotated);
    add_saved(annotated);
  }
  find_owners(annotated, recording.get());
  if (annotated.model) tell_callers(annotated);
  report_depth(annotated);
  limit_steps(annotated);
  if (annotated.model) annotated.stage_lines = stage_lines(*annotated.model);
  annotated.account =
      attribution::account(annotated.trace, annotated.forest, annotated.steps, annotated.owners, annotated.stage_lines.places);
  return annotated;
}

costs::Given given_of(const Annotated& annotated) {
  if (!annotated.map_inputs) return {annotated.trace.inputs, annotated.trace.inputs_text, nullptr};
  return {annotated.map_inputs->inputs, annotated.map_inputs->text, &annotated.map_inputs->twin};
}

}  // namespace hotlens::profile
