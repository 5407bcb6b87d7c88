#include "annotator/profile/build/module_calls.h"

#include <algorithm>
#include <unordered_map>

namespace hotlens::profile {
namespace {

using attribution::kNoNode;

constexpr std::string_view kModule = "nn.Module: ";
constexpr std::string_view kModuleFile = "torch/nn/modules/module.py";  // where a module's call begins
constexpr std::size_t kDeepest = 1000;                                  // frames inside each other; Python itself stops there

struct Meaning {
  std::uint32_t module = kNoNode, frame = kNoNode;
};

// What each name of the trace means, decided once.
std::vector<Meaning> meanings(const trace::Trace& trace, ModuleCalls& calls) {
  std::vector<Meaning> out(trace.names.size());
  for (std::uint32_t id = 0; id < out.size(); ++id) {
    const std::string_view name = trace.names[trace::NameId{id}];
    if (name.starts_with(kModule)) {
      out[id].module = static_cast<std::uint32_t>(calls.modules.size());
      calls.modules.emplace_back(name.substr(kModule.size()));
    } else if (auto frame = trace::frame_named(name)) {
      out[id].frame = static_cast<std::uint32_t>(calls.frames.size());
      calls.frames.push_back(std::move(*frame));
    }
  }
  return out;
}

// The Python events of a thread inside a span and around its begin (a loop's function runs since before the step), outer ones first.
std::vector<std::uint32_t> ordered(const trace::Events& events, trace::ThreadId thread, const std::vector<Meaning>& meaning, Ns begin,
                                   Ns end) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.category[event] != trace::Category::python || events.thread[event] != thread) continue;
    const Meaning& what = meaning[events.name[event].index];
    if (what.module == kNoNode && what.frame == kNoNode) continue;
    if (events.start[event] < end && (events.start[event] >= begin || events.end(event) > begin)) list.push_back(event);
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (events.start[a] != events.start[b]) return events.start[a] < events.start[b];
    if (events.duration[a] != events.duration[b]) return events.duration[a] > events.duration[b];
    return a < b;
  };
  if (!std::ranges::is_sorted(list, before)) std::ranges::sort(list, before);
  return list;
}

// The modules whose calls do not all enter the same function first, torch's way there aside: several under one name.
std::vector<char> namesakes(const ModuleCalls& calls) {
  std::vector<std::uint32_t> entered(calls.nodes.size(), kNoNode);  // by call of a module: the first frame in it
  for (const CallNode& node : calls.nodes) {
    if (node.frame == kNoNode || node.parent == kNoNode || calls.frames[node.frame].path.ends_with(kModuleFile)) continue;
    std::uint32_t up = node.parent;
    while (up != kNoNode && calls.nodes[up].module == kNoNode) {
      up = calls.frames[calls.nodes[up].frame].path.ends_with(kModuleFile) ? calls.nodes[up].parent : kNoNode;
    }
    if (up != kNoNode && entered[up] == kNoNode) entered[up] = node.frame;
  }
  std::vector<std::uint32_t> first(calls.modules.size(), kNoNode);
  std::vector<char> several(calls.modules.size());
  for (std::size_t node = 0; node < calls.nodes.size(); ++node) {
    const std::uint32_t module = calls.nodes[node].module;
    if (module == kNoNode || entered[node] == kNoNode) continue;
    if (first[module] == kNoNode) first[module] = entered[node];
    several[module] = several[module] || first[module] != entered[node];
  }
  return several;
}

// Drops the frames below which no module runs.
void keep_what_leads_to_modules(ModuleCalls& calls) {
  std::vector<char> keep(calls.nodes.size());
  for (std::size_t node = calls.nodes.size(); node-- > 0;) {
    if (calls.nodes[node].module != kNoNode) keep[node] = 1;
    if (keep[node] && calls.nodes[node].parent != kNoNode) keep[calls.nodes[node].parent] = 1;
  }
  std::vector<std::uint32_t> position(calls.nodes.size(), kNoNode);
  std::vector<CallNode> kept;
  for (std::size_t node = 0; node < calls.nodes.size(); ++node) {
    if (!keep[node]) continue;
    position[node] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(calls.nodes[node]);
    if (kept.back().parent != kNoNode) kept.back().parent = position[kept.back().parent];
  }
  calls.nodes = std::move(kept);
}

}  // namespace

ModuleCalls module_calls(const trace::Trace& trace, const attribution::Steps& steps) {
  ModuleCalls calls;
  const std::vector<Meaning> meaning = meanings(trace, calls);
  if (calls.modules.empty()) return calls;
  const trace::Events& events = trace.events;
  const auto is_module = [&](std::uint32_t event) {
    return events.category[event] == trace::Category::python && meaning[events.name[event].index].module != kNoNode;
  };
  // The thread and step of the first module call: forward runs where the script runs.
  std::uint32_t first = kNoNode;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (is_module(event) && (first == kNoNode || events.start[event] < events.start[first])) first = event;
  }
  if (first == kNoNode) return calls;
  Ns begin = Ns::min(), end = Ns::max();
  for (const attribution::StepSpan& step : steps.spans) {
    if (events.start[first] >= step.start && events.start[first] < step.end) begin = step.start, end = step.end;
  }
  std::vector<std::uint32_t> open, node_of;
  for (const std::uint32_t event : ordered(events, events.thread[first], meaning, begin, end)) {
    while (!open.empty() && events.end(open.back()) <= events.start[event]) open.pop_back(), node_of.pop_back();
    if (open.size() >= kDeepest) continue;
    const Meaning& what = meaning[events.name[event].index];
    calls.nodes.push_back({.parent = node_of.empty() ? kNoNode : node_of.back(), .module = what.module, .frame = what.frame});
    open.push_back(event);
    node_of.push_back(static_cast<std::uint32_t>(calls.nodes.size() - 1));
  }
  calls.namesakes = namesakes(calls);
  keep_what_leads_to_modules(calls);
  return calls;
}

}  // namespace hotlens::profile
