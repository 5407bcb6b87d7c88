// The rows of a diff by module.
#include <algorithm>
#include <unordered_map>

#include "annotator/report/judge.h"
#include "annotator/report/make.h"

namespace hotlens::report {
namespace {

using profile::ModuleId;
using profile::Profile;

// A module whose change is at least this much that of one child says nothing that the child does not say.
constexpr double kDominant = 0.8;

// Times of one module, per step, picked from its forward and backward.
struct ModuleTimes {
  Values whole, forward, backward, forward_host, backward_host;
};

// `with_backward`: whether it is known on both sides; else forward alone is compared.
ModuleTimes times_of(const profile::Profile& profile, profile::ModuleId id, bool with_backward) {
  const profile::Module& module = profile.at(id);
  const bool device = profile.has_device();
  ModuleTimes times;
  for (std::size_t step = 0; step < module.forward.size(); ++step) {
    const profile::Times& forward = module.forward[step];
    const profile::Times backward = with_backward ? module.backward[step] : profile::Times{};
    times.forward.push_back(profile::headline(forward, device));
    times.backward.push_back(profile::headline(backward, device));
    times.whole.push_back(times.forward.back() + times.backward.back());
    times.forward_host.push_back(forward.cpu_total);
    times.backward_host.push_back(backward.cpu_total);
  }
  return times;
}

// Which module of each run is which of the side's first one.
class Twins {
 public:
  explicit Twins(std::span<const Side> runs) : runs_(runs) {
    for (const Side& run : runs.subspan(1)) {
      std::vector<ModuleId>& of = others_.emplace_back(runs.front().profile->modules.size());
      for (const ModulePair& pair : match_modules(*runs.front().profile, *run.profile)) {
        if (pair.before.valid()) of[pair.before.index] = pair.after;
      }
    }
  }

  // Calls `with` for the profile and the module of every run that has it.
  template <class With>
  void each(ModuleId id, const With& with) const {
    if (!id.valid()) return;
    with(*runs_.front().profile, id);
    for (std::size_t run = 1; run < runs_.size(); ++run) {
      if (const ModuleId twin = others_[run - 1][id.index]; twin.valid()) with(*runs_[run].profile, twin);
    }
  }

  const Profile& shown() const { return *runs_.front().profile; }

