// hotlens-lab with a program loaded. One that crashed, or was stopped because it was late, costs the one answer: the next starts another.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "annotator/common/error.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "server/runs/conversation.h"

namespace hotlens::lab {

struct StepRequest {
  std::vector<std::int64_t> batches;  // take turns, step by step
  int rounds = 1;
  std::chrono::milliseconds budget{};  // no further round after it
  bool events = false;
  bool edited = false;                                // the edited program takes turns too
  bool alone = false;                                 // and only that
  bool warm = false;                                  // the first step of each is timed
  std::vector<std::vector<std::int64_t>> plans = {};  // numbers of checkpointed blocks; each takes turns, and has a Replays of its own
};

class Worker {
 public:
  // `memory`: bytes that the worker may take. `edited`: a second program; null where there is none.
  Worker(std::filesystem::path program, nlohmann::json document, std::size_t memory, nlohmann::json edited = nullptr)
      : program_(std::move(program)), document_(std::move(document)), edited_(std::move(edited)), memory_(memory) {}

  // Starts the process, which loads its libraries meanwhile.
  Result<void> begin();
  // A second program, before anything is asked.
  void add(nlohmann::json edited) { edited_ = std::move(edited); }

  // Sizes in the edited program follow its tensors; `what`: numbers and recorded ids (annotator/lab/FORMAT.md). The answer as it is.
  Result<nlohmann::json> follow(nlohmann::json what, std::int64_t batch, std::chrono::milliseconds budget);
  // One Replays for each batch size, followed by that of the edited program where it takes turns.
  std::expected<std::vector<Replays>, Refusal> step(const StepRequest& request);

 private:
  Result<void> start();
  Result<nlohmann::json> ask(const nlohmann::json& request, std::chrono::milliseconds within);

  std::filesystem::path program_;
  nlohmann::json document_, edited_;
  std::size_t memory_;
  std::optional<runs::Conversation> conversation_;
  bool loaded_ = false;  // it has its programs
};

}  // namespace hotlens::lab
