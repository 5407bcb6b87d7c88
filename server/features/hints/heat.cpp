#include "server/features/hints/heat.h"

namespace hotlens::features {

int heat_level(double share) {
  constexpr double kStrong = 0.2, kMiddle = 0.05;
  if (share >= kStrong) return 3;
  return share >= kMiddle ? 2 : 1;
}

std::vector<Heat> heat(const FileView& view, double min_share, HintMemory& memory) {
  std::vector<Heat> marks;
  for (const Hint& hint : inlay_hints(view, {}, {.min_share = min_share, .tooltips = false}, memory)) {
    // Not of start-up, nor of what another line counts.
    if (hint.share > 0 && hint.share >= min_share) marks.push_back({hint.at.line, heat_level(hint.share), hint.share});
  }
  return marks;
}

}  // namespace hotlens::features
