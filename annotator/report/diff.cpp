#include "annotator/report/diff.h"

#include <fnmatch.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "annotator/profile/spread.h"
#include "annotator/profile/statistics.h"

namespace hotlens::report {
namespace {

// A module whose change is at least this much that of one child says nothing that the child does not say.
constexpr double kDominant = 0.8;

using Values = std::vector<Ns>;  // per step

Change compare(const Values* before, const Values* after) {
  Change change;
  if (before) change.before = profile::sample(*before).median;
  if (after) change.after = profile::sample(*after).median;
  if (!before || !after) {
    change.outcome = before ? Outcome::removed : Outcome::added;
    return change;
  }
  change.noise = profile::noise(profile::sample(*before), profile::sample(*after));
  const Ns limit = change.noise.value_or(profile::kResolution);
  if (change.difference() > limit) change.outcome = Outcome::slower;
  if (change.difference() < -limit) change.outcome = Outcome::faster;
  return change;
}

Values walls(const profile::Profile& profile) {
  Values values;
  for (const profile::Step& step : profile.steps) values.push_back(step.wall);
  return values;
}

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

std::vector<Row> totals(const Side& old_side, const Side& new_side) {
  const profile::Profile& before = *old_side.profile;
  const profile::Profile& after = *new_side.profile;
  std::vector<Row> rows;
  const auto add = [&](const char* name, const std::optional<Values>& old_values, const std::optional<Values>& new_values) {
    if (!old_values && !new_values) return;
    rows.push_back({name, compare(old_values ? &*old_values : nullptr, new_values ? &*new_values : nullptr), {}, {}});
  };
  const auto known = [](bool is_known, Values values) { return is_known ? std::optional(std::move(values)) : std::nullopt; };
  add("plain_step", known(!old_side.plain_steps.empty(), old_side.plain_steps), known(!new_side.plain_steps.empty(), new_side.plain_steps));
  add("step", walls(before), walls(after));
  add("host", hosts(before), hosts(after));
  add("device", known(before.has_device(), devices(before)), known(after.has_device(), devices(after)));
  return rows;
}

// Rows by name: those of `after` in its order, then what only `before` has.
class NamedRows {
 public:
  void add_before(std::string name, Values values) { before_.emplace_back(std::move(name), std::move(values)); }

  void add_after(const std::string& name, const Values& values) {
    const auto old = std::ranges::find_if(before_, [&](const auto& each) { return each.first == name; });
    rows_.push_back({name, compare(old == before_.end() ? nullptr : &old->second, &values), {}, {}});
    if (old != before_.end()) before_.erase(old);
  }

  std::vector<Row> take() && {
    for (const auto& [name, values] : before_) rows_.push_back({name, compare(&values, nullptr), {}, {}});
    return std::move(rows_);
  }

