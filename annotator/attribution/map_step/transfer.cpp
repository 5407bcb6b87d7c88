#include "annotator/attribution/map_step/transfer.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#include "annotator/attribution/map_step/pauses.h"
#include "annotator/attribution/map_step/replaceable.h"
#include "annotator/attribution/map_step/twins.h"
#include "annotator/attribution/map_step/worker_fetches.h"
#include "annotator/attribution/owners/copies.h"

namespace hotlens::attribution {
namespace {

std::string_view name_of(const Recorded& recorded, std::uint32_t node) {
  return recorded.trace.names[recorded.trace.events.name[recorded.forest.event[node]]];
}

// Operators and torch's own stage ranges are in both traces; launches and markers are not compared.
bool is_aligned(const Recorded& recorded, std::uint32_t node) {
  if (recorded.forest.kind[node] == Kind::op) return true;
  if (recorded.forest.kind[node] != Kind::stage) return false;
  return !name_of(recorded, node).starts_with("hotlens.");
}

// `vocabulary`: names of both traces under common numbers.
Program program_of(const Recorded& recorded, const Forest::Thread& thread, const StepSpan& step, trace::Names& vocabulary) {
  Program program;
  std::vector<std::uint32_t> open;
  const auto close_until = [&](Ns time) {
    while (!open.empty() && recorded.forest.end[program.nodes[open.back()]] <= time) {
      program.after[open.back()] = static_cast<std::uint32_t>(program.nodes.size());
      open.pop_back();
    }
  };
  for (std::uint32_t node = first_from(recorded.forest, thread, step.start); node < thread.end && recorded.forest.start[node] < step.end;
       ++node) {
    if (!is_aligned(recorded, node)) continue;
    close_until(recorded.forest.start[node]);
    open.push_back(static_cast<std::uint32_t>(program.nodes.size()));
    program.nodes.push_back(node);
    program.words.push_back(vocabulary.intern(name_of(recorded, node)).index);
    program.after.push_back(0);
  }
  close_until(Ns::max());
  return program;
}

// The threads that play a part in the steps: the main one, then those that run autograd, then others, each in order of first work.
std::vector<std::uint32_t> roles(const Recorded& recorded) {
  std::vector<std::uint32_t> backward, others;
  for (std::uint32_t thread = 0; thread < recorded.forest.threads.size(); ++thread) {
    if (thread == recorded.steps.main) continue;
    const Forest::Thread& nodes = recorded.forest.threads[thread];
    bool autograd = false;
    for (std::uint32_t node = nodes.begin; node < nodes.end && !autograd; ++node) {
      autograd = recorded.forest.kind[node] == Kind::op && recorded.forest.traits_at(recorded.trace, node).backward;
    }
    (autograd ? backward : others).push_back(thread);
  }
  const auto by_start = [&](std::uint32_t thread) { return recorded.forest.start[recorded.forest.threads[thread].begin]; };
  std::ranges::sort(backward, {}, by_start);
  std::ranges::sort(others, {}, by_start);
  std::vector<std::uint32_t> order;
  if (recorded.steps.main != kNoNode) order.push_back(recorded.steps.main);
  std::ranges::copy(backward, std::back_inserter(order));
  std::ranges::copy(others, std::back_inserter(order));
  return order;
}

// What both owners say: the innermost executions whose chains have the same modules, or lines, all the way; and beyond, as far as the
// chains have modules that the same lines make.
Owner shared(const Owners& owners, const Owner& a, const Owner& b, const ModuleMap& modules) {
  if (a == b) return a;
  Owner both = a;
  both.call = owners.calls.alike(a.call, b.call);
  const std::uint32_t inside = owners.calls.alike(a.innermost(), b.innermost(), &modules.definition);
  both.one_of = owners.calls.is_inside(inside, both.call) ? inside : kNothing;
  both.line = owners.lines.alike(a.line, b.line);
  both.made_line = owners.lines.alike(a.made_line, b.made_line);
  both.site = owners.sites.alike(a.site, b.site);
  if (a.split != b.split) both.split = kNothing;
  if (a.stage != b.stage) both.stage = Stage::other;
  both.accumulates &= b.accumulates;
  both.communicates &= b.communicates;
  both.copies &= b.copies;
  both.known &= b.known;
  return both;
}

class Transferrer {
 public:
  Transferrer(const Recorded& clean, const Recorded& map, Owners map_owners, const ModuleMap& modules)
      : clean_(clean), map_(map), from_(std::move(map_owners)), modules_(modules), replaceable_(from_.calls, modules) {
    result_.owners.of.resize(clean.forest.size());
    result_.steps.resize(clean.steps.spans.size());
    result_.twin.assign(clean.forest.size(), kNoNode);
    twin_.assign(clean.forest.size(), Twin::none);
  }

