#include "annotator/profile/build/tally.h"

#include <algorithm>
#include <optional>

#include "annotator/attribution/owners/stack.h"

namespace hotlens::profile {
namespace {

using attribution::Chains;
using attribution::Owner;
using attribution::Piece;
using attribution::StepAccount;
using attribution::Work;

// First and last instant of a thing in one step and direction, how far its device time is counted, and the number of its last device work.
struct Extent {
  Ns first = Ns::max(), last = Ns::min(), covered = Ns::min();
  std::uint32_t work = attribution::kNoNode;
};

struct Table {
  Table(const Chains& chains, std::size_t things, const std::vector<std::uint32_t>* tree_parent)
      : extents(things * 2), last_piece(things * 2), stack(chains, things, tree_parent) {}

  void begin_step() {
    std::ranges::fill(extents, Extent{});
    std::ranges::fill(last_piece, std::nullopt);
  }

  std::vector<Extent> extents;                         // by thing and column
  std::vector<std::optional<std::size_t>> last_piece;  // number of the last piece that became a slice
  attribution::Stack stack;
};

class Counter {
 public:
  explicit Counter(const TallyInput& input)
      : input_(input),
        modules_(input.owners.calls, input.module_parent.size(), &input.module_parent),
        lines_(input.owners.lines, input.lines, nullptr),
        sites_(input.owners.sites, input.sites, nullptr),
        one_of_(input.owners.calls, input.definition.size(), nullptr) {
    const std::size_t steps = input.account.steps.size();
    result_.modules.resize(input.module_parent.size());
    result_.lines.resize(input.lines);
    result_.sites.resize(input.sites);
    result_.one_of.resize(input.definition.size());
    for (auto* table : {&result_.modules, &result_.lines, &result_.sites, &result_.one_of}) {
      for (Tally& item : *table) {
        item.forward.resize(steps);
        item.backward.resize(steps);
      }
    }
    result_.cpu.resize(steps);
    result_.cpu_attributed.resize(steps);
    result_.device_attributed.resize(steps);
    has_device_ = !input.account.work.empty();
  }

  Tallies run() && {
    for (step_ = 0; step_ < input_.account.steps.size(); ++step_) {
      modules_.begin_step();
      lines_.begin_step();
      sites_.begin_step();
      one_of_.begin_step();
      const StepAccount& step = input_.account.steps[step_];
      for (const Piece& piece : step.wall) count(piece);
      for (const std::vector<Piece>& worker : step.workers) {
        piece_number_ += 2;  // pieces of another thread do not continue this one's slices
        for (const Piece& piece : worker) count(piece);
      }
      piece_number_ += 2;
      count_device(step);
      finish_spans(modules_, result_.modules);
      finish_spans(lines_, result_.lines);
      finish_spans(sites_, result_.sites);
    }
    count_calls(input_.owners.calls, result_.modules);
    count_calls(input_.owners.lines, result_.lines);
    for (auto* table : {&result_.modules, &result_.lines, &result_.one_of}) {
      for (Tally& item : *table) std::ranges::sort(item.slices, {}, &Slice::start);
    }
    return std::move(result_);
  }

 private:
  void fill_stacks(const Owner& owner) {
    modules_of(owner, modules_.stack);
    lines_.stack.around(owner.line, owner.made_line);
    sites_.stack.around(owner.works_for_module() ? owner.site : attribution::kNothing);
    definitions_.clear();
    if (owner.communicates && owner.accumulates) return;
    const Chains& calls = input_.owners.calls;
    for (std::uint32_t link = owner.one_of; calls.is_inside(link, owner.call); link = calls.parent[link]) {
      const std::uint32_t module = calls.value[link];
      if (module >= input_.definition.size()) continue;
      const std::uint32_t definition = input_.definition[module];
      if (std::ranges::find(definitions_, definition) == definitions_.end()) definitions_.push_back(definition);
    }
  }

  void count(const Piece& piece) {
    ++piece_number_;
    if (piece.lent) return;
    const Ns time = piece.end - piece.start;
    const Ns waiting = piece.bucket == attribution::Bucket::waiting ? time : Ns{};
    fill_stacks(piece.owner);
    result_.cpu[step_] += time;
    if (piece.owner.works_for_module()) result_.cpu_attributed[step_] += time;
    const auto add = [&](Times& times, Extent&, bool innermost) {
      times.cpu_total += time;
      times.waiting += waiting;
      if (piece.owner.split != attribution::kNothing) times.estimated += time;
      if (piece.owner.direction == Direction::recompute) times.recompute_cpu += time;
      if (innermost) times.cpu_self += time;
    };
    each(modules_, modules_.stack.members(), result_.modules, piece.owner.direction, piece.start, piece.end, !has_device_, add);
    each(lines_, lines_.stack.members(), result_.lines, piece.owner.direction, piece.start, piece.end, !has_device_, add);
    each(sites_, sites_.stack.members(), result_.sites, piece.owner.direction, piece.start, piece.end, false, add);
    each(one_of_, definitions_, result_.one_of, piece.owner.direction, piece.start, piece.end, !has_device_, add);
  }