 private:
  std::vector<std::pair<std::string, Values>> before_;
  std::vector<Row> rows_;
};

bool any(const Values& values) {
  return std::ranges::any_of(values, [](Ns value) { return value != Ns{}; });
}

std::vector<Row> stages(const profile::Profile& before, const profile::Profile& after, Values profile::StageTimes::* times) {
  NamedRows rows;
  const auto has = [&](const profile::StageTimes& stage) { return any(stage.*times); };
  for (const profile::StageTimes& stage : before.stages) {
    if (has(stage)) rows.add_before(std::string(name(stage.stage)), stage.*times);
  }
  for (const profile::StageTimes& stage : after.stages) {
    if (has(stage)) rows.add_after(std::string(name(stage.stage)), stage.*times);
  }
  return std::move(rows).take();
}

std::vector<Row> buckets(const profile::Profile& before, const profile::Profile& after) {
  NamedRows rows;
  for (const profile::BucketTimes& bucket : before.buckets) {
    if (any(bucket.wall)) rows.add_before(std::string(name(bucket.bucket)), bucket.wall);
  }
  for (const profile::BucketTimes& bucket : after.buckets) {
    if (any(bucket.wall)) rows.add_after(std::string(name(bucket.bucket)), bucket.wall);
  }
  return std::move(rows).take();
}

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

bool knows_backward(const profile::Profile& profile, profile::ModuleId id) {
  return !id.valid() || profile.at(id).backward_known;
}

ModuleRow module_row(const profile::Profile& before, const profile::Profile& after, const ModulePair& pair) {
  const bool known = knows_backward(before, pair.before) && knows_backward(after, pair.after);
  const std::optional<ModuleTimes> old_times = pair.before.valid() ? std::optional(times_of(before, pair.before, known)) : std::nullopt;
  const std::optional<ModuleTimes> new_times = pair.after.valid() ? std::optional(times_of(after, pair.after, known)) : std::nullopt;
  const auto of = [&](Values ModuleTimes::* which) {
    return compare(old_times ? &((*old_times).*which) : nullptr, new_times ? &((*new_times).*which) : nullptr);
  };
  return {.before = pair.before,
          .after = pair.after,
          .backward_known = known,
          .path = pair.after.valid() ? after.at(pair.after).path : before.at(pair.before).path,
          .time = of(&ModuleTimes::whole),
          .forward = of(&ModuleTimes::forward),
          .backward = of(&ModuleTimes::backward),
          .forward_host = of(&ModuleTimes::forward_host),
          .backward_host = of(&ModuleTimes::backward_host)};
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
      return child.time.outcome != Outcome::same && whole * part > 0 && std::abs(part) >= kDominant * std::abs(whole);
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
    row.explains =
        row.time.outcome != Outcome::same && row.time.difference() != Ns{} && (one_sided ? !inside_another(row) : !dominated(row));
  }
}

std::vector<ModuleRow> modules(const profile::Profile& before, const profile::Profile& after) {
  std::vector<ModuleRow> rows;
  for (const ModulePair& pair : match_modules(before, after)) rows.push_back(module_row(before, after, pair));
  mark_explaining(rows, before, after);
  return rows;
}

std::vector<Row> by_name(const std::vector<NamedTimes>& before, const std::vector<NamedTimes>& after) {
  std::unordered_map<std::string_view, const NamedTimes*> old_rows;
  for (const NamedTimes& each : before) old_rows[each.name] = &each;
  std::vector<Row> rows;
  for (const NamedTimes& each : after) {
    const auto old = old_rows.find(each.name);
    const NamedTimes* twin = old == old_rows.end() ? nullptr : old->second;
    rows.push_back({each.name, compare(twin ? &twin->time : nullptr, &each.time), {}, profile::usual(each.calls)});
    if (twin) rows.back().before_calls = profile::usual(twin->calls);
    if (twin) old_rows.erase(old);
  }
  for (const NamedTimes& each : before) {
    if (old_rows.contains(each.name)) rows.push_back({each.name, compare(&each.time, nullptr), profile::usual(each.calls), {}});
  }
  return rows;
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

Diff diff(const Side& before, const Side& after) {
  const profile::Profile& old_profile = *before.profile;
  const profile::Profile& new_profile = *after.profile;
  Diff result;
  result.totals = totals(before, after);
  result.step_plain = !before.plain_steps.empty() && !after.plain_steps.empty();
  result.step = std::ranges::find(result.totals, result.step_plain ? "plain_step" : "step", &Row::name)->time;
  result.stages = stages(old_profile, new_profile, &profile::StageTimes::wall);
  result.stages_device = stages(old_profile, new_profile, &profile::StageTimes::device);
  result.buckets = buckets(old_profile, new_profile);
  result.modules = modules(old_profile, new_profile);
  result.operators = by_name(before.operators, after.operators);
  result.kernels = by_name(before.kernels, after.kernels);
  result.families = by_name(by_family(before.kernels), by_family(after.kernels));
  return result;
}

Gate gate(const Diff& diff, double threshold, std::string modules) {
  Gate result{.threshold = threshold, .modules = std::move(modules), .crossed = {}, .unknown_noise = {}, .compared = 0};
  const auto judge = [&](const std::string& name, const Change& change) {
    ++result.compared;
    if (change.before && change.after && !change.noise) result.unknown_noise.push_back(name);
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
