#include "server/lab/what_ifs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "annotator/advice/learned.h"
#include "annotator/common/format.h"
#include "annotator/lab/predict/recorded.h"
#include "annotator/profile/spread.h"
#include "server/lab/batch_sizes.h"
#include "server/lab/candidates.h"
#include "server/lab/checkpoint.h"
#include "server/lab/fetching.h"
#include "server/lab/page_faults.h"
#include "server/lab/replayable.h"
#include "server/lab/worker.h"

namespace hotlens::lab {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr Rounds kChangeRounds{.least = 5, .most = 31, .within = milliseconds(5'000)};  // of one change

// Where all are changes that only runs tell of no program is needed.
WhatIfs only_measured(const WhatIfAsk& ask) {
  Candidates candidates(ask.bundle);
  WhatIfs all{.profile = ask.bundle.filename().string(), .check = {}, .items = {}, .findings = {}, .step = {}, .refused = {}, .faults = {}};
  for (const Together& kinds : ask.wanted) {
    auto item = candidates.measured(kinds);
    if (item) all.items.push_back(std::move(*item));
    if (!item) all.refused.push_back(std::move(item.error()));
  }
  return all;
}

class Trial {
 public:
  Trial(const WhatIfAsk& ask, const Recorded& recorded, fs::path worker, const std::optional<PageFaults>& faults)
      : ask_(ask),
        recorded_(recorded),
        worker_(std::move(worker)),
        room_(room_for(recorded)),
        faults_(faults),
        fetched_(fetch_share(ask.bundle)),
        past_(advice::read_ledger(advice::ledger_of(ask.bundle)).value_or(advice::Ledger{})) {}

  // The unchanged step, before anything is said of a changed one.
  Result<SelfCheck> check() {
    ask_.say("replaying the step as it was recorded");
    Worker worker(worker_, recorded_.document, room_.bytes);
    const auto replays = worker.step({.batches = {batch()}, .rounds = 1, .budget = kLongest});
    if (!replays) return std::unexpected(unreplayable(replays.error()));
    base_ = replays->front();
    const SelfCheck check = self_check(recorded_, base_.peak);
    if (!check.ok()) return std::unexpected(fails_self_check(check));
    return check;
  }

  std::expected<WhatIf, NotThis> replay(Candidate candidate) {
    WhatIf& item = candidate.item;
    if (std::string reason = why_not_tried(); !reason.empty()) return std::unexpected(NotThis{item.kind, {.reason = std::move(reason)}});
    const auto learned = advice::learned(past_, item.kind, advice::kReplay);
    if (learned) {
      candidate.error = 0;
      item.interval = advice::sentence(*learned);
    }
    if (candidate.times_batch > 1) return larger(std::move(candidate));
    if (candidate.is_choice) return choice(std::move(candidate), learned);
    ask_.say("replaying " + item.kind);
    Worker worker(worker_, recorded_.document, room_.bytes, encode(candidate.program));
    if (candidate.casts) std::ignore = worker.follow(nlohmann::json::object(), batch(), kLongest);
    const auto replays = worker.step({.batches = {batch()}, .rounds = rounds(), .budget = kLongest, .edited = true});
    if (!replays) return std::unexpected(NotThis{item.kind, {replays.error().reason, replays.error().op, replays.error().module}});
    const Replays &recorded = replays->front(), &changed = replays->back();
    item.step_was = profile::sample(recorded_.steps).median;
    item.time = ratio_of(recorded, changed, candidate.error);
    item.step = of_whole_step(item.time, learned, item.step_was);
    item.unsure = faults_.has_value();
    if (item.time && faults_) item.time = unsure(*item.time, *faults_);
    item.peak_was = recorded.peak;
    item.peak = changed.peak;
    return std::move(item);
  }

 private:
  // As `hotlens predict --batch-size` tells it.
  std::expected<WhatIf, NotThis> larger(Candidate candidate) {
    WhatIf& item = candidate.item;
    const auto refused = [&](std::string reason) { return std::unexpected(NotThis{item.kind, {.reason = std::move(reason)}}); };
    const std::int64_t wanted = candidate.times_batch * batch();
    const auto all =
        predict_batch_sizes({.bundle = ask_.bundle, .batches = {wanted}, .memory = {}, .python = ask_.python, .say = ask_.say});
    if (!all) return refused(all.error().message);
    const auto was = std::ranges::find(all->points, batch(), &Point::batch), is = std::ranges::find(all->points, wanted, &Point::batch);
    if (is == all->points.end()) return refused(all->refused.empty() ? "it was not replayed" : all->refused.front().reason);
    if (was == all->points.end() || !was->time || !is->time) return refused(is->note.empty() ? "the step has no times" : is->note);
    const auto ratio = [&](Ns time) { return static_cast<double>(time.count()) / static_cast<double>(was->time->step.count()); };
    item.time = Ratio{.ratio = ratio(is->time->step), .low = ratio(is->time->low), .high = ratio(is->time->high)};
    item.step_was = was->time->step;
    item.step = is->time->step;
    item.peak_was = was->peak;
    item.peak = is->peak;
    item.times_samples = candidate.times_batch;
    return std::move(item);
  }

  std::expected<WhatIf, NotThis> choice(Candidate candidate, const std::optional<advice::Learned>& learned) {
    const CheckpointAsk ask{.recorded = recorded_,
                            .worker = worker_,
                            .memory = room_.bytes,
                            .budget = ask_.budget,
                            .error = candidate.error,
                            .together = candidate.together,
                            .say = ask_.say};
    auto planned = plan_checkpoints(ask, std::move(candidate.item), candidate.program);
    if (!planned) return planned;
    if (planned->time) planned->step = of_whole_step(planned->time, learned, planned->step_was);
    for (std::size_t at = 0; planned->curve && at < planned->curve->points.size(); ++at) {
      CurvePoint& point = planned->curve->points[at];
      if (point.time) point.step = of_whole_step(point.time, learned, planned->step_was);
      if (point.time && faults_) point.time = unsure(*point.time, *faults_);
    }
    planned->unsure = faults_.has_value();
    if (planned->time && faults_) planned->time = unsure(*planned->time, *faults_);
    return planned;
  }

  // The ratio becomes that of the step with the fetch of its batch; the step's time.
  Ns of_whole_step(std::optional<Ratio>& time, const std::optional<advice::Learned>& learned, Ns step_was) const {
    if (!time) return {};
    time = with_rest(*time, fetched_);
    if (learned) time = advice::with_learned(*time, *learned);
    return Ns{std::llround(static_cast<double>(step_was.count()) * time->ratio)};
  }

  std::int64_t batch() const { return std::max<std::int64_t>(recorded_.batch, 1); }

  // Two programs, and what each puts back after a step a second time.
  std::string why_not_tried() const {
    std::string reason = too_large(room_, static_cast<double>(count(base_.peak)) + 3 * static_cast<double>(count(base_.start)));
    return reason.empty() ? too_slow(2 * kChangeRounds.least * base_.times.front()) : reason;
  }

  int rounds() const { return kChangeRounds.of(2 * base_.times.front()); }

  const WhatIfAsk& ask_;
  const Recorded& recorded_;
  fs::path worker_;
  Room room_;
  std::optional<PageFaults> faults_;
  double fetched_ = 0;  // of the step
  advice::Ledger past_;
  Replays base_;
};

std::vector<WhatIf>& list_of(WhatIfs& all, const Candidate& candidate) {
  return candidate.depends ? all.depends : all.items;
}

// Kinds that nobody asked for and that may give what was refused.
Together missing_instead(const WhatIfs& all) {
  Together found;
  for (const NotThis& refused : all.refused) {
    const bool known = std::ranges::find(all.items, refused.instead, &WhatIf::kind) != all.items.end();
    const Kind* kind = refused.instead.empty() || known ? nullptr : kind_named(refused.instead);
    if (kind != nullptr) found.push_back(kind);
  }
  return found;
}

// Only what the replay bears out stays.
void settle_instead(WhatIfs& all) {
  for (NotThis& refused : all.refused) {
    const auto item = std::ranges::find(all.items, refused.instead, &WhatIf::kind);
    if (item == all.items.end() || item->peak >= item->peak_was) {
      refused.instead.clear();
    } else {
      refused.why.reason += fmt::format(", {} would: {}", item->kind, format::readable(item->peak));
    }
  }
}

}  // namespace

Result<WhatIfs> ask_what_ifs(const WhatIfAsk& ask) {
  const auto any_replayed = [](const Together& kinds) { return std::ranges::any_of(kinds, &Kind::is_replayed); };
  if (std::ranges::none_of(ask.wanted, any_replayed)) return only_measured(ask);
  const auto recorded = read_step(ask.bundle);
  if (!recorded) return std::unexpected(recorded.error());
  const auto program = decode(recorded->document);
  if (!program) return std::unexpected(program.error());
  Candidates asked(ask.bundle);
  WhatIfs all{.profile = recorded->id, .check = {}, .items = {}, .findings = {}, .step = {}, .refused = {}, .faults = {}};
  std::vector<Candidate> candidates;
  for (const Together& kinds : ask.wanted) {
    Tried made = asked.edited(*program, kinds);
    if (made) candidates.push_back(std::move(*made));
    if (!made) all.refused.push_back(std::move(made.error()));
  }
  if (ask.python.empty() || std::ranges::none_of(candidates, &Candidate::replayed)) {
    for (Candidate& candidate : candidates) list_of(all, candidate).push_back(std::move(candidate.item));
    return all;
  }
  auto worker = worker_that_recorded(recorded->torch, ask.python, ask.say);
  if (!worker) return std::unexpected(worker.error());
  all.faults = much_faulting(ask.bundle, recorded->steps);
  Trial trial(ask, *recorded, std::move(*worker), all.faults);
  const auto check = trial.check();
  if (!check) return std::unexpected(check.error());
  all.check = *check;
  for (Candidate& candidate : candidates) {
    if (!candidate.replayed) {
      all.items.push_back(std::move(candidate.item));
      continue;
    }
    std::vector<WhatIf>& list = list_of(all, candidate);
    auto replayed = trial.replay(std::move(candidate));
    if (replayed) list.push_back(std::move(*replayed));
    if (!replayed) all.refused.push_back(std::move(replayed.error()));
  }
  for (const Kind* kind : ask.instead ? missing_instead(all) : Together{}) {
    Tried made = asked.edited(*program, {kind});
    if (!made) continue;
    if (auto replayed = trial.replay(std::move(*made))) all.items.push_back(std::move(*replayed));
  }
  settle_instead(all);
  std::ranges::stable_sort(all.items, {}, [](const WhatIf& item) { return item.time ? item.time->ratio : 1; });
  return all;
}

}  // namespace hotlens::lab