  Transfer run() && {
    const std::vector<std::uint32_t> clean_roles = roles(clean_);
    const std::vector<std::uint32_t> map_roles = roles(map_);
    for (std::size_t role = 0; role < clean_roles.size(); ++role) {
      for (std::size_t step = 0; step < clean_.steps.spans.size(); ++step) {
        const Program program = program_of(clean_, clean_.forest.threads[clean_roles[role]], clean_.steps.spans[step], vocabulary_);
        step_of_.insert(step_of_.end(), program.nodes.size(), step);
        aligned_.insert(aligned_.end(), program.nodes.begin(), program.nodes.end());
        if (role >= map_roles.size() || map_.steps.spans.empty()) continue;
        const Alignment found = pair_up(program, map_program(map_roles[role]));
        if (role == 0) find_pauses(program, clean_.steps.spans[step], found);
      }
    }
    settle_replaceable();
    count();
    for (const std::uint32_t role : clean_roles) inherit(clean_.forest.threads[role]);
    divide_worker_fetches();
    result_.owners.calls = std::move(from_.calls);
    result_.owners.lines = std::move(from_.lines);
    result_.owners.sites = std::move(from_.sites);
    result_.owners.splits = std::move(from_.splits);
    mark_copies(clean_.trace, clean_.forest, result_.owners);
    return std::move(result_);
  }

 private:
  enum class Twin : std::uint8_t { none, one, several };

  const Program& map_program(std::uint32_t thread) {
    const auto [known, fresh] = map_programs_.try_emplace(thread);
    if (fresh) known->second = program_of(map_, map_.forest.threads[thread], map_.steps.spans.front(), vocabulary_);
    return known->second;
  }

  Alignment pair_up(const Program& program, const Program& map) {
    Alignment found = twins(program, map, from_);
    for (const TwinRun& run : found.runs) {
      for (std::uint32_t i = 0; i < run.length; ++i) {
        add_event(program.nodes[run.clean + i], map_.forest.event[map.nodes[run.map + i]]);
        add_twin(program.nodes[run.clean + i], from_.of[map.nodes[run.map + i]]);
      }
    }
    for (std::size_t i = 0; i < program.nodes.size(); ++i) {
      if (found.extra[i]) replaceable_.see(from_.calls, result_.owners.of[program.nodes[i]].call);
    }
    return found;
  }

  // By element of the main thread's program: its only twin.
  static std::vector<std::uint32_t> only_twins(const Program& program, const Alignment& found) {
    constexpr std::uint32_t kSeveral = kNothing - 1;
    std::vector<std::uint32_t> twin(program.nodes.size(), kNothing);
    for (const TwinRun& run : found.runs) {
      for (std::uint32_t i = 0; i < run.length; ++i) {
        std::uint32_t& own = twin[run.clean + i];
        own = own == kNothing ? run.map + i : kSeveral;
      }
    }
    return twin;
  }

  // Elements of one level of a program, inside one and the same, and when that began; the twin of the first in the map step.
  struct Siblings {
    std::uint32_t begin = 0, end = 0;
    Ns clean_start{}, map_start{};
    std::uint32_t expected = 0;
    bool fetch = false;  // inside a fetch of data
  };

  // Before the first operator of a step and between two outermost ones that follow one another in the map step as well; and so inside each
  // fetch of data.
  void find_pauses(const Program& program, const StepSpan& span, const Alignment& found) {
    if (clean_.steps.main == kNoNode || map_.steps.main == kNoNode) return;
    const std::vector<std::uint32_t> twin = only_twins(program, found);
    const auto all = static_cast<std::uint32_t>(program.nodes.size());
    find_pauses(program, twin, {.end = all, .clean_start = span.start, .map_start = map_.steps.spans.front().start});
    find_tail(program, span, twin);
  }

