#include "server/features/line_summary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "annotator/profile/statistics.h"

namespace hotlens::features {
namespace {

using profile::ModuleId;
using profile::PerStep;
using profile::Profile;
using source::Role;

Subject subject_of(Role role) {
  switch (role) {
    case Role::class_line:
      return Subject::class_line;
    case Role::definition:
      return Subject::definition;
    case Role::stage:
      return Subject::stage;
    case Role::constructor:
      return Subject::constructor;
    case Role::call:
    case Role::line:
      return Subject::execution;
  }
  return Subject::execution;
}

void add(PerStep& sum, const PerStep& part) {
  sum.resize(std::max(sum.size(), part.size()));
  for (std::size_t i = 0; i < part.size(); ++i) sum[i] = sum[i] + part[i];
}

void add_modules(LineSummary& summary, const Profile& profile, std::vector<ModuleId> modules) {
  summary.modules = outermost(profile, std::move(modules));
  for (ModuleId id : summary.modules) {
    const profile::Module& module = profile.at(id);
    add(summary.forward, module.forward);
    add(summary.backward, module.backward);
    summary.slices.insert(summary.slices.end(), module.slices.begin(), module.slices.end());
  }
}

void add_stages(LineSummary& summary, const Profile& profile) {
  for (const profile::StageTimes& stage : profile.stages) {
    if (!has_stage(summary, stage.stage)) continue;
    summary.value += profile::median(stage.wall);
    summary.headline.resize(std::max(summary.headline.size(), stage.wall.size()));
    for (std::size_t i = 0; i < stage.wall.size(); ++i) summary.headline[i] += stage.wall[i];
    PerStep times(stage.cpu.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i].cpu_total = stage.cpu[i];
      if (i < stage.device.size()) times[i].device = stage.device[i];
      if (i < stage.waiting.size()) times[i].waiting = stage.waiting[i];
    }
    add(stage.stage == profile::Stage::backward ? summary.backward : summary.forward, times);
  }
}

void headline_from_times(LineSummary& summary, const Profile& profile) {
  summary.headline.assign(std::max(summary.forward.size(), summary.backward.size()), Ns{});
  for (const PerStep* direction : {&summary.forward, &summary.backward}) {
    summary.value += profile::headline(profile::median(*direction), profile.has_device());
    for (std::size_t i = 0; i < direction->size(); ++i) summary.headline[i] += profile::headline((*direction)[i], profile.has_device());
  }
}

using Placement = source::Anchors::Placement;

bool contains(const source::Range& range, source::Position at) {
  return range.begin <= at && at <= range.end;
}

bool is_inside(const source::Range& inner, const source::Range& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

bool is_line_fact(const FileView& view, std::uint32_t fact) {
  return view.facts->anchors.facts()[fact].role == source::Role::line;
}

// The smallest placed expression around `at`, and the facts that stand on exactly that expression.
std::vector<std::uint32_t> facts_at(const FileView& view, source::Position at) {
  std::optional<source::Range> focus;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const Placement& placement = view.placements[fact];
    if (placement.state == source::State::orphan || is_line_fact(view, fact) || !contains(placement.range, at)) continue;
    if (!focus || is_inside(placement.range, *focus)) focus = placement.range;
  }
  std::vector<std::uint32_t> facts;
  if (!focus) return facts;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    if (!is_line_fact(view, fact) && view.placements[fact].range == *focus && view.placements[fact].state != source::State::orphan) {
      facts.push_back(fact);
    }
  }
  return facts;
}

}  // namespace

std::vector<ModuleId> outermost(const Profile& profile, std::vector<ModuleId> modules) {
  // A container that is never called (ModuleList) has no time of its own: its entries stand for it.
  const auto is_called = [&](ModuleId id) { return profile.at(id).calls > 0; };
  if (std::ranges::any_of(modules, is_called)) std::erase_if(modules, [&](ModuleId id) { return !is_called(id); });
  const std::set<ModuleId> members(modules.begin(), modules.end());
  std::vector<ModuleId> out;
  for (ModuleId id : members) {
    bool inner = false;
    for (ModuleId up = profile.at(id).parent; up.valid() && !inner; up = profile.at(up).parent) inner = members.contains(up);
    if (!inner) out.push_back(id);
  }
  return out;
}

