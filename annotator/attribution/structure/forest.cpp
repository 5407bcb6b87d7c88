#include "annotator/attribution/structure/forest.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "annotator/attribution/structure/creators.h"
#include "annotator/attribution/structure/fetches.h"

namespace hotlens::attribution {
namespace {

constexpr std::string_view kModuleFrame = "nn.Module: ";

// What the names of a trace mean, found out when a name is first met: most names are of Python frames and mean nothing here.
class Lexicon {
 public:
  explicit Lexicon(const trace::Trace& trace)
      : trace_(trace),
        ranges_(trace.names.size()),
        traits_(trace.names.size()),
        known_range_(trace.names.size()),
        known_traits_(trace.names.size()),
        frame_(trace.names.size(), kUnknown) {}

  // Kind and value of an event; Kind::none for what is not a node.
  Meaning meaning_of(std::size_t event) {
    using trace::Category;
    const trace::NameId name = trace_.events.name[event];
    switch (trace_.events.category[event]) {
      case Category::cpu_op:
        learn_traits(name);
        return {Kind::op, 0};
      case Category::runtime:
      case Category::driver:
        learn_traits(name);
        return {Kind::launch, 0};
      case Category::kernel:
      case Category::copy:
      case Category::fill:
        learn_traits(name);
        return {};
      case Category::annotation:
        return range(name);
      case Category::python:
        return is_module_frame(name) ? Meaning{Kind::frame, name.index} : Meaning{};
      default:
        return {};
    }
  }

  std::vector<Traits> traits() && { return std::move(traits_); }

 private:
  static constexpr std::int8_t kUnknown = -1;

  void learn_traits(trace::NameId name) {
    if (known_traits_[name.index]) return;
    known_traits_[name.index] = true;
    traits_[name.index] = traits_of(trace_.names[name]);
  }

  Meaning range(trace::NameId name) {
    if (!known_range_[name.index]) {
      known_range_[name.index] = true;
      Meaning& meaning = ranges_[name.index];
      meaning = meaning_of_range(trace_.names[name]);
      if (meaning.kind == Kind::range) meaning.value = name.index;
    }
    return ranges_[name.index];
  }

  bool is_module_frame(trace::NameId name) {
    std::int8_t& known = frame_[name.index];
    if (known == kUnknown) known = trace_.names[name].starts_with(kModuleFrame) ? 1 : 0;
    return known == 1;
  }

  const trace::Trace& trace_;
  std::vector<Meaning> ranges_;
  std::vector<Traits> traits_;
  std::vector<bool> known_range_, known_traits_;
  std::vector<std::int8_t> frame_;
};

// Sorts what mostly is sorted already: torch writes a thread's events as a few sorted lists. Merges neighbouring runs until one is left.
template <class Before>
void sort_runs(std::vector<std::uint32_t>& items, Before before) {
  std::vector<std::size_t> ends;  // of runs
  for (std::size_t at = 1; at <= items.size(); ++at) {
    if (at == items.size() || before(items[at], items[at - 1])) ends.push_back(at);
  }
  while (ends.size() > 1) {
    std::size_t begin = 0, kept = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t end = ends[std::min(run + 1, ends.size() - 1)];
      const auto first = items.begin();
      const auto at = [&](std::size_t position) { return first + static_cast<std::ptrdiff_t>(position); };
      std::inplace_merge(at(begin), at(ends[run]), at(end), before);
      begin = ends[kept++] = end;
    }
    ends.resize(kept);
  }
}

// Sorts a thread's nodes so that a parent stands before its children.
void sort_nodes(std::vector<std::uint32_t>& nodes, const trace::Events& events) {
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    if (events.start[a] != events.start[b]) return events.start[a] < events.start[b];
    if (events.duration[a] != events.duration[b]) return events.duration[a] > events.duration[b];
    return a < b;
  };
  sort_runs(nodes, before);
}

void reserve(Forest& forest, std::size_t nodes) {
  forest.event.reserve(nodes);
  forest.parent.reserve(nodes);
  forest.kind.reserve(nodes);
  forest.value.reserve(nodes);
  forest.start.reserve(nodes);
  forest.end.reserve(nodes);
}

