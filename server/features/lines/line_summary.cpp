#include "server/features/lines/line_summary.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "annotator/profile/loop.h"
#include "annotator/profile/place_name.h"
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
    case Role::statement:
      return Subject::statement;
  }
  return Subject::execution;
}

void add(PerStep& sum, const PerStep& part) {
  sum.resize(std::max(sum.size(), part.size()));
  for (std::size_t i = 0; i < part.size(); ++i) sum[i] = sum[i] + part[i];
}

bool has_ancestor_in(const Profile& profile, ModuleId id, const std::set<ModuleId>& members) {
  for (ModuleId up = profile.at(id).parent; up.valid(); up = profile.at(up).parent) {
    if (members.contains(up)) return true;
  }
  return false;
}

std::vector<ModuleId> topmost(const Profile& profile, const std::vector<ModuleId>& modules) {
  const std::set<ModuleId> members(modules.begin(), modules.end());
  std::vector<ModuleId> out;
  std::ranges::copy_if(members, std::back_inserter(out), [&](ModuleId id) { return !has_ancestor_in(profile, id, members); });
  return out;
}

// The called modules that a container holds, itself where it is called.
void add_called(const Profile& profile, ModuleId id, std::vector<ModuleId>& out) {
  if (profile.at(id).calls > 0) {
    out.push_back(id);
    return;
  }
  for (const ModuleId child : profile.at(id).children) add_called(profile, child, out);
}

// Of what ran in one of several modules, where the line makes them: theirs is not in the times of any of them.
void add_one_of(LineSummary& summary, const Profile& profile, const std::vector<ModuleId>& modules) {
  const std::set<ModuleId> made(modules.begin(), modules.end()), counted(summary.modules.begin(), summary.modules.end());
  const auto is_made = [&](ModuleId id) { return made.contains(id); };
  std::set<ModuleId> held;  // by those that may have run; what these hold is part of their time
  for (const profile::OneOf& some : profile.one_of) {
    if (std::ranges::any_of(some.modules, is_made)) held.insert(some.modules.begin(), some.modules.end());
  }
  for (const profile::OneOf& some : profile.one_of) {
    const ModuleId first = some.modules.front();
    const bool inside = has_ancestor_in(profile, first, held) || (has_ancestor_in(profile, first, counted));
    if (inside || std::ranges::none_of(some.modules, is_made)) continue;
    add(summary.forward, some.forward);
    add(summary.backward, some.backward);
    summary.slices.insert(summary.slices.end(), some.slices.begin(), some.slices.end());
    summary.one_of += profile::headline(profile.shown(some.forward), profile.has_device());
    summary.one_of += profile::headline(profile.shown(some.backward), profile.has_device());
  }
}

void add_modules(LineSummary& summary, const Profile& profile, std::vector<ModuleId> modules) {
  const std::vector<ModuleId> all = modules;
  const std::vector<ModuleId> top = topmost(profile, modules);
  summary.modules = outermost(profile, std::move(modules));
  if (top.size() == 1 && summary.modules != top) summary.container = top.front();
  for (ModuleId id : summary.modules) {
    const profile::Module& module = profile.at(id);
    add(summary.forward, module.forward);
    add(summary.backward, module.backward);
    summary.slices.insert(summary.slices.end(), module.slices.begin(), module.slices.end());
  }
  add_one_of(summary, profile, all);
}

// A module that several others call is one of them, though it has a row under each.
std::int64_t instances(const Profile& profile, const std::vector<ModuleId>& modules) {
  std::set<ModuleId> different;
  for (const ModuleId id : modules) different.insert(profile.at(id).same_as.valid() ? profile.at(id).same_as : id);
  return std::ssize(different);
}

// Where a stage's time is shown instead: the line as it is now, of another file as it was executed.
std::string shown_at(const FileView& view, std::uint32_t row) {
  const profile::StageSite& site = view.profile->stage_sites.at(row);
  if (site.site.file != view.facts->file) {
    const profile::SourceFile& file = view.profile->files.at(site.site.file.index);
    return profile::place_name(file.path.filename().string(), file, site.site.line);
  }
  std::uint32_t line = site.site.line;
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const bool same = view.facts->anchors.facts()[fact].role == Role::stage && view.facts->meanings[fact].row == row;
    if (same && view.placements[fact].state != source::State::orphan) line = view.placements[fact].range.begin.line;
  }
  return fmt::format("line {}", line + 1);
}

