#include <algorithm>

#include "annotator/common/format.h"
#include "annotator/report/diff.h"

namespace hotlens::report {
namespace {

using format::harmless;
using format::left;
using format::percent;
using format::readable;
using format::right;
using format::shortened;

constexpr std::size_t kChangeColumns = 54;
constexpr std::size_t kShownModules = 20;  // what fits on a screen beside the other tables
constexpr std::size_t kShownNames = 10;

std::string signed_time(Ns time) {
  return time > Ns{} ? "+" + readable(time) : readable(time);
}

std::string signed_percent(const Change& change) {
  if (!change.before || !change.after || *change.before <= Ns{}) return "";
  const std::string text = percent(change.difference(), *change.before);
  return change.difference() > Ns{} ? "+" + text : text;
}

// " (±12.3 %)"
std::string noise_percent(const Change& change) {
  if (!change.before || *change.before <= Ns{}) return "";
  return " (±" + percent(*change.noise, *change.before) + ")";
}

std::string magnitude(const Change& change) {
  const std::string text = signed_percent(change);
  return text.empty() ? "" : text.substr(1) + " ";
}

Ns size_of(const Change& change) {
  const Ns difference = change.difference();
  return difference < Ns{} ? -difference : difference;
}

template <class T>
std::vector<const T*> biggest_first(const std::vector<T>& rows) {
  std::vector<const T*> sorted;
  for (const T& row : rows) sorted.push_back(&row);
  std::ranges::stable_sort(sorted, std::ranges::greater{}, [](const T* row) { return size_of(row->time); });
  return sorted;
}

std::string label(const ModuleRow& row, const profile::Profile& before, const profile::Profile& after) {
  const profile::Module* old_module = row.before.valid() ? &before.at(row.before) : nullptr;
  const profile::Module* new_module = row.after.valid() ? &after.at(row.after) : nullptr;
  const profile::Module& module = new_module ? *new_module : *old_module;
  std::string text = module.path.empty() ? "(" + module.class_name + ")" : module.path;
  if (old_module && new_module && old_module->class_name != new_module->class_name) {
    text += "  " + old_module->class_name + " → " + new_module->class_name;
  } else if (!row.made.empty()) {
    text += "  " + row.made.front();
  }
  return text;
}

class DiffWriter {
 public:
  DiffWriter(const Diff& diff, const profile::Profile& before, const profile::Profile& after, const format::Style& style)
      : diff_(diff), before_(before), after_(after), style_(style) {}