LineSummary summarize_facts(const FileView& view, const std::vector<std::uint32_t>& facts) {
  const Profile& profile = *view.profile;
  LineSummary summary;
  summary.subject = Subject::constructor;
  const auto meaning_of = [&](std::uint32_t fact) -> const Meaning& { return view.facts->meanings[fact]; };
  const auto role_of = [&](std::uint32_t fact) { return view.facts->anchors.facts()[fact].role; };
  for (std::uint32_t fact : facts) summary.subject = std::min(summary.subject, subject_of(role_of(fact)));

  std::vector<ModuleId> modules;
  std::int64_t calls = 0;
  bool has_line_row = false;
  bool first = true;
  for (std::uint32_t fact : facts) {
    if (subject_of(role_of(fact)) != summary.subject) continue;
    const auto& placement = view.placements[fact];
    if (std::exchange(first, false)) {
      summary.line = placement.range.begin.line;
      summary.range = placement.range;
    }
    summary.state = std::max(summary.state, placement.state);
    const Meaning& meaning = meaning_of(fact);
    modules.insert(modules.end(), meaning.modules.begin(), meaning.modules.end());
    if (role_of(fact) == Role::stage) summary.stages.push_back(profile.stage_sites[meaning.row].stage);
    calls = std::max(calls, meaning.calls);
    if (role_of(fact) == Role::line) {
      const profile::Line& row = profile.lines[meaning.row];
      add(summary.forward, row.forward);
      add(summary.backward, row.backward);
      summary.slices.insert(summary.slices.end(), row.slices.begin(), row.slices.end());
      has_line_row = true;
    }
  }
  if (summary.subject == Subject::stage) {
    add_stages(summary, profile);
    return summary;
  }
  // A line's own row already holds its calls: their modules are listed, not added again.
  if (has_line_row) {
    summary.modules = outermost(profile, std::move(modules));
  } else {
    add_modules(summary, profile, std::move(modules));
  }
  summary.times = summary.subject == Subject::execution ? std::max<std::int64_t>(calls, 1)
                                                        : std::max<std::int64_t>(static_cast<std::int64_t>(summary.modules.size()), 1);
  headline_from_times(summary, profile);
  return summary;
}

std::vector<LineSummary> summarize(const FileView& view, LineRange lines) {
  if (!view.facts || !view.profile) return {};
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_line;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const auto& placement = view.placements[fact];
    const std::uint32_t line = placement.range.begin.line;
    if (placement.state == source::State::orphan || line < lines.begin || line >= lines.end) continue;
    by_line[line].push_back(fact);
  }
  std::vector<LineSummary> out;
  out.reserve(by_line.size());
  for (auto& [line, facts] : by_line) {
    out.push_back(summarize_facts(view, facts));
    out.back().facts = std::move(facts);
  }
  return out;
}

bool has_stage(const LineSummary& summary, profile::Stage stage) {
  return std::ranges::find(summary.stages, stage) != summary.stages.end();
}

double share(const LineSummary& summary, const Profile& profile) {
  const auto step = static_cast<double>(profile.step_wall().count());
  return step > 0 ? static_cast<double>(summary.value.count()) / step : 0.0;
}

std::optional<LineSummary> summary_at(const FileView& view, source::Position at) {
  if (!view.facts || !view.profile) return std::nullopt;
  if (const std::vector<std::uint32_t> facts = facts_at(view, at); !facts.empty()) return summarize_facts(view, facts);
  std::vector<LineSummary> line = summarize(view, {at.line, at.line + 1});
  if (line.empty() || line.front().value <= Ns{}) return std::nullopt;
  return std::move(line.front());
}

}  // namespace hotlens::features
