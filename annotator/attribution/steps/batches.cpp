#include "annotator/attribution/steps/batches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hotlens::attribution {
namespace {

// What completes a batch, or a part of one: an update or, without any, a backward pass.
struct Closing {
  Ns forward{};  // start of the forward that leads to it
  Ns end{};
  std::uint64_t shape = 0;  // of its backward passes
  bool has_pass = false;
};

void add(Closing& closing, const Pass& pass) {
  closing.forward = std::min(closing.forward, pass.forward);
  closing.shape = closing.shape * 31 + pass.shape;
  closing.has_pass = true;
}

// An update, and the parts of what leads to it: gradients are zeroed again between two of them, before any update used them.
struct Update {
  Closing whole;
  std::vector<Closing> parts;
};

// A gradient scaler leaves an update out where gradients are infinite: then a batch ends where its gradients are zeroed unused. That is
// believed where each part looks like a whole batch of this loop; gradients of several losses may be zeroed in turn as well.
std::vector<Closing> with_updates_left_out(const std::vector<Update>& updates) {
  std::set<std::uint64_t> undivided;
  for (const Update& update : updates) {
    if (update.parts.size() == 1) undivided.insert(update.whole.shape);
  }
  std::vector<Closing> closings;
  for (const Update& update : updates) {
    const bool whole_batches = std::ranges::all_of(update.parts, [&](const Closing& part) { return undivided.contains(part.shape); });
    if (update.parts.size() < 2 || !whole_batches) {
      closings.push_back(update.whole);
      continue;
    }
    closings.insert(closings.end(), update.parts.begin(), update.parts.end());
    closings.back().end = update.whole.end;
  }
  return closings;
}

std::vector<Closing> by_updates(const std::vector<Mark>& marks, const std::vector<Pass>& passes) {
  std::vector<Update> updates;
  auto pass = passes.begin();
  for (const Mark& mark : marks) {
    if (mark.what != Mark::What::update) continue;
    Update update{.whole = {mark.start, mark.end, 0, passes.empty()}, .parts = {}};
    for (; pass != passes.end() && pass->start < mark.end; ++pass) {
      const bool before = pass->start < mark.start;  // not in a closure
      const bool fresh =
          update.parts.empty() || (before && first_mark(marks, Mark::What::zero_grad, update.parts.back().end, pass->start).has_value());
      if (fresh) update.parts.push_back({pass->forward, pass->end, 0, true});
      update.parts.back().end = pass->end;
      add(update.parts.back(), *pass);
      add(update.whole, *pass);
    }
    if (!updates.empty() && !update.whole.has_pass) {
      updates.back().whole.end = mark.end;  // a second optimizer after the same backward
    } else {
      updates.push_back(std::move(update));
    }
  }
  // A recording that begins between backward and update holds no whole first step.
  if (updates.size() > 1 && !updates.front().whole.has_pass) updates.erase(updates.begin());
  return with_updates_left_out(updates);
}

std::vector<Closing> by_passes(const std::vector<Pass>& passes) {
  std::vector<Closing> closings;
  for (const Pass& pass : passes) closings.push_back({pass.forward, pass.end, pass.shape, true});
  return closings;
}

// The smallest period after which all shapes repeat, the first closing exempt: the recording may have begun in its middle. Nothing without
// at least two whole periods.
std::optional<std::size_t> period_of(const std::vector<Closing>& closings) {
  constexpr std::size_t kLongest = 16;  // optimizers in one batch
  for (std::size_t period = 1; period <= std::min(kLongest, closings.size() / 2); ++period) {
    bool repeats = true;
    const std::size_t first = closings.size() > 2 * period ? 1 : 0;
    for (std::size_t i = first; i + period < closings.size() && repeats; ++i) repeats = closings[i].shape == closings[i + period].shape;
    if (repeats) return period;
  }
  return std::nullopt;
}

// True where a majority of closings have one shape: a loop with an odd step now and then.
bool mostly_one_shape(const std::vector<Closing>& closings) {
  std::map<std::uint64_t, std::size_t> counts;
  std::size_t most = 0;
  for (const Closing& closing : closings) most = std::max(most, ++counts[closing.shape]);
  return most * 2 > closings.size();
}

Closing joined(const Closing& a, const Closing& b) {
  return {std::min(a.forward, b.forward), std::max(a.end, b.end), b.shape, a.has_pass || b.has_pass};
}

// Closings of one batch become one. Between two of the same shape a new batch begins even where no fetch is seen: a loader that fetches
// ahead has none for the last step.
std::vector<Closing> joined_by_fetches(const std::vector<Closing>& closings, const std::vector<Mark>& marks) {
  std::vector<Closing> batches;
  for (std::size_t i = 0; i < closings.size(); ++i) {
    const bool fresh = i == 0 || closings[i].shape == closings[i - 1].shape ||
                       first_mark(marks, Mark::What::data, closings[i - 1].end, closings[i].end).has_value();
    if (fresh) {
      batches.push_back(closings[i]);
    } else {
      batches.back() = joined(batches.back(), closings[i]);
    }
  }
  return batches;
}

std::vector<Closing> joined_by_period(const std::vector<Closing>& closings, std::size_t period) {
  std::vector<Closing> batches;
  for (std::size_t i = 0; i < closings.size(); ++i) {
    if (i % period == 0) {
      batches.push_back(closings[i]);
    } else {
      batches.back() = joined(batches.back(), closings[i]);
    }
  }
  return batches;
}

// Where, between the closing of one batch and the forward of the next, the one step ends and the other begins.
struct Border {
  Ns end{}, start{};
};

Border border_between(const std::vector<Mark>& marks, Ns from, Ns to, bool updates) {
  if (const auto evaluation = first_mark(marks, Mark::What::evaluation, from, to)) {
    const auto its_fetch = first_mark(marks, Mark::What::data, from, evaluation->start);
    const Ns after = last_mark(marks, Mark::What::evaluation, from, to).value_or(*evaluation).end;
    const auto fetch = first_mark(marks, Mark::What::data, after, to);
    return {its_fetch ? its_fetch->start : evaluation->start, fetch ? fetch->start : after};
  }
  if (const auto fetch = first_mark(marks, Mark::What::data, from, to)) return {fetch->start, fetch->start};
  if (const auto zero = first_mark(marks, Mark::What::zero_grad, from, to)) return {zero->start, zero->start};
  // An update by hand follows backward; it runs without gradients, or nothing goes back through it.
  Ns at = from;
  for (const Mark::What what : {Mark::What::plain, Mark::What::unused}) {
    const auto by_hand = updates ? std::nullopt : last_mark(marks, what, from, to);
    if (by_hand) at = std::max(at, by_hand->end);
  }
  return {at, at};
}

// After the last pass nothing tells an update with gradients from a forward: it is there where the operators between the steps before,
// [from, to), run again.
std::optional<Ns> end_of_repeated(const std::vector<Mark>& marks, Ns from, Ns to, Ns again) {
  if (!last_mark(marks, Mark::What::unused, from, to)) return std::nullopt;
  auto one = std::ranges::lower_bound(marks, from, {}, &Mark::start);
  auto other = std::ranges::lower_bound(marks, again, {}, &Mark::start);
  Ns end = again;
  for (; one != marks.end() && one->start < to; ++one, ++other) {
    if (other == marks.end() || one->name != other->name) return std::nullopt;
    end = other->end;
  }
  return end;
}

// The end of the last step: its tail reaches to the next fetch or forward, as that of every step before it.
Ns end_of_last(const std::vector<Mark>& marks, Ns from, bool updates, bool fetches) {
  if (updates && !fetches) return from;
  Ns end = from;
  for (auto mark = std::ranges::lower_bound(marks, from, {}, &Mark::start); mark != marks.end(); ++mark) {
    if (mark->what == Mark::What::data || mark->what == Mark::What::forward || mark->what == Mark::What::evaluation) break;
    end = std::max(end, mark->end);
  }
  return end;
}

}  // namespace

