#include "annotator/profile/main_model.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hotlens::profile {
namespace {

using Costs = std::vector<std::pair<std::string, Ns>>;

// torch's lists of modules, which nobody calls: it is what they hold that runs.
bool is_list(const Module& module) {
  return module.class_name == "ModuleDict" || module.class_name == "ModuleList";
}

void add(const Profile& profile, const Module& module, Costs& costs) {
  if (is_list(module)) {
    for (const ModuleId child : module.children) add(profile, profile.at(child), costs);
    return;
  }
  const std::string& name = module.class_name.empty() ? module.path : module.class_name;
  auto cost = std::ranges::find(costs, name, &Costs::value_type::first);
  if (cost == costs.end()) cost = costs.insert(costs.end(), {name, Ns{}});
  cost->second += profile.shown(headlines(module, profile.has_device()));
}

}  // namespace

std::string main_model(const Profile& profile) {
  Costs costs;
  for (const Module& module : profile.modules) {
    if (!module.parent.valid()) add(profile, module, costs);
  }
  return costs.empty() ? "" : std::ranges::max(costs, {}, &Costs::value_type::second).first;
}

}  // namespace hotlens::profile
