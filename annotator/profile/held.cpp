// Sums of what is held.
#include "annotator/profile/held.h"

#include <algorithm>
#include <numeric>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

std::string_view name(Holding holding) {
  constexpr std::array<std::string_view, kHoldings> kNames = {"weights", "gradients", "optimizer", "activations", "workspace", "data"};
  return kNames[static_cast<std::size_t>(holding)];
}

Holdings operator+(const Holdings& a, const Holdings& b) {
  Holdings sum{};
  std::ranges::transform(a, b, sum.begin(), [](Bytes one, Bytes other) { return one + other; });
  return sum;
}

Holdings held_at_peak(const Profile& profile) {
  Holdings all{};
  for (const Module& module : profile.modules) all = all + module.memory.at_peak;
  for (const Holdings& stage : profile.at_peak.stages) all = all + stage;
  return all;
}

Bytes sum(const Holdings& holdings) {
  return std::accumulate(holdings.begin(), holdings.end(), Bytes{});
}

Bytes held_at_peak(const Profile& profile, ModuleId module) {
  Bytes all = sum(profile.at(module).memory.at_peak);
  for (std::size_t at = module.index + 1; at < profile.modules.size(); ++at) {  // what is below a module follows it
    const ModuleId parent = profile.modules[at].parent;
    if (!parent.valid() || parent < module) break;
    all = all + sum(profile.modules[at].memory.at_peak);
  }
  return all;
}

}  // namespace hotlens::profile