std::vector<StepSpan> batches(const std::vector<Mark>& marks, const std::vector<Pass>& passes, Ns begin) {
  const bool updates = std::ranges::find(marks, Mark::What::update, &Mark::what) != marks.end();
  const bool fetches = std::ranges::find(marks, Mark::What::data, &Mark::what) != marks.end();
  std::vector<Closing> closings = updates ? by_updates(marks, passes) : by_passes(passes);
  const std::optional<std::size_t> period = period_of(closings);
  if (!updates && !fetches && (closings.size() < 2 || (!period && !mostly_one_shape(closings)))) return {};
  if (fetches) {
    closings = joined_by_fetches(closings, marks);
  } else if (period) {
    closings = joined_by_period(closings, *period);
  }
  std::vector<StepSpan> spans;
  if (closings.empty()) return {};
  const auto cut = last_mark(marks, Mark::What::update, begin, closings.front().forward);  // of a step not recorded whole
  Ns start = border_between(marks, cut ? cut->end : begin, closings.front().forward, true).start;
  for (std::size_t i = 0; i < closings.size(); ++i) {
    const bool last = i + 1 == closings.size();
    Border border = last ? Border{end_of_last(marks, closings[i].end, updates, fetches), Ns{}}
                         : border_between(marks, closings[i].end, closings[i + 1].forward, updates);
    if (last && i > 0) {
      border.end = std::max(border.end, end_of_repeated(marks, closings[i - 1].end, start, closings[i].end).value_or(border.end));
    }
    if (border.end > start) spans.push_back({static_cast<std::int64_t>(spans.size()), start, border.end});
    start = border.start;
  }
  return spans;
}

}  // namespace hotlens::attribution
