#include "annotator/report/judge.h"

#include <cmath>

#include "annotator/profile/loop.h"

namespace hotlens::report {
namespace {

// Of the runs of a side: one that others disturbed disturbs the mean.
profile::Prior prior(std::span<const Side> runs) {
  double squares = 0;
  profile::Prior prior;
  for (const Side& run : runs) {
    prior = profile::prior_of(run.profile->loop ? profile::share_of_others(*run.profile->loop) : std::nullopt);
    squares += prior.share * prior.share;
  }
  prior.share = std::sqrt(squares / static_cast<double>(runs.size()));
  return prior;
}

profile::RunSamples samples(const Runs& runs, const profile::Prior& prior) {
  profile::RunSamples side{.runs = {}, .prior = prior};
  for (const Values& values : runs) side.runs.push_back(profile::sample(values));
  return side;
}

}  // namespace

Judge::Judge(std::span<const Side> before, std::span<const Side> after) : before_(prior(before)), after_(prior(after)) {}

Change Judge::compare(const Runs& before, const Runs& after, double error, double common) const {
  const profile::RunSamples old_runs = samples(before, before_), new_runs = samples(after, after_);
  Change change;
  if (!before.empty()) change.before = old_runs.level();
  if (!after.empty()) change.after = new_runs.level();
  if (before.empty() || after.empty()) {
    change.outcome = after.empty() ? Outcome::removed : Outcome::added;
    return change;
  }
  change.noise = profile::noise(old_runs, new_runs, error);
  if (const double machine = common * static_cast<double>(change.before->count());
      change.noise && machine * static_cast<double>(change.difference().count()) > 0) {
    *change.noise += Ns{std::llround(std::abs(machine))};
  }
  const Ns limit = change.noise.value_or(profile::kResolution);
  if (change.difference() > limit) change.outcome = Outcome::slower;
  if (change.difference() < -limit) change.outcome = Outcome::faster;
  return change;
}

Values step_walls(const profile::Profile& profile) {
  Values values;
  for (const profile::Step& step : profile.steps) values.push_back(step.wall);
  return values;
}

double noise_share(const Change& change) {
  if (!change.noise || !change.before || *change.before <= Ns{}) return 0;
  return static_cast<double>(change.noise->count()) / static_cast<double>(change.before->count());
}

}  // namespace hotlens::report
