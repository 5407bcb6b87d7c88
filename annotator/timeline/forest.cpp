#include "annotator/timeline/forest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>

namespace hotlens::timeline {
namespace {

constexpr std::string_view kModuleFrame = "nn.Module: ";

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Stage> stage_named(std::string_view text) {
  for (Stage stage : {Stage::data, Stage::zero_grad, Stage::forward, Stage::loss, Stage::backward, Stage::optimizer}) {
    if (name(stage) == text) return stage;
  }
  return std::nullopt;
}

Meaning stage_meaning(Stage stage) {
  return {Kind::stage, static_cast<std::uint32_t>(stage)};
}

Meaning marker_meaning(std::string_view text) {
  const std::size_t hash = text.find('#');
  if (hash == std::string_view::npos) return {};
  const std::string_view what = text.substr(0, hash);
  const std::string_view rest = text.substr(hash + 1);
  if (what == "stage") {
    const std::optional<Stage> stage = stage_named(rest);
    return stage ? stage_meaning(*stage) : Meaning{};
  }
  const std::optional<std::uint32_t> id = number(rest);
  if (!id) return {};
  if (what == "call") return {Kind::call, *id};
  if (what == "line") return {Kind::line, *id};
  if (what == "param") return {Kind::param, *id};
  return {};
}

// "AddmmBackward", "AddmmBackward0", "torch::autograd::CopyBackwards": up to torch 1.8 they stand without an evaluation around them, and
// numbers. Kernels' own operators are spelled in lower case ("aten::convolution_backward").
bool is_autograd_node(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward") || name.ends_with("Backwards");
}

// Kind and value of an event; Kind::none for what is not a node.
Meaning meaning_of(trace::Category category, trace::NameId name, const std::vector<Meaning>& ranges, const std::vector<bool>& frames) {
  using trace::Category;
  switch (category) {
    case Category::cpu_op:
      return {Kind::op, 0};
    case Category::runtime:
    case Category::driver:
      return {Kind::launch, 0};
    case Category::annotation:
      return ranges[name.index];
    case Category::python:
      return frames[name.index] ? Meaning{Kind::frame, name.index} : Meaning{};
    default:
      return {};
  }
}

// Sorts a thread's nodes so that a parent stands before its children. Events mostly come sorted already.
void sort_nodes(std::vector<std::uint32_t>& nodes, const trace::Events& events) {
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (events.start[a] != events.start[b]) return events.start[a] < events.start[b];
    if (events.duration[a] != events.duration[b]) return events.duration[a] > events.duration[b];
    return a < b;
  };
  if (!std::ranges::is_sorted(nodes, before)) std::ranges::sort(nodes, before);
}

void append_thread(Forest& forest, const trace::Trace& trace, trace::ThreadId id, const std::vector<std::uint32_t>& events,
                   const std::vector<Meaning>& meanings) {
  const auto begin = static_cast<std::uint32_t>(forest.size());
  std::vector<std::uint32_t> open;
  for (const std::uint32_t event : events) {
    const auto node = static_cast<std::uint32_t>(forest.size());
    const Ns start = trace.events.start[event];
    while (!open.empty() && forest.end[open.back()] <= start) open.pop_back();
    forest.event.push_back(event);
    forest.parent.push_back(open.empty() ? kNoNode : open.back());
    forest.kind.push_back(meanings[event].kind);
    forest.value.push_back(meanings[event].value);
    forest.start.push_back(start);
    // A child that outlasts its parent (clock jitter, spans that cross) ends with it, so that time is never counted twice.
    const Ns end = trace.events.end(event);
    forest.end.push_back(open.empty() ? end : std::min(end, forest.end[open.back()]));
    forest.node_of[event] = node;
    open.push_back(node);
  }
  forest.threads.push_back({id, begin, static_cast<std::uint32_t>(forest.size())});
}

}  // namespace

Meaning meaning_of_range(std::string_view name) {
  constexpr std::string_view kMarker = "hotlens.";
  constexpr std::string_view kStep = "ProfilerStep#";
  if (name.starts_with(kMarker)) return marker_meaning(name.substr(kMarker.size()));
  if (name.starts_with(kStep)) {
    const std::optional<std::uint32_t> index = number(name.substr(kStep.size()));
    return index ? Meaning{Kind::step, *index} : Meaning{};
  }
  if (name.starts_with("enumerate(DataLoader)")) return stage_meaning(Stage::data);
  if (name.starts_with("Optimizer.zero_grad")) return stage_meaning(Stage::zero_grad);
  if (name.starts_with("Optimizer.step")) return stage_meaning(Stage::optimizer);
  return {};
}

Traits traits_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  Traits traits;
  traits.accumulates = has("AccumulateGrad");
  traits.backward = name.starts_with("autograd::engine::evaluate_function") || traits.accumulates || is_autograd_node(name);
  traits.communicates = name == "record_param_comms" || name.starts_with("c10d::") || name.starts_with("nccl") ||
                        name.starts_with("gloo:") || name.starts_with("ncclKernel") || name.starts_with("rccl") ||
                        name.starts_with("oneccl_");
  constexpr std::array<std::string_view, 10> kWaits = {
      "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy",
      "hipStreamSynchronize",  "hipDeviceSynchronize",  "hipEventSynchronize",  "hipMemcpy",
      "cuStreamSynchronize",   "cuCtxSynchronize"};
  traits.waits = std::ranges::find(kWaits, name) != kWaits.end();
  traits.moves = name == "aten::to" || name == "aten::_to_copy" || name == "aten::copy_" || name == "aten::_copy_from";
  return traits;
}

Forest nest(const trace::Trace& trace) {
  const trace::Events& events = trace.events;
  std::vector<Meaning> ranges(trace.names.size());
  std::vector<bool> frames(trace.names.size());
  Forest forest;
  forest.traits.resize(trace.names.size());
  for (std::uint32_t id = 0; id < trace.names.size(); ++id) {
    const std::string_view name = trace.names[trace::NameId{id}];
    ranges[id] = meaning_of_range(name);
    frames[id] = name.starts_with(kModuleFrame);
    forest.traits[id] = traits_of(name);
  }
  std::vector<Meaning> meanings(events.size());
  std::vector<std::vector<std::uint32_t>> by_thread(trace.threads.size());
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    meanings[event] = meaning_of(events.category[event], events.name[event], ranges, frames);
    if (meanings[event].kind != Kind::none) by_thread[events.thread[event].index].push_back(event);
  }
  forest.node_of.assign(events.size(), kNoNode);
  for (std::uint32_t thread = 0; thread < by_thread.size(); ++thread) {
    if (by_thread[thread].empty()) continue;
    sort_nodes(by_thread[thread], events);
    append_thread(forest, trace, trace::ThreadId{thread}, by_thread[thread], meanings);
  }
  return forest;
}

}  // namespace hotlens::timeline
