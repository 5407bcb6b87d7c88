#include "annotator/profile/build/regions.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>

#include "annotator/profile/build/module_name.h"

namespace hotlens::profile {
namespace {

using attribution::Kind;
using attribution::kNoNode;
using attribution::kNothing;
using attribution::Work;

// A graph's forward and backward as autograd runs them, and the call of what Inductor made (torch 2.9 and newer). Without either (another
// backend, no gradients in older versions) the region is all that is told; it also holds what runs between two graphs.
constexpr auto kGraphs = std::to_array<std::string_view>({"CompiledFunction", "## Call CompiledFxGraph "});
constexpr std::string_view kRegion = "Torch-Compiled Region";

constexpr std::size_t kLongestSearched = 5000;  // work of one launch: looking for repeats takes time by its square
constexpr std::size_t kLeastRepeats = 3;        // twice may be chance

bool is_graph(std::string_view name) {
  return std::ranges::any_of(kGraphs, [&](std::string_view graph) { return name.starts_with(graph); });
}

// What follows itself: the pattern whose repetitions, one right after the other, take most time; the shortest of several. Where a pattern
// can be read from several beginnings (b a b a b), from the first.
class Repeats {
 public:
  Repeats(const Annotated& annotated, std::span<const std::uint32_t> works) {
    until_.push_back(Ns{});
    for (const std::uint32_t at : works) {
      const Work& work = annotated.account.work[at];
      names_.push_back(annotated.trace.events.name[work.event].index);
      until_.push_back(until_.back() + (work.end - work.start));
    }
  }

  Region::Repeat longest() const {
    Region::Repeat best;
    if (names_.size() > kLongestSearched) return best;
    for (std::size_t length = 1; length * kLeastRepeats <= names_.size(); ++length) try_length(length, best);
    return best;
  }

 private:
  void try_length(std::size_t length, Region::Repeat& best) const {
    std::size_t begin = 0;
    for (std::size_t at = 0; at + length <= names_.size(); ++at) {
      if (at + length < names_.size() && names_[at] == names_[at + length]) continue;
      const std::size_t times = (at - begin + length) / length;
      const Ns time = until_[begin + times * length] - until_[begin];
      if (times >= kLeastRepeats && time > best.time) {
        best = {.works = static_cast<std::int64_t>(length), .times = static_cast<std::int64_t>(times), .time = time};
      }
      begin = at + 1;
    }
  }

  std::vector<std::uint32_t> names_;
  std::vector<Ns> until_;  // sums of durations
};

}  // namespace

Regions::Regions(const Annotated& annotated) : annotated_(annotated), compiled_(annotated.trace.names.size()) {
  const trace::Names& names = annotated.trace.names;
  const auto mark = [&](auto is_meant) {
    for (std::uint32_t id = 0; id < compiled_.size(); ++id) compiled_[id] = is_meant(names[trace::NameId{id}]);
    return std::ranges::find(compiled_, true) != compiled_.end();
  };
  if (!mark(is_graph)) mark([](std::string_view name) { return name.starts_with(kRegion); });
}

bool Regions::is_compiled(std::uint32_t node) const {
  const attribution::Forest& forest = annotated_.forest;
  return forest.kind[node] == Kind::op && compiled_[annotated_.trace.events.name[forest.event[node]].index];
}

std::uint32_t Regions::graph_around(std::uint32_t node) const {
  std::uint32_t found = kNoNode;
  for (; node != kNoNode; node = annotated_.forest.parent[node]) {
    if (is_compiled(node)) found = node;
  }
  return found;
}

std::optional<Region::Kind> Regions::hides(const Work& work) const {
  if (work.launch == kNoNode) return std::nullopt;
  if (annotated_.forest.traits_at(annotated_.trace, work.launch).replays) return Region::Kind::replayed;
  const std::uint32_t graph = graph_around(work.launch);
  if (graph == kNoNode || work.owner.split != kNothing || work.owner.call != annotated_.owners.of[graph].call) return std::nullopt;
  return Region::Kind::compiled;
}

std::vector<Region> Regions::of_step(const attribution::StepAccount& step) const {
  struct Found {
    Region region;
    Ns reached = Ns::min();
    std::map<std::uint32_t, std::vector<std::uint32_t>> works;  // by launch of a graph, or call of compiled code
  };
  std::map<std::tuple<Region::Kind, std::uint32_t, std::uint32_t>, Found> all;  // by kind, name and module around
  std::vector<ModuleName> modules;                                              // named once somebody asks: most steps have no region
  for (const std::uint32_t at : step.launched) {
    const Work& work = annotated_.account.work[at];
    const auto kind = hides(work);
    if (!kind) continue;
    if (modules.empty()) modules = names_of_modules(annotated_);
    const std::uint32_t by = *kind == Region::Kind::replayed ? work.launch : graph_around(work.launch);
    const trace::NameId name = annotated_.trace.events.name[annotated_.forest.event[by]];
    const std::uint32_t module = work.owner.call == kNothing ? kNothing : annotated_.owners.calls.value[work.owner.call];
    Found& found = all[{*kind, name.index, module}];
    Region& region = found.region;
    region.kind = *kind;
    region.name = annotated_.trace.names[name];
    if (module < modules.size()) region.inside = modules[module].path.empty() ? modules[module].class_name : modules[module].path;
    region.device += std::max(work.end - std::max(work.start, found.reached), Ns{});
    region.durations += work.end - work.start;
    found.reached = std::max(found.reached, work.end);
    ++region.works;
    found.works[by].push_back(at);
  }
  std::vector<Region> regions;
  for (auto& [key, found] : all) {
    found.region.runs = static_cast<std::int64_t>(found.works.size());
    const auto longest = std::ranges::max_element(found.works, {}, [](const auto& run) { return run.second.size(); });
    found.region.repeat = Repeats(annotated_, longest->second).longest();
    regions.push_back(std::move(found.region));
  }
  std::ranges::stable_sort(regions, std::ranges::greater{}, &Region::device);
  return regions;
}

std::string_view name(Region::Kind kind) {
  return kind == Region::Kind::replayed ? "replayed" : "compiled";
}

std::string_view reason(Region::Kind kind) {
  return kind == Region::Kind::replayed
             ? "replayed graphs: all their work has one launch, which tells no operator and no module"
             : "compiled code: one call stands for many operators, and the trace does not tell whose a kernel is";
}

}  // namespace hotlens::profile