// The stages that these rows of Profile::stage_sites enter, in the order of the step.
void add_stages(LineSummary& summary, const FileView& view, const std::vector<std::uint32_t>& rows) {
  const Profile& profile = *view.profile;
  for (const std::uint32_t row : rows) {
    const profile::StageSite& site = profile.stage_sites.at(row);
    if (site.counted_at) {
      const bool here = std::ranges::find(rows, *site.counted_at) != rows.end();
      if (!here) summary.stages.push_back({.stage = site.stage, .counted_at = shown_at(view, *site.counted_at)});
      continue;
    }
    summary.stages.push_back({site.stage, profile.shown(site.wall), profile.shown(site.cpu), profile.shown(site.device), ""});
    summary.value += summary.stages.back().wall;
    summary.headline.resize(std::max(summary.headline.size(), site.wall.size()));
    for (std::size_t i = 0; i < site.wall.size(); ++i) summary.headline[i] += site.wall[i];
    PerStep times(site.cpu.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i].cpu_total = site.cpu[i];
      if (i < site.device.size()) times[i].device = site.device[i];
      if (i < site.waiting.size()) times[i].waiting = site.waiting[i];
    }
    add(site.stage == profile::Stage::backward ? summary.backward : summary.forward, times);
  }
  const auto position = [&](const StagePart& part) {
    return std::ranges::find(profile.stages, part.stage, &profile::StageTimes::stage) - profile.stages.begin();
  };
  std::ranges::stable_sort(summary.stages, {}, position);
}

void add_calls(LineSummary& summary, const Profile& profile, const std::vector<std::uint32_t>& rows) {
  for (const std::uint32_t row : rows) {
    const profile::CallSite& call = profile.call_sites.at(row);
    add(summary.forward, call.forward);
    add(summary.backward, call.backward);
  }
  for (const ModuleId id : summary.modules) {
    const profile::Module& module = profile.at(id);
    summary.slices.insert(summary.slices.end(), module.slices.begin(), module.slices.end());
  }
}

void headline_from_times(LineSummary& summary, const Profile& profile) {
  summary.headline.assign(std::max(summary.forward.size(), summary.backward.size()), Ns{});
  for (const PerStep* direction : {&summary.forward, &summary.backward}) {
    summary.value += profile::headline(profile.shown(*direction), profile.has_device());
    for (std::size_t i = 0; i < direction->size(); ++i) summary.headline[i] += profile::headline((*direction)[i], profile.has_device());
  }
}

void add_clock(LineSummary& summary, const Profile& profile, const std::vector<std::uint32_t>& rows) {
  if (!profile.loop) return;
  summary.clock = clock_of(*profile.loop, rows);
  if (summary.clock && counts_requests(*summary.clock)) summary.times = 1;
  if (!summary.clock || summary.clock->per_update <= Ns{}) return;
  const bool of_loop = summary.subject == Subject::stage || summary.subject == Subject::execution || summary.subject == Subject::statement;
  if (!of_loop) return;
  summary.timed = true;
  summary.value = summary.clock->per_update;
}

// What the loop's own clock says of the wait for workers divides as they were seen: steps that are profiled wait less than others, since
// the workers go on meanwhile.
void add_worker_clock(LineSummary& summary, const Profile& profile) {
  if (summary.worker_part <= 0 || !profile.loop) return;
  summary.clock = clock_of_fetch(profile, summary.worker_part);
  if (!summary.clock) return;
  summary.timed = true;
  summary.value = summary.clock->per_update;
}

using Placement = source::Anchors::Placement;

bool contains(const source::Range& range, source::Position at) {
  return range.begin <= at && at <= range.end;
}

bool is_line_fact(const FileView& view, std::uint32_t fact) {
  const Role role = view.facts->anchors.facts()[fact].role;
  return role == Role::line || role == Role::statement;
}

// Of the facts on a line those of what it does, without the layers that it makes.
std::vector<std::uint32_t> work_of(const FileView& view, const std::vector<std::uint32_t>& facts) {
  std::vector<std::uint32_t> work;
  for (const std::uint32_t fact : facts) {
    const Subject subject = subject_of(view.facts->anchors.facts()[fact].role);
    if (subject == Subject::execution || subject == Subject::statement) work.push_back(fact);
  }
  return work;
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
  if (std::ranges::any_of(modules, [&](ModuleId id) { return profile.at(id).calls > 0; })) {
    std::vector<ModuleId> called;
    for (const ModuleId id : modules) add_called(profile, id, called);
    modules = std::move(called);
  }
  return topmost(profile, modules);
}

