#include "annotator/attribution/map_step/worker_fetches.h"

#include <string_view>
#include <vector>

namespace hotlens::attribution {

void WorkerFetches::divide(std::string_view name, Owner& owner) {
  if (map_.fetches.empty() || owner.line == kNothing || !name.contains("_MultiProcessingDataLoaderIter")) return;
  const auto [known, fresh] = splits_.try_emplace(owner.line, kNothing);
  if (fresh) known->second = split_of(owner.line);
  owner.split = known->second;
}

std::uint32_t WorkerFetches::split_of(std::uint32_t around) {
  std::vector<Share> shares;
  double rest = 1;
  for (const FetchLines& stack : map_.fetches) {
    shares.push_back({.line = line_of(around, stack), .weight = stack.weight});
    rest -= stack.weight;
  }
  shares.push_back({.line = around, .weight = rest});
  owners_.splits.push_back(std::move(shares));
  return static_cast<std::uint32_t>(owners_.splits.size() - 1);
}

std::uint32_t WorkerFetches::line_of(std::uint32_t around, const FetchLines& stack) {
  for (const std::uint32_t line : stack.lines) {
    const auto [known, fresh] = lines_.try_emplace({around, line}, kNothing);
    if (fresh) known->second = owners_.lines.add(around, line, owners_.lines.start[around], false);
    around = known->second;
  }
  return around;
}

}  // namespace hotlens::attribution