 private:
  std::span<const Side> runs_;
  std::vector<std::vector<ModuleId>> others_;  // by run from the second on, by module of the first
};

struct ModuleRuns {
  Runs whole, forward, backward, forward_host, backward_host;
};

ModuleRuns runs_of(const Twins& side, ModuleId id, bool with_backward) {
  ModuleRuns runs;
  side.each(id, [&](const Profile& profile, ModuleId twin) {
    ModuleTimes times = times_of(profile, twin, with_backward);
    runs.whole.push_back(std::move(times.whole));
    runs.forward.push_back(std::move(times.forward));
    runs.backward.push_back(std::move(times.backward));
    runs.forward_host.push_back(std::move(times.forward_host));
    runs.backward_host.push_back(std::move(times.backward_host));
  });
  return runs;
}

bool knows_backward(const Twins& side, ModuleId id) {
  bool known = true;
  side.each(id, [&](const Profile& profile, ModuleId twin) { known = known && profile.at(twin).backward_known; });
  return known;
}

// What all runs of the side say.
Make make(const Twins& side, ModuleId id, bool comparable) {
  std::optional<Make> make;
  side.each(id, [&](const Profile& profile, ModuleId twin) {
    const Make of = make_of(profile, twin, comparable);
    if (make) make->agree(of);
    if (!make) make = of;
  });
  return *make;
}

std::vector<std::string> made(const Twins& before, const Twins& after, const ModulePair& pair) {
  if (!pair.before.valid() || !pair.after.valid()) return {};
  const bool comparable = before.shown().at(pair.before).how == after.shown().at(pair.after).how;
  return changes(make(before, pair.before, comparable), make(after, pair.after, comparable));
}

ModuleRow module_row(const Twins& before, const Twins& after, const ModulePair& pair, const ModuleJudge& judge) {
  const bool known = knows_backward(before, pair.before) && knows_backward(after, pair.after);
  const ModuleRuns was = runs_of(before, pair.before, known), is = runs_of(after, pair.after, known);
  const auto of = [&](Runs ModuleRuns::* which) { return judge.compare(was.*which, is.*which); };
  return {.before = pair.before,
          .after = pair.after,
          .backward_known = known,
          .path = pair.after.valid() ? after.shown().at(pair.after).path : before.shown().at(pair.before).path,
          .time = of(&ModuleRuns::whole),
          .forward = of(&ModuleRuns::forward),
          .backward = of(&ModuleRuns::backward),
          .forward_host = of(&ModuleRuns::forward_host),
          .backward_host = of(&ModuleRuns::backward_host),
          .made = made(before, after, pair)};
}

// What most of the time of modules without children agrees on; the machine did no more of it than `most`, a share.
double common(const Twins& before, const Twins& after, const std::vector<ModulePair>& pairs, const Judge& judge, double most) {
  std::vector<profile::Weighed> changes;
  for (const ModulePair& pair : pairs) {
    if (!pair.before.valid() || !pair.after.valid() || !after.shown().at(pair.after).children.empty()) continue;
    const bool known = knows_backward(before, pair.before) && knows_backward(after, pair.after);
    const Change change = judge.compare(runs_of(before, pair.before, known).whole, runs_of(after, pair.after, known).whole);
    const auto was = static_cast<double>(change.before.value_or(Ns{}).count());
    if (was > 0) changes.push_back({static_cast<double>(change.difference().count()) / was, was});
  }
  return std::clamp(profile::common_change(std::move(changes)), -most, most);
}

Runs walls(std::span<const Side> side) {
  Runs runs;
  for (const Side& run : side) runs.push_back(step_walls(*run.profile));
  return runs;
}

bool changed(const ModuleRow& row) {
  return row.time.outcome != Outcome::same || !row.made.empty();
}

// Marks rows that changed and whose change is not mostly that of one child.
void mark_explaining(std::vector<ModuleRow>& rows, const profile::Profile& before, const profile::Profile& after) {
  std::unordered_map<std::uint32_t, std::size_t> row_of_before, row_of_after;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].before.valid()) row_of_before[rows[row].before.index] = row;
    if (rows[row].after.valid()) row_of_after[rows[row].after.index] = row;
  }
  const auto dominated = [&](const ModuleRow& row) {
    const auto like = [&](const ModuleRow& child) {
      const auto whole = static_cast<double>(row.time.difference().count());
      const auto part = static_cast<double>(child.time.difference().count());
      return changed(child) && whole * part > 0 && std::abs(part) >= kDominant * std::abs(whole);
    };
    const auto child_like = [&](const profile::Profile& profile, profile::ModuleId id, const auto& row_of) {
      return id.valid() &&
             std::ranges::any_of(profile.at(id).children, [&](profile::ModuleId child) { return like(rows[row_of.at(child.index)]); });
    };
    return child_like(after, row.after, row_of_after) || child_like(before, row.before, row_of_before);
  };
  // Of a subtree that came or went its root says all.
  const auto inside_another = [&](const ModuleRow& row) {
    const bool added = row.time.outcome == Outcome::added;
    const profile::ModuleId parent = added ? after.at(row.after).parent : before.at(row.before).parent;
    return parent.valid() && rows[(added ? row_of_after : row_of_before).at(parent.index)].time.outcome == row.time.outcome;
  };
  for (ModuleRow& row : rows) {
    const bool one_sided = row.time.outcome == Outcome::added || row.time.outcome == Outcome::removed;
    const bool moved = row.time.outcome != Outcome::same && row.time.difference() != Ns{};
    row.explains = !row.made.empty() || (moved && (one_sided ? !inside_another(row) : !dominated(row)));
  }
}

}  // namespace

ModuleJudge::ModuleJudge(std::span<const Side> before, std::span<const Side> after) : judge_(before, after) {
  const Twins old_side(before), new_side(after);
  const std::vector<ModulePair> pairs = match_modules(old_side.shown(), new_side.shown());
  const auto on_both = std::ranges::count_if(pairs, [](const ModulePair& pair) { return pair.before.valid() && pair.after.valid(); });
  error_ = profile::error_of_each(kModulesError, static_cast<std::size_t>(on_both));
  common_ = common(old_side, new_side, pairs, judge_, noise_share(judge_.compare(walls(before), walls(after))));
}

std::vector<ModuleRow> module_rows(std::span<const Side> before, std::span<const Side> after) {
  const ModuleJudge judge(before, after);
  const Twins old_side(before), new_side(after);
  std::vector<ModuleRow> rows;
  for (const ModulePair& pair : match_modules(old_side.shown(), new_side.shown())) {
    rows.push_back(module_row(old_side, new_side, pair, judge));
  }
  mark_explaining(rows, old_side.shown(), new_side.shown());
  return rows;
}

}  // namespace hotlens::report
