#include "server/features/words/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "annotator/common/format.h"
#include "server/features/words/format.h"
#include "server/features/words/label_numbers.h"

namespace hotlens::features {
namespace {

bool can_be_compared(const LineSummary& summary) {
  return !summary.timed && !is_counted_elsewhere(summary) && summary.value > Ns{} && summary.headline.size() > 1;
}

// The line of the sorted list.
const LineSummary* at(const std::vector<LineSummary>& list, std::uint32_t line) {
  const auto found = std::ranges::lower_bound(list, line, {}, &LineSummary::line);
  return found != list.end() && found->line == line ? &*found : nullptr;
}

std::optional<Delta> delta(const FileView& view, const LineSummary& summary, const LineSummary& before, const report::ModuleJudge& judge) {
  const report::Change change = judge.compare({before.headline}, {summary.headline});
  if (!change.noise || change.outcome == report::Outcome::same) return std::nullopt;
  const bool makes = summary.subject == Subject::definition || summary.subject == Subject::constructor;
  const bool of_module = makes && !summary.modules.empty();
  return Delta{.line = summary.line,
               .range = summary.range,
               .state = summary.state,
               .value = summary.value,
               .before = *change.before,
               .now = *change.after,
               .noise = *change.noise,
               .of_module = of_module,
               .subject = of_module ? view.profile->at(summary.modules.front()).path : std::string()};
}

}  // namespace

report::ModuleJudge line_judge(const std::shared_ptr<const profile::Profile>& then, const std::shared_ptr<const profile::Profile>& now) {
  const report::Side before{.profile = then}, after{.profile = now};
  return {std::span(&before, 1), std::span(&after, 1)};
}

std::vector<Delta> deltas(const FileView& view, const Baseline& baseline, LineRange lines) {
  const auto& then = baseline.view.profile;
  if (!view.profile || !then || view.profile->id == then->id) return {};
  if (view.profile->has_device() != then->has_device()) return {};  // another clock
  const std::vector<LineSummary> before = summarize(baseline.view, lines);
  std::vector<Delta> changed;
  for (const LineSummary& summary : summarize(view, lines)) {
    const LineSummary* old = at(before, summary.line);
    if (old == nullptr || old->subject != summary.subject || !can_be_compared(*old) || !can_be_compared(summary)) continue;
    if (auto found = delta(view, summary, *old, baseline.judge)) changed.push_back(std::move(*found));
  }
  return changed;
}

std::string spelled(const Delta& delta) {
  const Ns change = delta.change();
  return (change > Ns{} ? "▲" : "▼") + number(change > Ns{} ? change : -change, unit_of(delta.value));
}

std::string sentence(const Delta& delta, const profile::Profile& baseline) {
  const Ns change = delta.change(), size = change > Ns{} ? change : -change;
  const std::string percent = delta.before > Ns{} ? " (" + format::percent(size, delta.before) + ")" : "";
  return fmt::format("{} {}{}: {} -> {}, noise ±{}, against {}.", change > Ns{} ? "▲" : "▼", format::readable(size), percent,
                     format::readable(delta.before), format::readable(delta.now), format::readable(delta.noise), plain(baseline.id));
}

std::string with_sentence(std::string words, const Delta& delta, const profile::Profile& baseline) {
  if (!words.empty()) words += "\n\n";
  return words + sentence(delta, baseline);
}

}  // namespace hotlens::features
