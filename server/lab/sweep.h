// Several models of a script as one, measured in a process of the script's own (annotator/advice/sweep).
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "annotator/advice/sweep/sweep.h"
#include "annotator/common/error.h"

namespace hotlens::lab {

struct SweepAsk {
  std::filesystem::path bundle, python;
  std::vector<std::int64_t> models;
  std::chrono::seconds limit{};
  std::function<void(const std::string&)> say;  // for people: how it goes
};

// Runs the user's script until its second update. The error: why it cannot be run again, or how it failed.
Result<sweep::Trial> try_sweep(const SweepAsk& ask);

}  // namespace hotlens::lab