  // `idle`: how long the device had idled when this work, launched late, began.
  void count(std::uint32_t number, Ns idle) {
    ++piece_number_;
    const Work& work = input_.account.work[number];
    fill_stacks(work.owner);
    if (work.owner.works_for_module()) {
      const Ns from = std::max(work.start, attributed_until_);
      if (work.end > from) result_.device_attributed[step_] += work.end - from;
      attributed_until_ = std::max(attributed_until_, work.end);
    }
    const auto add = [&](Times& times, Extent& extent, bool) {
      const Ns from = std::max(work.start, extent.covered);
      const Ns busy = std::max(work.end - from, Ns{});
      times.device += busy;
      if (work.owner.direction == Direction::recompute) times.recompute_device += busy;
      extent.covered = std::max(extent.covered, work.end);
      const bool inside = extent.work != attribution::kNoNode && extent.work + 1 == number;
      (inside ? times.idle_inside : times.idle_before) += idle;
      times.exposed_communication += work.exposed;
      extent.work = number;
    };
    each(modules_, modules_.stack.members(), result_.modules, work.owner.direction, work.start, work.end, true, add);
    each(lines_, lines_.stack.members(), result_.lines, work.owner.direction, work.start, work.end, true, add);
    each(sites_, sites_.stack.members(), result_.sites, work.owner.direction, work.start, work.end, false, add);
    each(one_of_, definitions_, result_.one_of, work.owner.direction, work.start, work.end, true, add);
  }

  // The step's own work in order, with the gap that each item ended because it was launched after the gap began.
  void count_device(const StepAccount& step) {
    auto gap = step.gaps.begin();
    for (const std::uint32_t number : step.launched) {
      while (gap != step.gaps.end() && gap->ended_by < number) ++gap;
      const bool ends_gap = gap != step.gaps.end() && gap->ended_by == number && input_.account.work[number].launched > gap->start;
      count(number, ends_gap ? gap->end - gap->start : Ns{});
    }
  }

  template <class Add>
  void each(Table& table, const std::vector<std::uint32_t>& members, std::vector<Tally>& tallies, Direction direction, Ns start, Ns end,
            bool slices, Add add) {
    const bool backward = direction != Direction::forward;
    bool innermost = true;
    for (const std::uint32_t thing : members) {
      Tally& item = tallies[thing];
      Extent& extent = table.extents[thing * 2 + (backward ? 1 : 0)];
      extent.first = std::min(extent.first, start);
      extent.last = std::max(extent.last, end);
      add((backward ? item.backward : item.forward)[step_], extent, innermost);
      innermost = false;
      if (slices && step_ == input_.representative) add_slice(table, item, thing, direction, start, end);
    }
  }

  // Neighbouring pieces of the same thing become one slice.
  void add_slice(Table& table, Tally& item, std::uint32_t thing, Direction direction, Ns start, Ns end) {
    const Ns origin = input_.account.steps[step_].span.start;
    std::optional<std::size_t>& last = table.last_piece[thing * 2 + (direction == Direction::forward ? 0 : 1)];
    const bool continues = last && *last + 1 == piece_number_ && !item.slices.empty() && item.slices.back().direction == direction;
    last = piece_number_;
    if (continues) {
      Slice& slice = item.slices.back();
      slice.duration = std::max(slice.start + slice.duration, end - origin) - slice.start;
    } else {
      item.slices.push_back({start - origin, end - start, direction});
    }
  }

  void finish_spans(const Table& table, std::vector<Tally>& tallies) const {
    for (std::size_t thing = 0; thing < tallies.size(); ++thing) {
      const Extent& forward = table.extents[thing * 2];
      const Extent& backward = table.extents[thing * 2 + 1];
      if (forward.last >= forward.first) tallies[thing].forward[step_].span = forward.last - forward.first;
      if (backward.last >= backward.first) tallies[thing].backward[step_].span = backward.last - backward.first;
    }
  }

  void count_calls(const Chains& chains, std::vector<Tally>& tallies) const {
    if (input_.account.steps.empty()) return;
    const attribution::StepSpan& step = input_.account.steps[input_.representative].span;
    for (std::size_t link = 0; link < chains.value.size(); ++link) {
      if (chains.again[link] || chains.value[link] >= tallies.size()) continue;
      if (!input_.calls_of_one_step && (chains.start[link] < step.start || chains.start[link] >= step.end)) continue;
      ++tallies[chains.value[link]].calls;
    }
  }

  const TallyInput& input_;
  Tallies result_;
  Table modules_, lines_, sites_, one_of_;
  std::vector<std::uint32_t> definitions_;  // of the modules in one of which the piece at hand ran
  std::size_t step_ = 0;
  std::size_t piece_number_ = 0;
  Ns attributed_until_ = Ns::min();
  bool has_device_ = false;
};

}  // namespace

Tallies tally(const TallyInput& input) {
  return Counter(input).run();
}

}  // namespace hotlens::profile
