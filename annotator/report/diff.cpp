#include "annotator/report/diff.h"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "annotator/profile/statistics.h"
#include "annotator/report/judge.h"

namespace hotlens::report {
namespace {

constexpr std::string_view kPlainStep = "plain_step";

Values devices(const profile::Profile& profile) {
  Values values;
  for (const profile::Step& step : profile.steps) values.push_back(step.device);
  return values;
}

// Host time of every thread that took part: the stages hold all of it.
Values hosts(const profile::Profile& profile) {
  Values values(profile.steps.size());
  for (const profile::StageTimes& stage : profile.stages) {
    for (std::size_t step = 0; step < values.size(); ++step) values[step] += stage.cpu[step];
  }
  return values;
}

bool any(const Values& values) {
  return std::ranges::any_of(values, [](Ns value) { return value != Ns{}; });
}

// Values by name, of one run or of the runs of a side.
using Named = std::vector<std::pair<std::string, Values>>;
using NamedRuns = std::vector<std::pair<std::string, Runs>>;

const Values* find(const Named& named, std::string_view name) {
  const auto found = std::ranges::find(named, name, &Named::value_type::first);
  return found == named.end() ? nullptr : &found->second;
}

// By the names of the first run; one that does not have it spent no time on it, but for plain steps, which it did not time.
template <class Of>
NamedRuns named_runs(std::span<const Side> side, const Of& of) {
  NamedRuns runs;
  for (auto& [name, values] : of(side.front())) runs.push_back({name, {std::move(values)}});
  for (const Side& run : side.subspan(1)) {
    const Named named = of(run);
    for (auto& [name, values] : runs) {
      const Values* found = find(named, name);
      if (!found && name == kPlainStep) continue;
      values.push_back(found ? *found : Values(run.profile->steps.size()));
    }
  }
  return runs;
}

// Those of `after` in its order, then what only `before` has.
template <class Of>
std::vector<Row> rows(std::span<const Side> before, std::span<const Side> after, const Judge& judge, const Of& of) {
  NamedRuns old_runs = named_runs(before, of);
  std::vector<Row> rows;
  for (const auto& [name, values] : named_runs(after, of)) {
    const auto old = std::ranges::find(old_runs, name, &NamedRuns::value_type::first);
    rows.push_back({name, judge.compare(old == old_runs.end() ? Runs{} : old->second, values), {}, {}});
    if (old != old_runs.end()) old_runs.erase(old);
  }
  for (const auto& [name, values] : old_runs) rows.push_back({name, judge.compare(values, {}), {}, {}});
  return rows;
}

// A side where not every run timed plain steps has none.
bool all_plain(std::span<const Side> side) {
  return std::ranges::none_of(side, [](const Side& run) { return run.plain_steps.empty(); });
}

Named totals(const Side& run) {
  const profile::Profile& profile = *run.profile;
  Named named;
  if (!run.plain_steps.empty()) named.emplace_back(kPlainStep, run.plain_steps);
  named.emplace_back("step", step_walls(profile));
  named.emplace_back("host", hosts(profile));
  if (profile.has_device()) named.emplace_back("device", devices(profile));
  return named;
}

Named stages(const Side& run, Values profile::StageTimes::* times) {
  Named named;
  for (const profile::StageTimes& stage : run.profile->stages) {
    if (any(stage.*times)) named.emplace_back(name(stage.stage), stage.*times);
  }
  return named;
}

Named buckets(const Side& run) {
  Named named;
  for (const profile::BucketTimes& bucket : run.profile->buckets) {
    if (any(bucket.wall)) named.emplace_back(name(bucket.bucket), bucket.wall);
  }
  return named;
}

using NamesOf = std::vector<NamedTimes> (*)(const Side&);

std::vector<Row> by_name(std::span<const Side> before, std::span<const Side> after, const Judge& judge, NamesOf of) {
  const auto times = [&](const Side& run) {
    Named named;
    for (NamedTimes& each : of(run)) named.emplace_back(std::move(each.name), std::move(each.time));
    return named;
  };
  std::vector<Row> found = rows(before, after, judge, times);
  std::unordered_map<std::string, std::int64_t> old_calls, new_calls;
  for (const NamedTimes& each : of(before.front())) old_calls[each.name] = profile::usual(each.calls);
  for (const NamedTimes& each : of(after.front())) new_calls[each.name] = profile::usual(each.calls);
  for (Row& row : found) {
    if (const auto calls = old_calls.find(row.name); calls != old_calls.end()) row.before_calls = calls->second;
    if (const auto calls = new_calls.find(row.name); calls != new_calls.end()) row.after_calls = calls->second;
  }
  return found;
}

std::vector<std::string> ids(std::span<const Side> side) {
  std::vector<std::string> names;
  for (const Side& run : side) names.push_back(run.profile->id);
  return names;
}

Ns usual_step(const Side& run) {
  return profile::median(run.plain_steps.empty() ? step_walls(*run.profile) : run.plain_steps);
}

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::same:
      return "same";
    case Outcome::faster:
      return "faster";
    case Outcome::slower:
      return "slower";
    case Outcome::added:
      return "added";
    case Outcome::removed:
      return "removed";
  }
  std::unreachable();
}

