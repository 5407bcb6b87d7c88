#include "server/features/timeline/breakdown.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <unordered_map>

#include "annotator/profile/build/module_name.h"

namespace hotlens::features {
namespace {

using profile::Annotated;
using profile::Direction;
using profile::Holdings;
using profile::Module;
using profile::ModuleId;
using profile::Profile;
using profile::Stage;
using profile::operator+;  // of Holdings. NOLINT(misc-unused-using-decls): used twice below
using attribution::kNothing;
using attribution::Owner;
using attribution::StepAccount;
using attribution::Work;
using RowKind = BreakdownRow::Kind;

constexpr std::size_t kDirections = 3;
using ByDirection = std::array<Ns, kDirections>;

Ns sum(const ByDirection& times) {
  return times[0] + times[1] + times[2];
}

// Exclusive times: each nanosecond with the innermost module, or the stage, or none.
struct Shares {
  std::vector<ByDirection> modules;  // by ModuleId
  std::array<Ns, attribution::kStages> stages{};
  Ns idle{}, waiting{}, earlier{};  // earlier: of device work whose launch lies before the recording
};

// From module numbers of the trace to the profile's.
std::vector<std::uint32_t> positions(const Annotated& annotated, const Profile& profile) {
  std::unordered_map<std::string_view, std::uint32_t> by_path;
  for (std::uint32_t at = 0; at < profile.modules.size(); ++at) by_path.emplace(profile.modules[at].path, at);
  std::vector<std::uint32_t> list;
  for (const profile::ModuleName& name : profile::names_of_modules(annotated)) {
    const auto at = by_path.find(name.path);
    list.push_back(at == by_path.end() ? kNothing : at->second);
  }
  return list;
}

class Sharing {
 public:
  Sharing(const Annotated& annotated, const Profile& profile)
      : annotated_(annotated),
        position_(positions(annotated, profile)),
        shares_{.modules = std::vector<ByDirection>(profile.modules.size())} {}

  void add(const Owner& owner, Ns time) {
    const std::uint32_t number = owner.call == kNothing ? kNothing : annotated_.owners.calls.value[owner.call];
    const std::uint32_t module = number < position_.size() ? position_[number] : kNothing;
    if (module != kNothing && owner.works_for_module()) {
      shares_.modules[module][static_cast<std::size_t>(owner.direction)] += time;
    } else {
      shares_.stages[static_cast<std::size_t>(owner.stage)] += time;
    }
  }
  void add_idle(Ns time) { shares_.idle += time; }
  void add_waiting(Ns time) { shares_.waiting += time; }
  void add_earlier(Ns time) { shares_.earlier += time; }
  Shares take() { return std::move(shares_); }

