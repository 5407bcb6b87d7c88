#include "server/lab/edit_trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "annotator/profile/spread.h"
#include "server/lab/fetching.h"
#include "server/lab/page_faults.h"

namespace hotlens::lab {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr Rounds kEditRounds{.least = 5, .most = 31, .within = milliseconds(5'000)};
// While somebody types: of steps that take no longer, how many rounds there are at least.
constexpr std::array<std::pair<milliseconds, int>, 3> kLeastQuickRounds{
    {{milliseconds(100), 5}, {milliseconds(1'000), 3}, {kLongestQuick, 1}}};
constexpr int kMostQuickRounds = 31;
constexpr milliseconds kQuick{250};  // of further rounds
constexpr milliseconds kSoon{300};   // replays that take no longer have no first figure before them
// What ratios of replays (tests/bench/edits.py) and of samples (long_steps.py) are off by, as a fraction.
constexpr double kError = 0.06, kSampledError = 0.15;

json listed(const std::vector<Numbers>& of_modules) {
  json all = json::array();
  for (const Numbers& module : of_modules) all.push_back(module);
  return all;
}

Result<void> refuse(const Refusal& why, EditedStep& step) {
  step.refused = EditRefusal{.reason = why.reason, .op = why.op, .module = why.module, .at = {}};
  return {};
}

Result<void> refuse_long(EditedStep& step) {
  return refuse({.reason = kTooLongToType}, step);
}

}  // namespace

EditTrial::EditTrial(const EditedAsk& ask, const Recorded& recorded, std::filesystem::path program)
    : ask_(ask), recorded_(recorded), worker_(std::move(program), recorded.document, room_for(recorded).bytes) {
  if (ask.quick) std::ignore = worker_.begin();  // what is wrong is told when something is asked
}

Result<void> EditTrial::run(const layers::Rewritten& rewritten, const layers::Changes& changes, EditedStep& step) {
  worker_.add(encode(rewritten.program));
  const json followed{{"numbers", listed(rewritten.numbers)},
                      {"cuts", listed(rewritten.cuts)},
                      {"attention", listed(rewritten.attention)},
                      {"recorded", rewritten.recorded}};
  if (const auto ratio = ask_.quick ? sampled(followed) : std::nullopt) {
    tell_first(*ratio, step);
    return replayed_in_turn(*ratio, step);
  }
  const auto follow = [&]() -> Result<std::optional<EditRefusal>> {
    const auto answer = worker_.follow(followed, batch(), kLongest);
    if (!answer) return std::unexpected(answer.error());
    const auto error = answer->find("error");
    return error == answer->end() ? std::nullopt : std::optional(misfit(*error, rewritten.program, changes));
  };
  return run(follow, kError, step);
}

Result<void> EditTrial::run(const Candidate& candidate, EditedStep& step) {
  worker_.add(encode(candidate.program));
  const auto follow = [&]() -> Result<std::optional<EditRefusal>> {
    if (candidate.casts) std::ignore = worker_.follow(json::object(), batch(), kLongest);
    return std::nullopt;
  };
  return run(follow, candidate.error, step);
}

// Nullopt where samples cannot tell the step: the whole of it says why.
std::optional<Ratio> EditTrial::sampled(json followed) {
  followed["sampled"] = true;
  const auto answer = worker_.follow(std::move(followed), batch(), kLongest);
  if (!answer || answer->contains("error")) return std::nullopt;
  const double was = answer->value("recorded_ns", 0.0), is = answer->value("edited_ns", 0.0);
  if (was <= 0 || is <= 0) return std::nullopt;
  const double ratio = is / was;
  return Ratio{.ratio = ratio, .low = ratio / (1 + kSampledError), .high = ratio * (1 + kSampledError)};
}

void EditTrial::tell_first(const Ratio& ratio, EditedStep step) const {
  if (!ask_.checked || !ask_.first || 2 * quick_rounds() * plain_step() < kSoon) return;
  tell_time(ratio, step);
  step.sampled = true;
  if (step.time) ask_.first(step);
}

// The recorded step is checked where it takes its first turn.
Result<void> EditTrial::replayed_in_turn(const Ratio& sampled, EditedStep& step) {
  ask_.say("replaying the edited step");
  const int rounds = quick_rounds();
  if (rounds == 0) return refuse_long(step);
  const bool alone = rounds == 1 && ask_.checked;  // its time are the samples', and the recorded step is known
  const auto replays =
      worker_.step({.batches = {batch()}, .rounds = rounds, .budget = kLongest, .edited = true, .alone = alone, .warm = is_long()});
  if (!replays) return refuse(replays.error(), step);
  step.sampled = rounds == 1;
  step.peak = replays->back().peak;
  if (alone) {
    step.peak_was = recorded_.peak;
    tell_time(sampled, step);
    return {};
  }
  const SelfCheck check = self_check(recorded_, replays->front().peak);
  if (!check.ok()) return std::unexpected(fails_self_check(check));
  step.check = check;
  step.peak_was = replays->front().peak;
  const auto in_turn = step.sampled ? sampled : ratio_of(replays->front(), replays->back(), kError);
  // Where the two disagree the machine was busy.
  if (in_turn) tell_time({in_turn->ratio, std::min(in_turn->low, sampled.ratio), std::max(in_turn->high, sampled.ratio)}, step);
  return {};
}

template <class Follow>
Result<void> EditTrial::run(const Follow& follow, double error, EditedStep& step) {
  ask_.say("replaying the step as it was recorded");
  if (ask_.quick && quick_rounds() == 0) return refuse_long(step);
  const auto base = worker_.step({.batches = {batch()}, .rounds = 1, .budget = kLongest, .warm = ask_.quick && is_long()});
  if (!base) return std::unexpected(unreplayable(base.error()));
  const SelfCheck check = self_check(recorded_, base->front().peak);
  if (!check.ok()) return std::unexpected(fails_self_check(check));
  step.check = check;
  ask_.say("replaying the edited step");
  auto refused = follow();
  if (!refused) return std::unexpected(refused.error());
  if (*refused) {
    step.refused = std::move(**refused);
    return {};
  }
  const Ns one = base->front().times.front();
  if (std::string reason = too_slow(2 * kEditRounds.least * one); !ask_.quick && !reason.empty()) return refuse({.reason = reason}, step);
  const int rounds = ask_.quick ? quick_rounds() : kEditRounds.of(2 * one);
  const auto replays = worker_.step({.batches = {batch()}, .rounds = rounds, .budget = kLongest, .edited = true});
  if (!replays) return refuse(replays.error(), step);
  tell(replays->front(), replays->back(), error, step);
  return {};
}

std::int64_t EditTrial::batch() const {
  return std::max<std::int64_t>(recorded_.batch, 1);
}

Ns EditTrial::plain_step() const {
  return recorded_.steps.empty() ? Ns{} : profile::sample(recorded_.steps).median;
}

// 0: it takes too long.
int EditTrial::quick_rounds() const {
  for (const auto& [longest, least] : kLeastQuickRounds) {
    if (plain_step() < longest) return Rounds{.least = least, .most = kMostQuickRounds, .within = kQuick}.of(2 * plain_step());
  }
  return 0;
}

// Its first round tells as much as those after it.
bool EditTrial::is_long() const {
  return plain_step() > kLeastQuickRounds.front().first;
}

void EditTrial::tell(const Replays& recorded, const Replays& edited, double error, EditedStep& step) const {
  step.peak_was = recorded.peak;
  step.peak = edited.peak;
  if (const auto ratio = ratio_of(recorded, edited, error)) tell_time(*ratio, step);
}

void EditTrial::tell_time(const Ratio& replayed, EditedStep& step) const {
  if (recorded_.steps.empty()) return;
  Ratio ratio = with_rest(replayed, fetch_share(ask_.bundle));
  if (step.faults) ratio = unsure(ratio, *step.faults);
  step.step_was = plain_step();
  const auto scaled = [&](double by) { return Ns{std::llround(static_cast<double>(step.step_was.count()) * by)}; };
  step.time = StepTime{.step = scaled(ratio.ratio), .low = scaled(ratio.low), .high = scaled(ratio.high)};
}

}  // namespace hotlens::lab