LineSummary summarize_facts(const FileView& view, const std::vector<std::uint32_t>& facts) {
  const Profile& profile = *view.profile;
  LineSummary summary;
  summary.subject = Subject::statement;
  const auto meaning_of = [&](std::uint32_t fact) -> const Meaning& { return view.facts->meanings[fact]; };
  const auto role_of = [&](std::uint32_t fact) { return view.facts->anchors.facts()[fact].role; };
  for (std::uint32_t fact : facts) summary.subject = std::min(summary.subject, subject_of(role_of(fact)));

  std::vector<ModuleId> modules;
  std::vector<std::uint32_t> stage_rows, statement_rows;
  bool calls_are_known = true;
  std::int64_t calls = 0;
  bool has_line_row = false;
  bool first = true;
  for (std::uint32_t fact : facts) {
    if (role_of(fact) == Role::statement) statement_rows.push_back(meaning_of(fact).row);
    if (subject_of(role_of(fact)) != summary.subject) continue;
    const auto& placement = view.placements[fact];
    if (std::exchange(first, false)) {
      summary.line = placement.range.begin.line;
      summary.range = placement.range;
    }
    summary.state = std::max(summary.state, placement.state);
    const Meaning& meaning = meaning_of(fact);
    modules.insert(modules.end(), meaning.modules.begin(), meaning.modules.end());
    if (role_of(fact) == Role::stage) stage_rows.push_back(meaning.row);
    if (role_of(fact) == Role::call) {
      summary.call_sites.push_back(meaning.row);
      calls_are_known &= !profile.call_sites.at(meaning.row).forward.empty();
    }
    calls = std::max(calls, meaning.calls);
    if (role_of(fact) == Role::line) {
      const profile::Line& row = profile.lines[meaning.row];
      add(summary.forward, row.forward);
      add(summary.backward, row.backward);
      summary.slices.insert(summary.slices.end(), row.slices.begin(), row.slices.end());
      summary.worker_part += row.worker_part;
      has_line_row = true;
    }
  }
  if (summary.subject == Subject::stage) {
    add_stages(summary, view, stage_rows);
    add_clock(summary, profile, statement_rows);
    return summary;
  }
  if (!calls_are_known) summary.call_sites.clear();
  // A line's own row already holds its calls: their modules are listed, not added again.
  if (has_line_row) {
    summary.modules = outermost(profile, std::move(modules));
  } else if (!summary.call_sites.empty()) {
    summary.modules = outermost(profile, std::move(modules));
    add_calls(summary, profile, summary.call_sites);
  } else {
    add_modules(summary, profile, std::move(modules));
  }
  summary.times = std::max<std::int64_t>(summary.subject == Subject::execution ? calls : instances(profile, summary.modules), 1);
  headline_from_times(summary, profile);
  add_clock(summary, profile, statement_rows);
  add_worker_clock(summary, profile);
  return summary;
}

std::vector<LineFacts> facts_by_line(const FileView& view, LineRange lines) {
  if (!view.facts || !view.profile) return {};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> placed;  // line and fact
  for (std::uint32_t fact = 0; fact < view.placements.size(); ++fact) {
    const auto& placement = view.placements[fact];
    const std::uint32_t line = placement.range.begin.line;
    if (placement.state != source::State::orphan && line >= lines.begin && line < lines.end) placed.emplace_back(line, fact);
  }
  std::ranges::sort(placed);
  std::vector<LineFacts> out;
  for (const auto& [line, fact] : placed) {
    if (out.empty() || out.back().line != line) out.push_back({.line = line, .facts = {}});
    out.back().facts.push_back(fact);
  }
  return out;
}

LineSummary summarize_line(const FileView& view, const LineFacts& line) {
  LineSummary summary = summarize_facts(view, line.facts);
  const bool makes_layers = summary.subject == Subject::definition || summary.subject == Subject::constructor;
  // A statement of the loop that also makes layers, as in `train(model, nn.MSELoss())`.
  if (makes_layers && summary.clock && summary.clock->per_update > summary.value)
    summary = summarize_facts(view, work_of(view, line.facts));
  summary.facts = line.facts;
  return summary;
}

std::vector<LineSummary> summarize(const FileView& view, LineRange lines) {
  std::vector<LineSummary> out;
  for (const LineFacts& line : facts_by_line(view, lines)) out.push_back(summarize_line(view, line));
  return out;
}

bool enters(const LineSummary& summary, profile::Stage stage) {
  return std::ranges::find(summary.stages, stage, &StagePart::stage) != summary.stages.end();
}

bool is_counted_elsewhere(const LineSummary& summary) {
  return !summary.timed && std::ranges::any_of(summary.stages, [](const StagePart& part) { return !part.counted_at.empty(); });
}

bool has_block(const LineSummary& summary) {
  return !summary.modules.empty() || !summary.stages.empty();
}

double share(const LineSummary& summary, const Profile& profile) {
  if (summary.timed) return summary.clock->share;
  const Ns whole = summary.subject == Subject::stage ? profile.step_wall() : profile::headline_whole(profile);
  return (profile.loop ? usual_share(*profile.loop) : 1) * share_of(summary.value, whole);
}

double share_of(Ns part, Ns whole) {
  return whole > Ns{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0.0;
}

std::optional<LineSummary> summary_at(const FileView& view, source::Position at) {
  if (!view.facts || !view.profile) return std::nullopt;
  std::vector<LineSummary> line = summarize(view, {at.line, at.line + 1});
  // A statement of the loop has one number, wherever on it a hand rests.
  if (!line.empty() && (line.front().subject == Subject::stage || line.front().timed)) return std::move(line.front());
  if (const std::vector<std::uint32_t> facts = facts_at(view, at); !facts.empty()) {
    LineSummary summary = summarize_facts(view, facts);
    summary.part = true;
    return summary;
  }
  if (line.empty()) return std::nullopt;
  const bool has_startup = line.front().clock && line.front().clock->startup > Ns{};
  if (line.front().value <= Ns{} && !is_counted_elsewhere(line.front()) && !has_startup) return std::nullopt;
  return std::move(line.front());
}

}  // namespace hotlens::features
