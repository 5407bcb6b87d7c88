#include "annotator/attribution/map_step/replaceable.h"

#include <map>
#include <utility>

namespace hotlens::attribution {

Replaceable::Replaceable(const Chains& map_calls, const ModuleMap& modules) : group_(modules.module_class.size(), kNothing) {
  std::vector<bool> called(group_.size());
  for (std::size_t link = 0; link < map_calls.value.size(); ++link) {
    if (!map_calls.again[link] && map_calls.value[link] < called.size()) called[map_calls.value[link]] = true;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> incomplete;  // parent and class
  for (std::size_t module = 0; module < group_.size(); ++module) {
    const std::uint32_t parent = modules.module_parent[module];
    if (called[module] || parent == kNothing) continue;
    incomplete.try_emplace({parent, modules.module_class[module]}, static_cast<std::uint32_t>(incomplete.size()));
  }
  for (std::size_t module = 0; module < group_.size(); ++module) {
    const auto group = incomplete.find({modules.module_parent[module], modules.module_class[module]});
    if (called[module] && group != incomplete.end()) group_[module] = group->second;
  }
  changes_.resize(incomplete.size());
}

void Replaceable::see(const Chains& calls, std::uint32_t call) {
  for (; call != kNothing; call = calls.parent[call]) {
    const std::uint32_t module = calls.value[call];
    if (module < group_.size() && group_[module] != kNothing) changes_[group_[module]] = true;
  }
}

std::uint32_t Replaceable::around(const Chains& calls, std::uint32_t call) const {
  std::uint32_t sure = call;
  for (; call != kNothing; call = calls.parent[call]) {
    const std::uint32_t module = calls.value[call];
    if (module < group_.size() && group_[module] != kNothing && changes_[group_[module]]) sure = calls.parent[call];
  }
  return sure;
}

}  // namespace hotlens::attribution