  void find_pauses(const Program& program, const std::vector<std::uint32_t>& twin, const Siblings& among) {
    const Program& map = map_program(map_.steps.main);
    Pause clean{among.clean_start, {}}, slow{among.map_start, {}};
    std::uint32_t expected = among.expected;
    for (std::uint32_t i = among.begin; i < among.end; i = program.after[i]) {
      const std::uint32_t node = program.nodes[i];
      clean.end = clean_.forest.start[node];
      const bool follows = twin[i] == expected && expected < map.nodes.size();
      if (follows) slow.end = map_.forest.start[map.nodes[expected]];
      if (follows && slow.length() > Ns{}) tell_pause(node, slow, clean, among.fetch);
      if (follows && !among.fetch && clean_.forest.is_stage(node, Stage::data)) {
        const Ns began = map_.forest.start[map.nodes[expected]];
        find_pauses(program, twin, {i + 1, program.after[i], clean_.forest.start[node], began, expected + 1, true});
      }
      clean.start = clean_.forest.end[node];
      expected = twin[i] < map.nodes.size() ? map.after[twin[i]] : kNothing;
      if (twin[i] < map.nodes.size()) slow.start = map_.forest.end[map.nodes[twin[i]]];
    }
  }

  // What follows the last operator of a step, where that is the last of the map step as well.
  void find_tail(const Program& program, const StepSpan& span, const std::vector<std::uint32_t>& twin) {
    const Program& map = map_program(map_.steps.main);
    std::uint32_t last = kNothing;
    for (std::uint32_t i = 0; i < program.nodes.size(); i = program.after[i]) last = i;
    if (last == kNothing || twin[last] >= map.nodes.size() || map.after[twin[last]] < map.nodes.size()) return;
    const std::uint32_t node = program.nodes[last];
    const Pause clean{clean_.forest.end[node], span.end};
    const Pause slow{map_.forest.end[map.nodes[twin[last]]], map_.steps.spans.front().end};
    if (clean.length() < kShortestPause || slow.length() <= Ns{}) return;
    std::vector<Share> shares = owners_of_pause(watched(), slow, clean);
    if (!shares.empty()) add_split(result_.owners.tails[node], std::move(shares));
  }

  void add_split(Owner& owner, std::vector<Share> shares) {
    owner.split = static_cast<std::uint32_t>(from_.splits.size());
    from_.splits.push_back(std::move(shares));
  }

  Watched watched() const { return {map_.forest, from_, map_.forest.threads[map_.steps.main], modules_.watching}; }

  // What is known of the time before `next`.
  void tell_pause(std::uint32_t next, Pause slow, Pause clean, bool fetch) {
    if (clean.length() < (fetch ? kShortestFetch : kShortestPause)) return;
    std::vector<Share> shares = fetch ? lines_of_fetch(watched(), slow, clean) : owners_of_pause(watched(), slow, clean);
    if (!shares.empty()) add_split(result_.owners.pauses[next], std::move(shares));
  }

  void divide_worker_fetches() {
    WorkerFetches fetches(modules_, from_);
    for (std::uint32_t node = 0; node < clean_.forest.size(); ++node) {
      if (clean_.forest.is_stage(node, Stage::data)) fetches.divide(name_of(clean_, node), result_.owners.of[node]);
    }
  }

  // Of several twins the first, as long as all were given the same.
  void add_event(std::uint32_t node, std::uint32_t event) {
    std::uint32_t& own = result_.twin[node];
    if (twin_[node] == Twin::none) {
      own = event;
    } else if (own != event && own != kNoNode && !same_inputs(own, event)) {
      own = kNoNode;
    }
  }

  bool same_inputs(std::uint32_t a, std::uint32_t b) const {
    const trace::Inputs& inputs = map_.trace.inputs;
    const auto row = trace::row_of(inputs.event, a), other = trace::row_of(inputs.event, b);
    return row && other && inputs.shapes[*row] == inputs.shapes[*other] && inputs.types[*row] == inputs.types[*other] &&
           inputs.values[*row] == inputs.values[*other];
  }

  void add_twin(std::uint32_t node, const Owner& owner) {
    Owner& own = result_.owners.of[node];
    if (twin_[node] == Twin::none) {
      own = owner;
      twin_[node] = Twin::one;
      return;
    }
    if (own == owner) return;
    const Owner both = shared(from_, own, owner, modules_);
    if (both == own) return;
    replaceable_.see(from_.calls, own.call);
    replaceable_.see(from_.calls, owner.call);
    twin_[node] = Twin::several;
    own = both;
  }

  // Modules that the map step cannot tell from others that it did not run.
  void settle_replaceable() {
    for (const std::uint32_t node : aligned_) {
      if (twin_[node] == Twin::none) continue;
      Owner& owner = result_.owners.of[node];
      const std::uint32_t sure = replaceable_.around(from_.calls, owner.call);
      if (sure == owner.call) continue;
      const std::uint32_t inside = replaceable_.around_others(from_.calls, owner.innermost());
      owner.call = sure;
      owner.split = kNothing;
      owner.one_of = from_.calls.is_inside(inside, sure) ? inside : kNothing;
      twin_[node] = Twin::several;
    }
  }