 private:
  const Annotated& annotated_;
  std::vector<std::uint32_t> position_;
  Shares shares_;
};

// As count_device in account.cpp: the work that began first has the time.
void share_device(const attribution::Account& account, const StepAccount& step, Sharing& sharing) {
  const attribution::Interval& window = step.window;
  Ns covered = window.start;
  const auto first = static_cast<std::size_t>(std::ranges::upper_bound(account.reached, window.start) - account.reached.begin());
  for (std::size_t at = first; at < account.work.size() && account.work[at].start < window.end; ++at) {
    const Work& work = account.work[at];
    const Ns from = std::max(work.start, covered), to = std::min(work.end, window.end);
    if (work.start > covered) sharing.add_idle(work.start - covered);
    if (to > from && work.bucket == profile::Bucket::earlier_step) {
      sharing.add_earlier(to - from);
    } else if (to > from) {
      sharing.add(work.owner, to - from);
    }
    covered = std::max({covered, to, work.start});
  }
  if (window.end > covered) sharing.add_idle(window.end - covered);
}

void share_host(const StepAccount& step, Sharing& sharing) {
  for (const attribution::Piece& piece : step.wall) {
    const Ns time = piece.end - piece.start;
    if (piece.bucket == profile::Bucket::waiting) {
      sharing.add_waiting(time);
    } else {
      sharing.add(piece.owner, time);
    }
  }
}

// A module's exclusive times and those of everything below it.
std::vector<ByDirection> inclusive(const Profile& profile, std::vector<ByDirection> times) {
  for (std::size_t at = profile.modules.size(); at-- > 0;) {
    const ModuleId parent = profile.modules[at].parent;
    if (!parent.valid()) continue;
    for (std::size_t way = 0; way < kDirections; ++way) times[parent.index][way] += times[at][way];
  }
  return times;
}

std::vector<Part> parts_of(const ByDirection& times) {
  std::vector<Part> parts;
  for (std::size_t way = 0; way < kDirections; ++way) {
    if (times[way] > Ns{}) parts.push_back({attribution::name(static_cast<Direction>(way)), times[way].count()});
  }
  return parts;
}

BreakdownRow module_row(const Profile& profile, ModuleId id) {
  const Module& module = profile.at(id);
  return {.kind = RowKind::module, .label = std::string(last_name(module)), .module = id, .children = module.children.size()};
}

void sort_rows(std::vector<BreakdownRow>& rows) {
  std::erase_if(rows, [](const BreakdownRow& row) { return row.value <= 0; });
  std::ranges::stable_sort(rows, std::ranges::greater{}, &BreakdownRow::value);
}

std::vector<ModuleId> children_of(const Profile& profile, ModuleId module) {
  if (module.valid()) return profile.at(module).children;
  std::vector<ModuleId> roots;
  for (std::uint32_t at = 0; at < profile.modules.size(); ++at) {
    if (!profile.modules[at].parent.valid()) roots.push_back(ModuleId{at});
  }
  return roots;
}

// What every module and all below it held at the peak.
std::vector<Holdings> held_by(const Profile& profile) {
  std::vector<Holdings> held(profile.modules.size());
  for (std::size_t at = profile.modules.size(); at-- > 0;) {
    held[at] = held[at] + profile.modules[at].memory.at_peak;
    const ModuleId parent = profile.modules[at].parent;
    if (parent.valid()) held[parent.index] = held[parent.index] + held[at];
  }
  return held;
}

void fill(BreakdownRow& row, const Holdings& held) {
  row.value = count(profile::sum(held));
  for (std::size_t what = 0; what < profile::kHoldings; ++what) {
    if (count(held[what]) > 0) row.parts.push_back({profile::name(static_cast<profile::Holding>(what)), count(held[what])});
  }
}

}  // namespace

std::vector<BreakdownRow> time_below(const Annotated& annotated, const Profile& profile, std::size_t step, ModuleId module) {
  const StepAccount& account = annotated.account.steps[step];
  Sharing sharing(annotated, profile);
  if (profile.has_device()) {
    share_device(annotated.account, account, sharing);
  } else {
    share_host(account, sharing);
  }
  const Shares shares = sharing.take();
  const std::vector<ByDirection> times = inclusive(profile, shares.modules);
  std::vector<BreakdownRow> rows;
  for (const ModuleId child : children_of(profile, module)) {
    BreakdownRow row = module_row(profile, child);
    row.value = sum(times[child.index]).count();
    row.parts = parts_of(times[child.index]);
    rows.push_back(std::move(row));
  }
  if (module.valid()) {
    const ByDirection& own = shares.modules[module.index];
    rows.push_back({.kind = RowKind::own, .label = "itself", .value = sum(own).count(), .parts = parts_of(own)});
  } else {
    for (std::size_t stage = 0; stage < attribution::kStages; ++stage) {
      const auto what = static_cast<Stage>(stage);
      const std::int64_t value = shares.stages[stage].count();
      rows.push_back(
          {.kind = RowKind::stage, .label = std::string(name(what)), .stage = what, .value = value, .parts = {{name(what), value}}});
    }
    const auto add_rest = [&](RowKind kind, std::string label, Ns time) {
      rows.push_back({.kind = kind, .label = std::move(label), .value = time.count(), .parts = {{name(kind), time.count()}}});
    };
    add_rest(RowKind::idle, "device idle", shares.idle);
    add_rest(RowKind::waiting, "waiting", shares.waiting);
    add_rest(RowKind::earlier, "launched before the recording", shares.earlier);
  }
  sort_rows(rows);
  return rows;
}

std::vector<StepsRow> steps_beside(const Annotated& annotated, const Profile& profile, std::size_t before, std::size_t after,
                                   ModuleId module) {
  std::vector<StepsRow> rows;
  for (BreakdownRow& row : time_below(annotated, profile, after, module)) {
    rows.push_back({.row = std::move(row), .before = std::nullopt, .after = std::nullopt});
    rows.back().after = rows.back().row.value;
  }
  for (BreakdownRow& old : time_below(annotated, profile, before, module)) {
    const auto twin = std::ranges::find_if(rows, [&](const StepsRow& each) {
      return each.row.kind == old.kind && each.row.module == old.module && each.row.stage == old.stage;
    });
    const std::int64_t value = old.value;
    if (twin != rows.end()) {
      twin->before = value;
    } else {
      rows.push_back({.row = std::move(old), .before = value, .after = std::nullopt});
    }
  }
  const auto difference = [](const StepsRow& row) { return std::abs(row.after.value_or(0) - row.before.value_or(0)); };
  std::ranges::stable_sort(rows, std::ranges::greater{}, difference);
  return rows;
}

std::vector<BreakdownRow> memory_below(const Profile& profile, ModuleId module) {
  const std::vector<Holdings> held = held_by(profile);
  std::vector<BreakdownRow> rows;
  for (const ModuleId child : children_of(profile, module)) {
    rows.push_back(module_row(profile, child));
    fill(rows.back(), held[child.index]);
  }
  if (module.valid()) {
    rows.push_back({.kind = RowKind::own, .label = "itself"});
    fill(rows.back(), profile.at(module).memory.at_peak);
  } else {
    for (std::size_t stage = 0; stage < attribution::kStages; ++stage) {
      const auto what = static_cast<Stage>(stage);
      if (what == Stage::other) {
        rows.push_back({.kind = RowKind::unattributed, .label = "unattributed"});
      } else {
        rows.push_back({.kind = RowKind::stage, .label = std::string(name(what)), .stage = what});
      }
      fill(rows.back(), profile.at_peak.stages[stage]);
    }
    rows.push_back({.kind = RowKind::unattributed, .label = "held before the step", .value = count(profile.at_peak.before)});
  }
  sort_rows(rows);
  return rows;
}

std::string_view name(BreakdownRow::Kind kind) {
  switch (kind) {
    case RowKind::module:
      return "module";
    case RowKind::stage:
      return "stage";
    case RowKind::own:
      return "itself";
    case RowKind::idle:
      return "idle";
    case RowKind::waiting:
      return "waiting";
    case RowKind::earlier:
      return "earlier_step";
    case RowKind::unattributed:
      return "unattributed";
  }
  return "";
}

}  // namespace hotlens::features
