#include "server/features/words/hover_table.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "annotator/profile/statistics.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

using profile::ModuleId;
using profile::Profile;

// Columns count characters, "µ" is two bytes: pad by hand.
std::string padded(const std::string& text, std::size_t width) {
  const std::size_t shown_width = format::width(text);
  return std::string(width > shown_width ? width - shown_width : 0, ' ') + text;
}

std::string table(const LineSummary& summary, const Profile& profile) {
  const profile::Times forward = profile.shown(summary.forward);
  const profile::Times backward = profile.shown(summary.backward);
  const auto line = [](std::string_view name, const std::string& a, const std::string& b) {
    return fmt::format("{:<8}", name) + padded(a, 10) + padded(b, 11) + "\n";
  };
  const bool known = std::ranges::all_of(summary.modules, [&](ModuleId id) { return profile.at(id).backward_known; });
  const auto spelled = [&](Ns time) { return known ? format::readable(time) : "unknown"; };
  std::string out = line("", "forward", "backward");
  out += line("CPU", format::readable(forward.cpu_total), spelled(backward.cpu_total));
  if (profile.has_device()) out += line("device", format::readable(forward.device), spelled(backward.device));
  return out;
}

// A difference that is more than rounding.
bool is_part(Ns part, Ns whole) {
  constexpr int kTelling = 50;
  return std::chrono::abs(whole - part) * kTelling > whole;
}

std::string stage_table(const LineSummary& summary, const Profile& profile) {
  std::string out;
  const auto row = [&](std::string_view title, Ns wall, Ns cpu, Ns device) {
    out += fmt::format("{:<11}", title) + padded(format::readable(wall), 9) + " wall" + padded(format::readable(cpu), 10) + " CPU";
    if (profile.has_device()) out += padded(format::readable(device), 10) + " device";
    out += '\n';
  };
  for (const StagePart& part : summary.stages) {
    std::string title(profile::name(part.stage));
    std::ranges::replace(title, '_', ' ');
    if (!part.counted_at.empty()) {
      out += fmt::format("{:<11}", title) + " not told apart: counted at " + plain(part.counted_at) + "\n";
      continue;
    }
    row(title, part.wall, part.cpu, part.device);
    const auto whole = std::ranges::find(profile.stages, part.stage, &profile::StageTimes::stage);
    if (whole == profile.stages.end()) continue;
    const Ns wall = profile.shown(whole->wall);
    if (is_part(part.wall, wall)) row("  of", wall, profile.shown(whole->cpu), profile.shown(whole->device));
  }
  return out;
}

}  // namespace

std::string table_words(const LineSummary& summary, const Profile& profile, bool markdown) {
  std::string numbers = summary.timed ? fmt::format("in the profiled step, {}\n", format::readable(profile.step_wall())) : "";
  numbers += summary.subject == Subject::stage ? stage_table(summary, profile) : table(summary, profile);
  if (!markdown) return numbers.substr(0, numbers.size() - 1);
  return "```text\n" + numbers + "```";
}

}  // namespace hotlens::features
