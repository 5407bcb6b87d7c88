#include "annotator/profile/main_model.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace hotlens::profile {
namespace {

using Costs = std::vector<std::pair<std::string, Ns>>;

// torch's lists of modules, which nobody calls: it is what they hold that runs.
bool is_list(const Module& module) {
  return module.class_name == "ModuleDict" || module.class_name == "ModuleList";
}

bool in_workspace(const Profile& profile, const std::optional<Site>& site) {
  return site && profile.files[site->file.index].workspace;
}

bool is_made_by_script(const Profile& profile, const Module& module) {
  return in_workspace(profile, module.constructed ? module.constructed : module.attached);
}

Ns cost_of(const Profile& profile, const Module& module) {
  return profile.shown(headlines(module, profile.has_device()));
}

// Its only child, where that takes most of it, or the one of several that takes nearly all of it; null where there is none.
const Module* dominant_child(const Profile& profile, const Module& module) {
  const std::int64_t tenths = module.children.size() == 1 ? 5 : 9;
  for (const ModuleId id : module.children) {
    if (const Module& child = profile.at(id); cost_of(profile, child) * 10 >= cost_of(profile, module) * tenths) return &child;
  }
  return nullptr;
}

// What a package puts around a model of the script's, and a loss that calls the model which it is given.
const Module& unwrapped(const Profile& profile, const Module& module) {
  const bool loss = module.class_name.ends_with("Loss");
  if (in_workspace(profile, module.class_site) || (is_made_by_script(profile, module) && !loss)) return module;
  const Module* inner = dominant_child(profile, module);
  while (inner != nullptr && !is_made_by_script(profile, *inner)) inner = dominant_child(profile, *inner);
  return inner != nullptr && !is_list(*inner) ? *inner : module;
}

void add(const Profile& profile, const Module& module, Costs& costs) {
  if (is_list(module)) {
    for (const ModuleId child : module.children) add(profile, profile.at(child), costs);
    return;
  }
  const Module& named = unwrapped(profile, module);
  const std::string& name = named.class_name.empty() ? named.path : named.class_name;
  auto cost = std::ranges::find(costs, name, &Costs::value_type::first);
  if (cost == costs.end()) cost = costs.insert(costs.end(), {name, Ns{}});
  cost->second += cost_of(profile, module);
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
