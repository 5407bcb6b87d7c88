// The critical path of a step: at every instant the one thing that, had it been shorter, would have let the run end sooner.
//
// Followed backwards from the end of the last step, so that a device which merely runs some time behind the host does not count as late:
// from device work to what it had to wait for (the work before it on its stream, or its launch when that came later, or other work that
// ended just then), from host time to the host time before it, and from a host that waits for the device to the device work whose end
// released it. A host that keeps a full queue is thus never on the path, and neither is a device that idles between late launches. Without
// device work the path is the main thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "annotator/attribution/account/account.h"

namespace hotlens::causes {

struct PathPart {
  enum class On : std::uint8_t {
    host,     // `piece`; null between two steps
    device,   // `at`: Account::work
    latency,  // the launch, and until its work starts where that is soon and its stream is free; `at`: the work
    queue,    // the work was launched, nothing ran, and it did not begin yet; `at`: the work
  };
  Ns start{}, end{};
  On on = On::host;
  std::uint32_t at = 0;
  const attribution::Piece* piece = nullptr;  // of StepAccount::wall, also of a later step where the host runs ahead
};

// Covers the step's window exactly, in order. Cost: O((pieces + work) log work) of this step and those after it.
std::vector<PathPart> critical_path(const attribution::Account& account, std::size_t step);
// The same from the window of the first step to that of the last.
std::vector<PathPart> critical_path_of_all(const attribution::Account& account);

// What ran there: the device work, also where it is waited for, or the innermost operator or call of the host; empty outside all.
std::string_view name_of(const PathPart& part, const trace::Trace& trace, const attribution::Forest& forest,
                         const attribution::Account& account);
// "host", "device", "launch", "queue".
std::string_view word(PathPart::On on);

}  // namespace hotlens::causes
