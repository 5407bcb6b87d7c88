// A change verified: the script is run before and after it, in pairs of fresh processes, until it is clear which one is faster.
//
// The edited text is used in memory; no file of the user's is written. What a run prints is not shown.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "annotator/advice/pairs.h"
#include "annotator/advice/suggestion.h"
#include "annotator/common/error.h"

namespace hotlens::lab {

struct VerifyAsk {
  std::filesystem::path bundle, python;
  std::vector<std::pair<std::filesystem::path, std::string>> texts;  // files as they are after the change
  std::vector<std::pair<std::string, std::string>> environment;      // variables that the change sets
  std::chrono::seconds limit{};                                      // no further pair after it
  std::optional<double> losses_within;                               // relative; absent: the change may alter them
  std::chrono::seconds startup{};                                    // what the change may add to that of a run
  std::function<void(const std::string&)> say;                       // for people: first how long it takes
  std::function<bool()> stopped = [] { return false; };              // somebody does not want it any more; asked all the time
};

struct Verified {
  advice::Measured measured;
  advice::Losses losses = advice::Losses::unknown;
  Ns before{};  // a step of the first run before the change
  Ns longer{};  // how much longer the first run with it took to start; nothing where that is little
};

// How long it takes, as far as the profile tells; the error: why it cannot be run again.
Result<advice::Duration> verification_time(const std::filesystem::path& bundle);

// The error: why it cannot be run again, or how a run failed.
Result<Verified> verify(const VerifyAsk& ask);

}  // namespace hotlens::lab
