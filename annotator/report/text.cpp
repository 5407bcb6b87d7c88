#include <algorithm>

#include "annotator/advice/rules/text.h"
#include "annotator/causes/usage.h"
#include "annotator/common/format.h"
#include "annotator/profile/build/module_name.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/statistics.h"
#include "annotator/report/compiled_text.h"
#include "annotator/report/fold.h"
#include "annotator/report/functions_text.h"
#include "annotator/report/loop_text.h"
#include "annotator/report/text.h"

namespace hotlens::report {
namespace {

using format::harmless;
using format::left;
using format::percent;
using format::readable;
using format::right;
using format::shortened;

constexpr std::size_t kNameColumns = 54;
constexpr std::size_t kMostNameColumns = 90;  // deeper ones push their own numbers aside
constexpr std::size_t kKernels = 8;           // the table's length: the long tail is in the JSON

class TextWriter {
 public:
  TextWriter(const profile::Profile& profile, const TextOptions& options, const Beside& beside)
      : profile_(profile), options_(options), beside_(beside), style_(format::style(options.color)), device_(profile.has_device()) {}

  std::string write() && {
    heading();
    out_ += loop_text(profile_, style_);
    stages();
    buckets();
    out_ += compiled_text(profile_, style_);
    modules();
    kernels();
    out_ += costs_text(profile_, beside_, style_.bold, style_.off);
    verdict();
    out_ += functions_text(profile_, style_);
    out_ += rules::findings_text(profile_, style_);
    warnings();
    return std::move(out_);
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void dim(std::string_view text) { out_.append(style_.dim).append(text).append(style_.off).append("\n"); }
  void title(std::string_view text) { out_.append("\n").append(style_.bold).append(text).append(style_.off).append("\n"); }
  const profile::Step& shown_step() const { return profile_.steps[profile_.representative]; }

  void heading() {
    line(std::string(style_.bold) + harmless(profile_.source) + std::string(style_.off));
    const profile::Spread times = profile::spread(profile::walls(profile_.steps));
    std::string facts = "step " + std::to_string(shown_step().index) + ": " + readable(shown_step().wall);
    if (profile_.steps.size() > 1) facts += ", most like the " + std::to_string(profile_.steps.size()) + " measured";
    if (profile_.steps.size() > 2) facts += " (p10 " + readable(times.p10) + ", p90 " + readable(times.p90) + ")";
    if (shown_step().behind > Ns{}) facts += ", the host done after " + readable(shown_step().wall - shown_step().behind);
    if (shown_step().caught_up > Ns{}) facts += ", after " + readable(shown_step().caught_up) + " of waiting for earlier steps";
    if (profile_.plain_step && !profile_.loop) facts += ", " + readable(*profile_.plain_step) + " without the profiler";
    if (!profile_.torch.empty()) facts += ", torch " + harmless(profile_.torch);
    if (!profile_.devices.empty() && !profile_.devices.back().name.empty()) facts += ", " + harmless(profile_.devices.back().name);
    line(facts);
    if (!profile_.ranks.empty()) ranks();
    for (const profile::Step& step : profile_.steps) {
      if (step.outlier) outlier(step);
    }
    if (const auto& moment = profile_.at_peak.moment) memory(profile_.at_peak, *moment);
    if (const auto& faults = profile_.page_faults; faults && faults->share() >= profile::kMuchFaulting) page_faults(*faults);
  }

  void page_faults(const profile::PageFaults& faults) {
    line("page faults: " + std::to_string(faults.count) + " a step, about " + readable(faults.time()) + " of the " + readable(faults.step) +
         " without the profiler" + (faults.can_end ? "; " + std::string(profile::kKeepsFreed) + " before the command may end them" : ""));
  }

  void ranks() {
    line("rank " + std::to_string(profile_.rank) + " of " + std::to_string(profile_.ranks.size()) + " is shown; --rank N shows another");
  }

  void outlier(const profile::Step& step) {
    std::string text = "step " + std::to_string(step.index) + " took " + readable(step.wall) + ", unlike the others";
    for (const profile::Difference& each : step.differences) {
      text += (&each == &step.differences.front() ? ": " : ", ") + std::string(each.excess > Ns{} ? "+" : "") + readable(each.excess) +
              " " + harmless(each.what);
    }
    line(text);
  }

  // "memory at most 6.6 MB at once, in backward of layer2.0: activations 3.1 MB, weights 700 kB; 1.4 MB when the step began"
  void memory(const profile::MemoryAtPeak& peak, const profile::MemoryAtPeak::Moment& moment) {
    std::string text = "memory at most " + readable(peak.total) + " at once, in " + std::string(name(moment.stage));
    if (const profile::ModuleId module = moment.module; module.valid() && !profile_.at(module).path.empty()) {
      text += " of " + harmless(profile_.at(module).path);
    }
    const profile::Holdings held = profile::held_at_peak(profile_);
    std::vector<std::pair<Bytes, std::string>> parts{{peak.before, "held before the step"}};
    for (std::size_t what = 0; what < profile::kHoldings; ++what) {
      const auto holding = static_cast<profile::Holding>(what);
      parts.emplace_back(held[what], std::string(name(holding)) + (holding == profile::Holding::optimizer ? " state" : ""));
    }
    std::erase_if(parts, [](const auto& part) { return part.first <= Bytes{}; });
    std::ranges::stable_sort(parts, std::ranges::greater{}, &std::pair<Bytes, std::string>::first);
    for (const auto& [size, what] : parts) text += (what == parts.front().second ? ": " : ", ") + what + " " + readable(size);
    if (profile_.memory_start) text += "; " + readable(*profile_.memory_start + peak.outside) + " when the step began";
    line(text);
  }

  // What is of no stage is the last of them, so that nothing of the step is missing.
  void stages() {
    title("Stages of the step");
    for (const profile::StageTimes& stage : profile_.stages) {
      const Ns wall = profile_.shown(stage.wall);
      const Ns waiting = profile_.shown(stage.waiting);
      std::string row =
          "  " + left(std::string(name(stage.stage)), 22) + right(readable(wall), 10) + right(percent(wall, profile_.step_wall()), 9);
      if (device_) row += right(readable(profile_.shown(stage.device)), 10) + " device";
      // Waiting for the device is no work of the stage that happens to meet it.
      if (waiting > wall / 10) row += right(readable(waiting), 10) + " of it waiting for the device";
      line(row);
    }
  }

  void buckets() {
    title("Where its time goes");
    const profile::Step& step = shown_step();
    for (const profile::BucketTimes& bucket : profile_.buckets) {
      const Ns wall = bucket.wall[profile_.representative];
      const Ns device = bucket.device[profile_.representative];
      if (wall == Ns{} && device == Ns{}) continue;
      std::string row = "  " + left(std::string(name(bucket.bucket)), 22) + right(readable(wall), 10) + right(percent(wall, step.wall), 9);
      if (device_) row += right(readable(device), 10) + " device";
      if (bucket.bucket == attribution::Bucket::earlier_step && step.earlier_communication > Ns{}) {
        row += ", " + readable(step.earlier_communication) + " of it exposed communication";
      }
      if (bucket.bucket == attribution::Bucket::communication && device > Ns{}) row += ", exposed";
      line(row);
    }
    std::string total = "  " + left("step", 22) + right(readable(step.wall), 10);
    if (device_) {
      total += right("", 9) + right(readable(step.device), 10) + " device (" + percent(step.device, step.wall) + "), idle " +
               readable(step.wall - step.device);
      if (step.communication > Ns{}) {
        const Ns critical = profile_.critical[static_cast<std::size_t>(profile::Cause::communication)];
        total += "; communication " + readable(step.communication) + " in all, " + readable(step.exposed_communication) + " exposed, " +
                 percent(step.communication - step.exposed_communication, step.communication) + " hidden by other work, " +
                 readable(critical) + " on the critical path";
      }
      if (step.carried > step.device / 10)
        total += "; " + readable(step.carried) + " of the device time was launched before the step began";
    }
    dim(total);
  }

  // The names are as wide as the longest asks for, so that the numbers stand in columns.
  void modules() {
    if (profile_.modules.empty()) return;
    const Ns whole = headline_whole(profile_);
    title(whole == shown_step().wall ? "Modules"
                                     : "Modules, device time, shares of " + readable(whole) + " for a step without the profiler");
    std::vector<ModuleRow> rows;
    for (const Fold& row : fold(profile_, options_.unfold ? kUnfolded : FoldOptions{})) branch(row, 0, rows);
    std::size_t columns = kNameColumns;
    for (const ModuleRow& row : rows) columns = std::max(columns, std::min(format::width(row.label) + 1, kMostNameColumns));
    line(left("", columns) + right("forward", 10) + right("backward", 10) + right("share", 9));
    for (const ModuleRow& row : rows) {
      const std::string text = left(row.label, columns) + row.numbers;
      row.small ? dim(text) : line(text);
    }
    for (const profile::OneOf& some : profile_.one_of) one_of(some, columns);
  }

  // What inner modules had of it is said with the outer ones.
  void one_of(const profile::OneOf& some, std::size_t columns) {
    const profile::Module& first = profile_.at(some.modules.front());
    const auto holds_first = [&](const profile::OneOf& other) {
      for (profile::ModuleId up = first.parent; up.valid(); up = profile_.at(up).parent) {
        if (std::ranges::find(other.modules, up) != other.modules.end()) return true;
      }
      return false;
    };
    if (std::ranges::any_of(profile_.one_of, holds_first)) return;
    const Ns forward = profile::headline(profile_.shown(some.forward), device_);
    const Ns backward = profile::headline(profile_.shown(some.backward), device_);
    line(left("  " + std::to_string(some.modules.size()) + " × " + shortened(first.class_name, 24) + ", not known in which", columns) +
         right(readable(forward), 10) + right(readable(backward), 10) + right(percent(forward + backward, headline_whole(profile_)), 9) +
         "   " + shortened(first.path, 40) + " and others");
  }

  // "20" of "Linear_20" after "Linear_3": what a range of numbered names needs not say twice.
  static std::string_view beyond_stem(std::string_view first, std::string_view last) {
    constexpr std::string_view kDigits = "0123456789";
    const std::size_t stem = last.find_last_not_of(kDigits) + 1;
    return first.find_last_not_of(kDigits) + 1 == stem && first.starts_with(last.substr(0, stem)) ? last.substr(stem) : last;
  }

  // The names of the last of `wrappers` + 1 modules, each in the one before it, outermost first.
  std::vector<std::string_view> chain(profile::ModuleId innermost, std::size_t wrappers) const {
    std::vector<std::string_view> names;
    for (; names.size() <= wrappers && innermost.valid(); innermost = profile_.at(innermost).parent) {
      names.insert(names.begin(), profile::last_name(profile_.at(innermost)));
    }
    return names;
  }

  std::string label(const Fold& row) const {
    const profile::Module& module = profile_.at(row.modules.front());
    const std::vector<std::string_view> names = chain(row.modules.front(), row.wrappers.size());
    const std::vector<std::string_view> last = chain(row.modules.back(), row.wrappers.size());
    std::string path;
    for (std::size_t at = 0; at < names.size(); ++at) {
      path.append(at > 0 ? "/" : "").append(names[at]);
      if (at < last.size() && names[at] != last[at]) path.append("…").append(beyond_stem(names[at], last[at]));
    }
    const std::string_view first = names.back();
    const bool names_its_class = first == module.class_name || profile::class_of_instance(first) == module.class_name;  // "Linear_3"
    if (!names_its_class && !module.class_name.empty()) path += "  " + module.class_name;
    return path;
  }

  struct ModuleRow {
    std::string label, numbers;
    bool small = false;
  };

  void branch(const Fold& row, std::size_t depth, std::vector<ModuleRow>& rows) const {
    const std::string indent(std::min<std::size_t>(depth, 40) * 2 + 2, ' ');
    const bool known = std::ranges::any_of(row.modules, [&](profile::ModuleId id) { return profile_.at(id).backward_known; });
    std::string numbers = right(readable(row.forward), 10) + right(known ? readable(row.backward) : "unknown", 10) +
                          right(known ? percent(row.forward + row.backward, headline_whole(profile_)) : "unknown", 9);
    if (row.kind == Fold::Kind::small) {
      rows.push_back({indent + std::to_string(row.modules.size()) + " smaller", std::move(numbers), true});
      return;
    }
    std::string text = indent + shortened(label(row));
    const auto instances = static_cast<std::int64_t>(row.modules.size());
    if (instances > 1) text += " ×" + std::to_string(instances);
    if (row.calls > instances) text += instances > 1 ? ", " + std::to_string(row.calls) + " calls" : " ×" + std::to_string(row.calls);
    if (instances > 1) numbers += "   each " + readable(row.least) + " to " + readable(row.most) + ", median " + readable(row.middle);
    if (const Ns part = estimated(row); part > Ns{}) numbers += "   " + readable(part) + " of it estimated";
    if (const Ns again = recomputed(row); again > Ns{}) numbers += "   " + readable(again) + " of backward is recomputation";
    rows.push_back({std::move(text), std::move(numbers)});
    for (const Fold& child : row.children) branch(child, depth + 1, rows);
  }

  Ns estimated(const Fold& row) const {
    Ns sum{};
    for (const profile::ModuleId id : row.modules) {
      sum += profile_.shown(profile_.at(id).forward).estimated + profile_.shown(profile_.at(id).backward).estimated;
    }
    return sum;
  }

  Ns recomputed(const Fold& row) const {
    Ns sum{};
    for (const profile::ModuleId id : row.modules) {
      const profile::Times times = profile_.shown(profile_.at(id).backward);
      sum += device_ ? times.recompute_device : times.recompute_cpu;
    }
    return sum;
  }

  void kernels() {
    if (profile_.kernel_times.empty()) return;
    Ns whole{}, unknown{};
    for (const profile::KernelUse& use : profile_.kernel_times) {
      whole += use.time;
      if (profile_.kernels[use.kernel.index].parts.family == kernels::Family::other) unknown += use.time;
    }
    const std::string kinds = unknown > Ns{} ? ", " + percent(whole - unknown, whole) + " of a known kind" : "";
    title(std::string(device_ ? "Longest kernels" : "Longest operators") + ", shares of " + readable(whole) + " for all" + kinds);
    std::size_t shown = 0;
    for (const causes::LabelUse& row : causes::by_label(profile_, profile_.kernel_times)) {
      if (shown++ == kKernels) break;
      line("  " + left(shortened(row.label, 46) + " ×" + std::to_string(row.calls), kNameColumns - 2) + right(readable(row.time), 10) +
           right(percent(row.time, whole), 9));
    }
  }

  void verdict() {
    title("Verdict: " + harmless(profile_.verdict.kind) + (profile_.verdict.kind == "unclear" ? "" : "-bound"));
    for (const profile::Verdict::Evidence& evidence : profile_.verdict.evidence) {
      std::string row = "  " + left(harmless(evidence.what), 36) + right(readable(evidence.time), 10) +
                        right(percent(evidence.time, shown_step().wall), 9);
      if (!evidence.where.empty()) row.append("  ").append(shortened(evidence.where, 80));
      line(row);
    }
    if (device_) critical_path();
  }

  // What the verdict is judged by: a device may be busy most of the time and yet wait for the host at every turn.
  void critical_path() {
    Ns whole{};
    for (const Ns time : profile_.critical) whole += time;
    std::string row = "  critical path:";
    for (std::size_t cause = 0; cause < profile::kCauses; ++cause) {
      if (profile_.critical[cause] < whole / 100 || profile_.critical[cause] <= Ns{}) continue;
      row.append(row.ends_with(':') ? " " : ", ").append(name(static_cast<profile::Cause>(cause))).append(" ");
      row.append(percent(profile_.critical[cause], whole));
    }
    if (whole > Ns{}) dim(row);
  }

  void warnings() {
    if (profile_.warnings.empty()) return;
    title("Warnings");
    for (const Issue& issue : profile_.warnings) {
      std::string row = "  " + harmless(issue.message);
      if (issue.count > 1) row.append(" (").append(std::to_string(issue.count)).append(" times)");
      line(row);
    }
  }

  const profile::Profile& profile_;
  TextOptions options_;
  const Beside& beside_;
  format::Style style_;
  bool device_;
  std::string out_;
};

}  // namespace

std::string report_text(const profile::Profile& profile, const TextOptions& options, const Beside& beside) {
  return TextWriter(profile, options, beside).write();
}

}  // namespace hotlens::report