  std::string write() && {
    meaning();
    sides();
    table("Step", diff_.totals, diff_.totals.size());
    table("Stages", diff_.stages, diff_.stages.size());
    table("Stages on the device", diff_.stages_device, diff_.stages_device.size());
    table("Where the host's time goes", diff_.buckets, diff_.buckets.size());
    modules();
    if (!compares_modules()) {
      table("Operators, host time", diff_.operators, kShownNames);
      table("Kernels by family", diff_.families, kShownNames);
      table("Kernels", diff_.kernels, kShownNames);
    }
    return std::move(out_);
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void title(std::string_view text) {
    out_.append("\n").append(style_.bold).append(left(std::string(text), kChangeColumns + 2)).append(style_.off).append(style_.dim);
    out_.append(right("old", 10) + right("new", 10) + right("change", 11) + right("", 10) + right("noise", 11));
    out_.append(style_.off).append("\n");
  }

  bool compares_modules() const {
    return std::ranges::any_of(diff_.modules, [](const ModuleRow& row) { return row.before.valid() && row.after.valid(); });
  }

  // The sentence that a reader in a hurry reads.
  void meaning() {
    const Change& step = diff_.step;
    std::string text;
    if (step.outcome == Outcome::same) {
      text = step.noise ? "The step did not change beyond the noise" : "The step did not change";
    } else {
      text = "The step got " + magnitude(step) + std::string(name(step.outcome));
    }
    text += ": " + readable(step.before.value_or(Ns{})) + " → " + readable(step.after.value_or(Ns{}));
    text += diff_.step_plain ? ", timed without the profiler" : ", with the profiler on";
    text += step.noise ? ", noise between runs ±" + readable(*step.noise) + noise_percent(step)
                       : "; one side has a single step, so the noise is not known";
    line(std::string(style_.bold) + text + "." + std::string(style_.off));
    biggest_change();
  }

  void biggest_change() {
    const auto rows = biggest_first(diff_.modules);
    const auto first = std::ranges::find_if(rows, [](const ModuleRow* row) { return row->explains; });
    if (first == rows.end()) return;
    const Change& time = (*first)->time;
    const bool unsure = time.outcome == Outcome::same && time.noise;
    line("The biggest change is in " + shortened(label(**first, before_, after_), kChangeColumns) + ": " + signed_time(time.difference()) +
         (unsure ? " ±" + readable(*time.noise) : "") + (after_.has_device() ? " on the device" : "") + " a step.");
  }

  void sides() {
    side("old", before_, diff_.before_runs.size());
    side("new", after_, diff_.after_runs.size());
    if (diff_.before_runs.size() == 1 && diff_.after_runs.size() == 1 && diff_.step.noise) {
      line("How runs differ by chance is assumed, of one run a side; `hotlens run --repeat 3` for each side measures it.");
    }
    if (before_.has_device() != after_.has_device()) {
      line("Only one side ran on a device: its modules show device time, the other side's show host time.");
    }
    if (!before_.step_by.empty() && !after_.step_by.empty() && before_.step_by != after_.step_by) {
      line("A step is not the same on both sides: by " + harmless(before_.step_by) + " → by " + harmless(after_.step_by) +
           "; record with the same --step.");
    }
    if (before_.samples_per_step && after_.samples_per_step && *before_.samples_per_step != *after_.samples_per_step) {
      line("The batch differs: " + std::to_string(*before_.samples_per_step) + " → " + std::to_string(*after_.samples_per_step) +
           " samples a step; the times are not of the same work.");
    }
  }

  void side(std::string_view which, const profile::Profile& profile, std::size_t runs) {
    std::string text = std::string(which) + "  " + shortened(profile.id, kChangeColumns);
    if (runs > 1) text += " and " + format::counted(static_cast<std::int64_t>(runs) - 1, "more run", "more runs");
    if (!profile.argv.empty()) text += ", " + shortened(profile.source, kChangeColumns);
    text += ", " + std::to_string(profile.steps.size()) + (profile.steps.size() == 1 ? " step" : " steps");
    if (!profile.torch.empty()) text += ", torch " + harmless(profile.torch);
    if (!profile.devices.empty()) text += ", " + harmless(profile.devices.back().name);
    line(std::string(style_.dim) + text + std::string(style_.off));
  }

  void row(std::string_view name, const Change& change) {
    std::string text = "  " + left(shortened(name, kChangeColumns), kChangeColumns);
    text += right(change.before ? readable(*change.before) : "–", 10) + right(change.after ? readable(*change.after) : "–", 10);
    const bool one_sided = !change.before || !change.after;
    text += right(one_sided ? std::string(report::name(change.outcome)) : signed_time(change.difference()), 11);
    text += right(signed_percent(change), 10);
    text += right(one_sided ? "" : change.noise ? "±" + readable(*change.noise) : "?", 11);
    line(std::string(color_of(change)) + text + std::string(style_.off));
  }

  std::string_view color_of(const Change& change) const {
    switch (change.outcome) {
      case Outcome::slower:
        return style_.slower;
      case Outcome::faster:
        return style_.faster;
      case Outcome::same:
        return style_.dim;
      case Outcome::added:
      case Outcome::removed:
        return "";
    }
    return "";
  }

  void table(std::string_view heading, const std::vector<Row>& rows, std::size_t most) {
    if (rows.empty()) return;
    title(heading);
    const auto sorted = biggest_first(rows);
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) row(sorted[at]->name, sorted[at]->time);
    if (sorted.size() > most) note("and " + std::to_string(sorted.size() - most) + " with smaller differences");
  }

  void modules() {
    if (diff_.modules.empty()) return;
    title(after_.has_device() ? "Modules, device time" : "Modules, host time");
    std::size_t shown = 0;
    std::size_t more = 0;
    for (const ModuleRow* each : biggest_first(diff_.modules)) {
      if (!each->explains) continue;
      if (++shown <= kShownModules) {
        row(label(*each, before_, after_), each->time);
      } else {
        ++more;
      }
    }
    const bool noise_known = std::ranges::any_of(diff_.modules, [](const ModuleRow& row) { return row.time.noise.has_value(); });
    std::string text = more > 0 ? "and " + std::to_string(more) + " with smaller differences; " : "";
    if (const auto made = std::ranges::count_if(diff_.modules, [](const ModuleRow& row) { return !row.made.empty(); }); made > 0) {
      text += std::to_string(made) + " made otherwise, ";
    }
    text += tally(Outcome::same) + (noise_known ? " unchanged within the noise, " : " unchanged, ") + tally(Outcome::added) + " added, " +
            tally(Outcome::removed) + " removed";
    note(text);
  }

  std::string tally(Outcome outcome) const {
    return std::to_string(
        std::ranges::count_if(diff_.modules, [&](const ModuleRow& row) { return row.time.outcome == outcome && row.made.empty(); }));
  }

  void note(const std::string& text) { line(std::string(style_.dim) + "  " + text + std::string(style_.off)); }

  const Diff& diff_;
  const profile::Profile& before_;
  const profile::Profile& after_;
  format::Style style_;
  std::string out_;
};

}  // namespace

std::string diff_text(const Diff& diff, const Side& before, const Side& after, bool color) {
  return DiffWriter(diff, *before.profile, *after.profile, format::style(color)).write();
}

}  // namespace hotlens::report
