// What every prediction asks first: is there a worker with the torch that recorded the step, and does it make the same step again?
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "annotator/common/error.h"
#include "annotator/lab/predict/batch_sizes.h"

namespace hotlens::lab {

// As worker_for(), for this version of torch alone.
Result<std::filesystem::path> worker_that_recorded(const std::string& torch, const std::filesystem::path& python,
                                                   const std::function<void(const std::string&)>& say);

// Why nothing is predicted: the unchanged step could not be replayed, or was another one than the recorded.
Error unreplayable(const Refusal& refusal);
Error fails_self_check(const SelfCheck& check);

}  // namespace hotlens::lab
