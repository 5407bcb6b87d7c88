#include "server/text/words.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "annotator/common/format.h"

namespace hotlens::text {

using format::readable;

std::string signed_time(Ns time) {
  return (time < Ns{} ? "-" : "+") + readable(std::chrono::abs(time));
}

std::string difference(Ns before, Ns after) {
  const Ns more = after - before;
  if (before <= Ns{}) return signed_time(more);
  const double share = 100 * std::abs(static_cast<double>(more.count())) / static_cast<double>(before.count());
  return fmt::format("{} ({}{:.{}f} %)", signed_time(more), more < Ns{} ? "-" : "+", share, share < 9.95 ? 1 : 0);
}

std::string spaced(std::string_view identifier) {
  std::string words(identifier);
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string name_of(const features::ShownTrack& track, const features::ShownBlock& block) {
  const std::string& label = track.labels[block.label];
  return block.kind == "merged" ? fmt::format("{} blocks, the largest {}", block.count, label) : label;
}

std::string busy_of(const features::ShownBlock& block) {
  const auto part = [&](Ns time, double least) {
    return static_cast<double>(time.count()) > least * static_cast<double>(block.busy.count());
  };
  const std::string of = part(block.whole, 1.005) ? " of " + readable(block.whole) : "";
  const bool waits = block.kind != "wait" && block.stage != "waiting" && part(block.waiting, 0.1);
  const std::string waiting = !waits ? "" : part(block.waiting, 0.995) ? ", all waiting" : ", " + readable(block.waiting) + " waiting";
  return readable(block.busy) + of + waiting;
}

}  // namespace hotlens::text
