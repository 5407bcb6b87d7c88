#include "annotator/attribution/owners/parts.h"

namespace hotlens::attribution {

Parts::Parts(const ModuleMap& map, Owners& owners) : map_(map), owners_(owners) {
  if (map.parts.empty()) return;
  for (std::uint32_t module = 0; module < map.path.size(); ++module) by_path_.try_emplace(map.path[module], module);
}

// torch.compile puts a wrapper around a model: the code is called by one of the two.
std::uint32_t Parts::module_of(std::uint32_t base, const PartModule& part) const {
  if (base < map_.path.size() && !part.inside.empty()) {
    const std::string& own = map_.path[base];
    const std::string around = own.empty() ? own : own + ".";
    for (const std::string& prefix : {around, around + "_orig_mod."}) {
      if (const auto found = by_path_.find(prefix + part.inside); found != by_path_.end()) return found->second;
    }
  }
  return part.module < map_.path.size() ? part.module : kNothing;
}

std::uint32_t Parts::call_of(std::uint32_t call, const PartShare& share, Ns start, bool again) {
  const std::uint32_t base = call == kNothing ? kNothing : owners_.calls.value[call];
  for (const PartModule& each : share.modules) {
    const std::uint32_t module = module_of(base, each);
    if (module == kNothing || (call != kNothing && owners_.calls.value[call] == module)) continue;
    const auto [known, fresh] = calls_.try_emplace({call, module}, kNothing);
    if (fresh) known->second = owners_.calls.add(call, module, start, again);
    call = known->second;
  }
  return call;
}

std::uint32_t Parts::line_of(std::uint32_t line, const PartShare& share, Ns start) {
  for (const std::uint32_t each : share.lines) {
    if (each >= map_.lines) continue;
    const auto [known, fresh] = lines_.try_emplace({line, each}, kNothing);
    if (fresh) known->second = owners_.lines.add(line, each, start, false);
    line = known->second;
  }
  return line;
}

void Parts::enter(std::uint32_t part, Ns start, Owner& owner) {
  if (part >= map_.parts.size() || map_.parts[part].empty()) return;
  const bool forward = owner.direction == Direction::forward;
  std::vector<Share> shares;
  for (const PartShare& each : map_.parts[part]) {
    Share share{
        .call = call_of(owner.call, each, start, !forward), .line = owner.line, .made_line = owner.made_line, .weight = each.weight};
    (forward ? share.line : share.made_line) = line_of(forward ? owner.line : owner.made_line, each, start);
    shares.push_back(share);
  }
  owner.call = shares.front().call;
  owner.line = shares.front().line;
  owner.made_line = shares.front().made_line;
  for (const Share& share : shares) {
    owner.call = owners_.calls.common(owner.call, share.call);
    owner.line = owners_.lines.common(owner.line, share.line);
    owner.made_line = owners_.lines.common(owner.made_line, share.made_line);
  }
  if (shares.size() < 2) return;
  owner.split = static_cast<std::uint32_t>(owners_.splits.size());
  owners_.splits.push_back(std::move(shares));
}

}  // namespace hotlens::attribution
