#include <algorithm>

#include "annotator/profile/columns.h"
#include "annotator/profile/report.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

constexpr double kSmallestShare = 0.005;  // of the step; smaller modules are summed up in one row
constexpr std::size_t kLongestName = 60;

struct Style {
  std::string_view bold, dim, off;
};
constexpr Style kPlain{"", "", ""};
constexpr Style kColor{"\x1b[1m", "\x1b[2m", "\x1b[0m"};

std::string last_part(const Module& module) {
  const std::size_t cut = module.path.find_last_of("./");
  const std::string part = cut == std::string::npos ? module.path : module.path.substr(cut + 1);
  return part.empty() ? module.class_name : part + "  " + module.class_name;
}

class Writer {
 public:
  Writer(const Profile& profile, const Style& style) : profile_(profile), style_(style) {}

  std::string write() && {
    heading();
    stages();
    buckets();
    modules();
    verdict();
    warnings();
    return std::move(out_);
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void title(std::string_view text) { out_.append("\n").append(style_.bold).append(text).append(style_.off).append("\n"); }

  void heading() {
    line(std::string(style_.bold) + harmless(profile_.source) + std::string(style_.off));
    std::string facts =
        std::to_string(profile_.steps.size()) + (profile_.steps.size() == 1 ? " step" : " steps") + " of " + readable(profile_.step_wall());
    if (profile_.plain_step) facts += ", " + readable(*profile_.plain_step) + " without the profiler";
    if (!profile_.torch.empty()) facts += ", torch " + harmless(profile_.torch);
    if (!profile_.devices.empty()) facts += ", " + harmless(profile_.devices.back().name);
    line(facts);
    if (std::ranges::any_of(profile_.steps, &Step::outlier)) {
      for (const Step& step : profile_.steps) {
        if (step.outlier) line("step " + std::to_string(step.index) + " took " + readable(step.wall) + ", unlike the others");
      }
    }
  }

  void stages() {
    title("Stages");
    const bool device = profile_.has_device();
    for (const StageTimes& stage : profile_.stages) {
      if (stage.stage == Stage::other) continue;
      std::string row = "  " + left(std::string(name(stage.stage)), 22) + right(readable(median(stage.wall)), 10) +
                        right(percent(median(stage.wall), profile_.step_wall()), 9);
      if (device) row += right(readable(median(stage.device)), 10) + " device";
      line(row);
    }
  }

  // Of the representative step, so that the rows add up.
  void buckets() {
    title("Where the time of step " + std::to_string(profile_.steps[profile_.representative].index) + " goes");
    const Step& step = profile_.steps[profile_.representative];
    for (const BucketTimes& bucket : profile_.buckets) {
      const Ns wall = bucket.wall[profile_.representative];
      const Ns device = bucket.device[profile_.representative];
      if (wall == Ns{} && device == Ns{}) continue;
      std::string row = "  " + left(std::string(name(bucket.bucket)), 22) + right(readable(wall), 10) + right(percent(wall, step.wall), 9);
      if (step.device > Ns{}) row += right(readable(device), 10) + " device";
      line(row);
    }
    line(std::string(style_.dim) + "  " + left("step", 22) + right(readable(step.wall), 10) + std::string(style_.off));
  }

  void modules() {
    if (profile_.modules.empty()) return;
    title("Modules");
    line("  " + left("", 52) + right("forward", 10) + right("backward", 10) + right("share", 9));
    for (std::uint32_t module = 0; module < profile_.modules.size(); ++module) {
      if (!profile_.modules[module].parent.valid()) branch(ModuleId{module}, 0);
    }
  }

  Ns shown(const PerStep& steps) const { return headline(median(steps), profile_.has_device()); }
  Ns whole(const Module& module) const { return shown(module.forward) + shown(module.backward); }

  void branch(ModuleId id, std::size_t depth) {
    const Module& module = profile_.at(id);
    std::string label = std::string(depth * 2 + 2, ' ') + short_name(last_part(module), kLongestName);
    if (module.calls > 1) label += " ×" + std::to_string(module.calls);
    line(left(label, 54) + right(readable(shown(module.forward)), 10) + right(readable(shown(module.backward)), 10) +
         right(percent(whole(module), profile_.step_wall()), 9));
    std::size_t small = 0;
    Ns rest{};
    for (const ModuleId child : module.children) {
      const Ns time = whole(profile_.at(child));
      if (static_cast<double>(time.count()) >= kSmallestShare * static_cast<double>(profile_.step_wall().count())) {
        branch(child, depth + 1);
      } else {
        ++small;
        rest += time;
      }
    }
    if (small == 0) return;
    const std::string note = std::string(depth * 2 + 4, ' ') + "and " + std::to_string(small) + " smaller";
    line(std::string(style_.dim) + left(note, 54) + right(readable(rest), 20) + right(percent(rest, profile_.step_wall()), 9) +
         std::string(style_.off));
  }

  void verdict() {
    title("Verdict: " + harmless(profile_.verdict.kind) + (profile_.verdict.kind == "unclear" ? "" : "-bound"));
    for (const Verdict::Evidence& evidence : profile_.verdict.evidence) {
      std::string row = "  " + left(harmless(evidence.what), 30) + right(readable(evidence.time), 10);
      if (!evidence.where.empty()) row.append("  ").append(harmless(evidence.where));
      line(row);
    }
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

  const Profile& profile_;
  Style style_;
  std::string out_;
};

}  // namespace

std::string report_text(const Profile& profile, bool color) {
  return Writer(profile, color ? kColor : kPlain).write();
}

}  // namespace hotlens::profile