  void count() {
    std::unordered_map<std::uint32_t, std::size_t> by_module;
    for (std::size_t i = 0; i < aligned_.size(); ++i) {
      StepFit& fit = result_.steps[step_of_[i]];
      ++fit.operators;
      if (twin_[aligned_[i]] == Twin::none) continue;
      ++fit.found;
      const std::uint32_t call = result_.owners.of[aligned_[i]].call;
      if (twin_[aligned_[i]] == Twin::one) {
        ++fit.certain;
      } else {
        ++by_module[call == kNothing ? kNothing : from_.calls.value[call]];
      }
    }
    for (const auto& [module, operators] : by_module) result_.blurred.push_back({module, operators});
    std::ranges::sort(result_.blurred, std::ranges::greater{}, [](const Blurred& each) { return std::pair(each.operators, each.module); });
  }

  // Nodes without a twin: launches and inner operators belong where their parent does, others between their neighbours.
  void inherit(const Forest::Thread& thread) {
    std::uint32_t last = kNoNode;  // the last operator with a twin at the top
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
      const std::uint32_t parent = clean_.forest.parent[node];
      const bool top = parent == kNoNode || clean_.forest.kind[parent] == Kind::step || clean_.forest.kind[parent] == Kind::range;
      Owner& owner = result_.owners.of[node];
      if (twin_[node] != Twin::none) {
        if (!top) continue;
        for (const std::uint32_t between_two : waiting) settle(between_two, last, node);
        waiting.clear();
        last = node;
      } else if (!top) {
        owner = result_.owners.of[parent];
        own_traits(node, owner);
      } else if (clean_.forest.kind[node] != Kind::step) {
        own_traits(node, owner);
        waiting.push_back(node);
      }
    }
  }

  void own_traits(std::uint32_t node, Owner& owner) const {
    if (clean_.forest.kind[node] == Kind::stage) {
      owner.stage = static_cast<Stage>(clean_.forest.value[node]);
      owner.known = true;
    }
    if (clean_.forest.kind[node] == Kind::step) return;
    const Traits& traits = clean_.forest.traits_at(clean_.trace, node);
    owner.communicates |= traits.communicates;
    if (clean_.forest.kind[node] != Kind::op || !traits.backward) return;
    owner.stage = Stage::backward;
    owner.direction = Direction::backward;
    owner.accumulates |= traits.accumulates;
    owner.known = true;
  }

  void settle(std::uint32_t node, std::uint32_t before, std::uint32_t after) {
    if (before == kNoNode) return;
    Owner& owner = result_.owners.of[node];
    if (owner.known) return;
    const Owner& a = result_.owners.of[before];
    const Owner& b = result_.owners.of[after];
    if (a.stage != b.stage) return;
    owner = a;
    owner.call = from_.calls.alike(a.call, b.call);
    const std::uint32_t inside = from_.calls.common(a.innermost(), b.innermost());
    owner.one_of = from_.calls.is_inside(inside, owner.call) ? inside : kNothing;
    owner.line = from_.lines.alike(a.line, b.line);
    owner.made_line = from_.lines.alike(a.made_line, b.made_line);
    owner.site = from_.sites.alike(a.site, b.site);
    descend(node);
  }

  void descend(std::uint32_t top) {
    for (std::uint32_t node = top + 1; node < clean_.forest.size() && clean_.forest.parent[node] != kNoNode; ++node) {
      if (clean_.forest.parent[node] < top) return;
      if (twin_[node] == Twin::none) result_.owners.of[node] = result_.owners.of[clean_.forest.parent[node]];
    }
  }

  const Recorded& clean_;
  const Recorded& map_;
  Owners from_;
  const ModuleMap& modules_;
  Transfer result_;
  std::vector<Twin> twin_;              // by node
  std::vector<std::uint32_t> aligned_;  // nodes of all steps
  std::vector<std::size_t> step_of_;    // of these
  Replaceable replaceable_;
  trace::Names vocabulary_;
  std::unordered_map<std::uint32_t, Program> map_programs_;
};

}  // namespace

Transfer transfer(const Recorded& clean, const Recorded& map, Owners map_owners, const ModuleMap& modules) {
  return Transferrer(clean, map, std::move(map_owners), modules).run();
}

}  // namespace hotlens::attribution
