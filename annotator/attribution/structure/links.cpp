#include "annotator/attribution/structure/links.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace hotlens::attribution {
namespace {

constexpr int kMostSame = 64;  // launches with one id; it bounds the work on a hostile file

bool copies(std::string_view name) {
  return name.find("emcpy") != std::string_view::npos;
}

}  // namespace

Launches::Launches(const trace::Trace& trace, const Forest& forest) : trace_(trace), forest_(forest), before_(forest.size(), kNoNode) {
  std::set<std::uint32_t> processes;
  last_.reserve(static_cast<std::size_t>(std::ranges::count(forest.kind, Kind::launch)));
  for (const Forest::Thread& thread : forest.threads) {
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      const std::int64_t correlation = trace.events.correlation[forest.event[node]];
      if (forest.kind[node] != Kind::launch || correlation <= 0) continue;
      const auto [known, fresh] = last_.try_emplace(correlation, node);
      if (!fresh) before_[node] = std::exchange(known->second, node);
      processes.insert(thread.process);
    }
  }
  if (processes.size() > 1) settle_processes();
  add_arrows();
}

std::uint32_t Launches::of(std::uint32_t event) const {
  const std::int64_t correlation = trace_.events.correlation[event];
  const Ns start = trace_.events.start[event];
  if (correlation > 0) {
    const auto driver = driver_.find(device_process(event));
    return find(correlation, driver == driver_.end() ? kNoNode : driver->second, start);
  }
  const auto arrow = by_arrow_.find({trace_.events.thread[event].index, start});
  return arrow == by_arrow_.end() ? kNoNode : arrow->second;
}

bool Launches::belongs_to_another(std::uint32_t event, std::uint32_t process) const {
  const auto driver = driver_.find(device_process(event));
  return driver != driver_.end() && driver->second != process;
}

std::uint32_t Launches::device_process(std::uint32_t event) const {
  return trace_.threads[trace_.events.thread[event].index].process_id.index;
}

std::uint32_t Launches::find(std::int64_t correlation, std::uint32_t process, Ns when) const {
  const auto known = last_.find(correlation);
  if (known == last_.end()) return kNoNode;
  std::uint32_t last = kNoNode;
  std::uint32_t best = kNoNode;
  int seen = 0;
  for (std::uint32_t node = known->second; node != kNoNode && seen < kMostSame; node = before_[node], ++seen) {
    if (process != kNoNode && process_of_[node] != process) continue;
    if (last == kNoNode) last = node;
    const bool earlier = forest_.start[node] <= when;
    if (earlier && (best == kNoNode || forest_.start[node] > forest_.start[best])) best = node;
  }
  return best == kNoNode ? last : best;
}

void Launches::settle_processes() {
  process_of_.assign(forest_.size(), kNoNode);
  for (const Forest::Thread& thread : forest_.threads) {
    std::fill(process_of_.begin() + thread.begin, process_of_.begin() + thread.end, thread.process);
  }
  std::map<std::uint32_t, std::map<std::uint32_t, std::size_t>> votes;  // by device's process, by host process
  for (std::uint32_t event = 0; event < trace_.events.size(); ++event) {
    if (!trace::on_device(trace_.events.category[event])) continue;
    const auto known = last_.find(trace_.events.correlation[event]);
    if (known == last_.end()) continue;
    const bool copy = trace_.events.category[event] == trace::Category::copy;
    int seen = 0;
    for (std::uint32_t node = known->second; node != kNoNode && seen < kMostSame; node = before_[node], ++seen) {
      const std::string_view name = trace_.names[trace_.events.name[forest_.event[node]]];
      if (forest_.start[node] <= trace_.events.start[event] && copies(name) == copy) ++votes[device_process(event)][process_of_[node]];
    }
  }
  std::set<std::uint32_t> taken;
  for (const auto& [device, by_process] : votes) {
    const auto rank = [&](const auto& entry) { return std::pair(entry.second, !taken.contains(entry.first)); };
    const auto best = std::ranges::max_element(by_process, {}, rank);
    driver_[device] = best->first;
    taken.insert(best->first);
  }
}

void Launches::add_arrows() {
  const trace::Flows& flows = trace_.flows;
  const auto is = [&](std::size_t flow, trace::Flows::End end) {
    return flows.kind[flow] == trace::Flows::Kind::launch && flows.end[flow] == end;
  };
  std::vector<std::size_t> tails;  // by thread, then by time
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    if (is(flow, trace::Flows::End::start)) tails.push_back(flow);
  }
  if (tails.empty()) return;
  std::ranges::sort(tails, {}, [&](std::size_t flow) { return std::tuple(flows.thread[flow].index, flows.time[flow], flow); });
  std::unordered_map<std::uint32_t, Innermost> threads;
  for (const Forest::Thread& thread : forest_.threads) threads.try_emplace(thread.id.index, forest_, thread, true);
  std::unordered_map<std::int64_t, std::pair<std::size_t, std::uint32_t>, NumberHash> launched;  // by id: the last tail and its node
  for (const std::size_t tail : tails) {
    const auto thread = threads.find(flows.thread[tail].index);
    const std::uint32_t node = thread == threads.end() ? kNoNode : thread->second.at(flows.time[tail]);
    const auto [known, fresh] = launched.try_emplace(flows.id[tail], tail, node);
    if (!fresh && tail > known->second.first) known->second = {tail, node};
  }
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    if (!is(flow, trace::Flows::End::finish)) continue;
    const auto tail = launched.find(flows.id[flow]);
    if (tail == launched.end() || tail->second.second == kNoNode) continue;
    by_arrow_[{flows.thread[flow].index, flows.time[flow]}] = tail->second.second;
  }
}

}  // namespace hotlens::attribution