Result<Side> read_side(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> rank) {
  Result<profile::Annotated> annotated = profile::annotate(bundle_or_trace, rank);
  if (!annotated) return std::unexpected(annotated.error());
  Side side{.profile = nullptr,
            .plain_steps = {},
            .operators = operators_of(*annotated),
            .kernels = kernels_of(*annotated),
            .ranks = std::nullopt};
  if (annotated->manifest) side.plain_steps = annotated->manifest->plain_steps;
  side.profile = profile_of(*annotated);
  return side;
}

void typical_first(std::vector<Side>& runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t run) { return usual_step(runs[run]); });
  std::swap(runs.front(), runs[order[(order.size() - 1) / 2]]);
}

Diff diff(std::span<const Side> before, std::span<const Side> after) {
  const Judge judge(before, after);
  const auto table = [&](const auto& of) { return rows(before, after, judge, of); };
  const auto names = [&](NamesOf of) { return by_name(before, after, judge, of); };
  Diff result{.before_runs = ids(before), .after_runs = ids(after)};
  result.totals = table(totals);
  result.step_plain = all_plain(before) && all_plain(after);
  const auto total = [&](std::string_view name) { return std::ranges::find(result.totals, name, &Row::name)->time; };
  result.step = total(result.step_plain ? kPlainStep : "step");
  result.stages = table([](const Side& run) { return stages(run, &profile::StageTimes::wall); });
  result.stages_device = table([](const Side& run) { return stages(run, &profile::StageTimes::device); });
  result.buckets = table(buckets);
  result.modules = module_rows(before, after);
  result.operators = names([](const Side& run) { return run.operators; });
  result.kernels = names([](const Side& run) { return run.kernels; });
  result.families = names([](const Side& run) { return by_family(run.kernels); });
  return result;
}

Diff diff(const Side& before, const Side& after) {
  return diff(std::span(&before, 1), std::span(&after, 1));
}

Gate gate(const Diff& diff, double threshold, std::string modules) {
  Gate result{.threshold = threshold, .modules = std::move(modules), .crossed = {}, .unknown_noise = {}, .noisier = {}};
  const auto judge = [&](const std::string& name, const Change& change) {
    ++result.compared;
    if (change.before && change.after && !change.noise) result.unknown_noise.push_back(name);
    if (const double share = noise_share(change); share > threshold) {
      result.noise = std::max(result.noise, share);
      result.noisier.push_back(name);
    }
    if (change.outcome != Outcome::slower) return;
    const double limit = threshold * static_cast<double>(change.before->count());
    if (static_cast<double>(change.difference().count()) > limit) result.crossed.push_back(name);
  };
  if (result.modules.empty()) {
    judge("step", diff.step);
    return result;
  }
  for (const ModuleRow& row : diff.modules) {
    if (fnmatch(result.modules.c_str(), row.path.c_str(), 0) == 0) judge(row.path, row.time);
  }
  return result;
}

}  // namespace hotlens::report
