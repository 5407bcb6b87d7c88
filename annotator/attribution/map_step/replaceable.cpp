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
  made_alike_.resize(incomplete.size(), !modules.definition.empty());
  std::vector<std::uint32_t> definition(incomplete.size(), kNothing);
  for (std::size_t module = 0; module < modules.definition.size(); ++module) {
    const auto group = incomplete.find({modules.module_parent[module], modules.module_class[module]});
    if (group == incomplete.end()) continue;
    std::uint32_t& first = definition[group->second];
    if (first == kNothing) first = modules.definition[module];
    if (first != modules.definition[module]) made_alike_[group->second] = false;
  }
}

void Replaceable::see(const Chains& calls, std::uint32_t call) {
  for (; call != kNothing; call = calls.parent[call]) {
    const std::uint32_t module = calls.value[call];
    if (module < group_.size() && group_[module] != kNothing) changes_[group_[module]] = true;
  }
}

template <class Counts>
std::uint32_t Replaceable::around_where(const Chains& calls, std::uint32_t call, Counts counts) const {
  std::uint32_t sure = call;
  for (; call != kNothing; call = calls.parent[call]) {
    const std::uint32_t module = calls.value[call];
    if (module < group_.size() && group_[module] != kNothing && counts(group_[module])) sure = calls.parent[call];
  }
  return sure;
}

std::uint32_t Replaceable::around(const Chains& calls, std::uint32_t call) const {
  return around_where(calls, call, [&](std::uint32_t group) { return changes_[group]; });
}

std::uint32_t Replaceable::around_others(const Chains& calls, std::uint32_t call) const {
  return around_where(calls, call, [&](std::uint32_t group) { return changes_[group] && !made_alike_[group]; });
}

}  // namespace hotlens::attribution