void append_thread(Forest& forest, const trace::Trace& trace, trace::ThreadId id, const std::vector<std::uint32_t>& events,
                   const std::vector<Meaning>& meanings, std::uint32_t process) {
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
  forest.threads.push_back({id, process, begin, static_cast<std::uint32_t>(forest.size())});
}

}  // namespace

Forest nest(const trace::Trace& trace, bool ranges) {
  const trace::Events& events = trace.events;
  Lexicon lexicon(trace);
  Forest forest;
  std::vector<Meaning> meanings(events.size());
  std::vector<std::vector<std::uint32_t>> by_thread(trace.threads.size());
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    meanings[event] = lexicon.meaning_of(event);
    if (meanings[event].kind == Kind::range && !ranges) continue;
    if (meanings[event].kind != Kind::none) by_thread[events.thread[event].index].push_back(event);
  }
  for (const std::uint32_t event : python_fetches(trace, meanings)) {
    meanings[event] = {Kind::stage, static_cast<std::uint32_t>(Stage::data)};
    by_thread[events.thread[event].index].push_back(event);
  }
  forest.traits = std::move(lexicon).traits();
  forest.node_of.assign(events.size(), kNoNode);
  std::size_t nodes = 0;
  for (const auto& thread : by_thread) nodes += thread.size();
  reserve(forest, nodes);
  std::map<std::string_view, std::uint32_t> processes;
  for (std::uint32_t thread = 0; thread < by_thread.size(); ++thread) {
    if (by_thread[thread].empty()) continue;
    sort_nodes(by_thread[thread], events);
    const auto process = processes.try_emplace(trace.threads[thread].process, static_cast<std::uint32_t>(processes.size())).first;
    append_thread(forest, trace, trace::ThreadId{thread}, by_thread[thread], meanings, process->second);
  }
  forest.creator = creators(trace, forest);
  return forest;
}

bool runs_backward(const trace::Trace& trace, const Forest& forest, std::uint32_t node) {
  return forest.kind[node] == Kind::op && (forest.traits_at(trace, node).backward || trace.events.forward_thread[forest.event[node]] > 0);
}

std::uint32_t after_descendants(const Forest& forest, std::uint32_t node, std::uint32_t end) {
  std::uint32_t next = node + 1;
  while (next < end && forest.parent[next] != kNoNode && forest.parent[next] >= node) ++next;
  return next;
}

std::uint32_t first_from(const Forest& forest, const Forest::Thread& thread, Ns when) {
  const auto first = forest.start.begin();
  return static_cast<std::uint32_t>(std::lower_bound(first + thread.begin, first + thread.end, when) - first);
}

std::uint32_t Innermost::at(Ns when) {
  for (; next_ < end_ && forest_->start[next_] <= when; ++next_) open_ = next_;
  const auto ended = [&](std::uint32_t node) { return ends_included_ ? forest_->end[node] < when : forest_->end[node] <= when; };
  while (open_ != kNoNode && ended(open_)) open_ = forest_->parent[open_];
  return open_;
}

Forest pruned(const Forest& forest, const std::vector<bool>& keep) {
  Forest result;
  result.traits = forest.traits;
  result.node_of.assign(forest.node_of.size(), kNoNode);
  std::vector<std::uint32_t> place(forest.size(), kNoNode);  // the node itself, or the nearest one kept around it
  for (const Forest::Thread& thread : forest.threads) {
    const auto begin = static_cast<std::uint32_t>(result.size());
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      const std::uint32_t parent = forest.parent[node] == kNoNode ? kNoNode : place[forest.parent[node]];
      place[node] = keep[node] ? static_cast<std::uint32_t>(result.size()) : parent;
      if (!keep[node]) continue;
      result.node_of[forest.event[node]] = place[node];
      result.event.push_back(forest.event[node]);
      result.parent.push_back(parent);
      result.kind.push_back(forest.kind[node]);
      result.value.push_back(forest.value[node]);
      result.start.push_back(forest.start[node]);
      result.end.push_back(forest.end[node]);
      result.creator.push_back(forest.creator[node]);
    }
    const auto end = static_cast<std::uint32_t>(result.size());
    if (end > begin) result.threads.push_back({thread.id, thread.process, begin, end});
  }
  for (std::uint32_t& creator : result.creator) {
    if (creator != kNoNode) creator = place[creator];  // creators are operators, which are always kept
  }
  return result;
}

}  // namespace hotlens::attribution
