// What every prediction asks first: is there a worker with the torch that recorded the step, and does it make the same step again?
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "annotator/common/error.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/lab/predict/recorded.h"

namespace hotlens::lab {

// As worker_for(), for this version of torch alone.
Result<std::filesystem::path> worker_that_recorded(const std::string& torch, const std::filesystem::path& python,
                                                   const std::function<void(const std::string&)>& say);

// Why nothing is predicted: the unchanged step could not be replayed, or was another one than the recorded.
Error unreplayable(const Refusal& refusal);
Error fails_self_check(const SelfCheck& check);

constexpr std::chrono::milliseconds kLongest{120'000};  // what takes longer for the fewest rounds is not tried

// The same while somebody types.
constexpr std::chrono::milliseconds kLongestQuick{60'000};
constexpr const char* kTooLongToType = "the step takes too long to be replayed while typing: hotlens predict --edited";

// How often a step is replayed to be timed: as often as `within` allows.
struct Rounds {
  int least = 1, most = 1;
  std::chrono::milliseconds within;

  int of(std::chrono::duration<double, std::milli> one) const {
    return static_cast<int>(std::clamp(within / one, double(least), double(most)));
  }
};

// What a worker may take. On a CPU a share of what is left; a GPU's memory is not counted here.
struct Room {
  std::size_t bytes = 0;
  bool on_cpu = true;
};
Room room_for(const Recorded& recorded);
// Why a step that needs so much is not tried; empty: it is.
std::string too_large(const Room& room, double needed_bytes);
// The same for one whose fewest rounds take so long.
std::string too_slow(std::chrono::duration<double, std::milli> needed);

}  // namespace hotlens::lab
