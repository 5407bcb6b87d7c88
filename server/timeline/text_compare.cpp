// Two steps of one profile beside each other, as lines: what became faster or slower, beyond the noise of the steps.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "server/features/timeline/breakdown.h"
#include "server/text/words.h"
#include "server/timeline/changes.h"
#include "server/timeline/text_viewer.h"

namespace hotlens::timeline_requests {
namespace {

using features::StepsRow;
using format::readable;
using profile::Profile;
using report::Outcome;

constexpr std::size_t kMostChanges = 8;

std::string_view sign_of(Outcome outcome) {
  return outcome == Outcome::faster ? "▼" : outcome == Outcome::slower ? "▲" : outcome == Outcome::added ? "+" : "-";
}

std::string line_of(const StepsRow& row, Outcome outcome) {
  const Ns before(row.before.value_or(0)), after(row.after.value_or(0));
  const std::string name = row.row.kind == features::BreakdownRow::Kind::stage ? text::spaced(row.row.label) : row.row.label;
  return fmt::format("  {} {}  {}: {} → {}", sign_of(outcome), text::difference(before, after), name, readable(before), readable(after));
}

std::string rest_of(std::size_t same, bool none_differs) {
  const std::string who = none_differs ? "all is" : same == 1 ? "1 other is" : fmt::format("{} others are", same);
  return fmt::format("  {} within the noise of the steps", who);
}

}  // namespace

std::optional<std::size_t> other_step(const Profile& profile, std::size_t step) {
  const std::size_t usual = profile.representative;
  if (step != usual) return usual;
  std::optional<std::size_t> slowest;
  for (std::size_t each = 0; each < profile.steps.size(); ++each) {
    if (each != usual && (!slowest || profile.steps[each].wall > profile.steps[*slowest].wall)) slowest = each;
  }
  return slowest;
}

std::vector<std::string> lines_of_steps(const Opened& opened, std::size_t before, std::size_t after) {
  const Profile& profile = opened.profile();
  const profile::Step &old = profile.steps[before], &now = profile.steps[after];
  std::vector<std::string> lines{fmt::format("step {} against step {}: {} → {}, {}", now.index, old.index, readable(old.wall),
                                             readable(now.wall), text::difference(old.wall, now.wall))};
  std::size_t differ = 0, same = 0;
  for (const StepsRow& row : features::steps_beside(opened.annotated(), profile, before, after, profile::ModuleId{})) {
    const Outcome outcome = change_of_steps(row, profile, std::max(old.wall, now.wall)).outcome;
    if (outcome == Outcome::same) {
      ++same;
    } else if (++differ <= kMostChanges) {
      lines.push_back(line_of(row, outcome));
    }
  }
  if (differ > kMostChanges) lines.push_back(fmt::format("  {} more differ", differ - kMostChanges));
  if (same > 0) lines.push_back(rest_of(same, differ == 0));
  return lines;
}

}  // namespace hotlens::timeline_requests
