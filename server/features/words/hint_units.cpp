#include "server/features/words/hint_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "annotator/common/format.h"
#include "annotator/profile/profile.h"

namespace hotlens::features {
namespace {

constexpr std::array<std::string_view, 4> kNames{"time", "share", "memory", "throughput"};

// Modules that the line makes or calls; of a stage what it holds itself, where its time is shown too.
Bytes held_at_peak(const LineSummary& summary, const profile::Profile& profile) {
  Bytes held{};
  if (summary.subject != Subject::stage) {
    for (const profile::ModuleId module : outermost(profile, summary.modules)) held = held + profile::held_at_peak(profile, module);
    return held;
  }
  for (const StagePart& part : summary.stages) {
    if (part.counted_at.empty()) held = held + profile::sum(profile.at_peak.stages[static_cast<std::size_t>(part.stage)]);
  }
  return held;
}

std::string memory(const LineSummary& summary, const profile::Profile& profile, double min_share) {
  const Bytes held = held_at_peak(summary, profile);
  const double part =
      profile.at_peak.total > Bytes{} ? static_cast<double>(count(held)) / static_cast<double>(count(profile.at_peak.total)) : 0;
  return held > Bytes{} && part >= min_share ? format::readable(held) + " " + format::share(part) : "";
}

std::string throughput(const LineSummary& summary, const profile::Profile& profile) {
  if (!profile.samples_per_step) return "";
  const double seconds = std::chrono::duration<double>(summary.value).count();
  const double per_second = static_cast<double>(*profile.samples_per_step) / seconds;
  const int digits = per_second < 100 ? 2 - static_cast<int>(std::floor(std::log10(std::max(per_second, 0.01)))) : 0;
  return fmt::format("{:.{}f}/s", per_second, std::clamp(digits, 0, 2));
}

}  // namespace

std::string_view name(HintUnit unit) {
  return kNames[static_cast<std::size_t>(unit)];
}

std::optional<HintUnit> unit_named(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  return found == kNames.end() ? std::nullopt : std::optional(static_cast<HintUnit>(found - kNames.begin()));
}

HintUnit after(HintUnit unit) {
  return static_cast<HintUnit>((static_cast<std::size_t>(unit) + 1) % kNames.size());
}

std::string number_in(HintUnit unit, const LineSummary& summary, const profile::Profile& profile, double min_share) {
  if (unit == HintUnit::memory) return memory(summary, profile, min_share);
  const double part = share(summary, profile);
  if (summary.value <= Ns{} || part < min_share) return "";
  if (unit == HintUnit::throughput) return throughput(summary, profile);
  return format::share(part) + (summary.times > 1 ? fmt::format(" ×{}", summary.times) : "");
}

}  // namespace hotlens::features
