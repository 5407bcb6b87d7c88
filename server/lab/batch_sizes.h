// Predictions for other batch sizes, from a profile and another one of the same script at a second size; or for other values of another
// number, from a profile that has its step with several.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/predict/batch_sizes.h"

namespace hotlens::lab {

struct Ask {
  std::filesystem::path bundle;
  std::vector<std::int64_t> batches;
  std::optional<Bytes> memory;                  // that there is; nothing: what the device or this machine has
  std::filesystem::path python;                 // whose torch replays
  std::string number = {};                      // whose values `batches` are, where it is not the batch size
  bool quick = false;                           // a moment of replays: somebody is typing
  std::function<void(const std::string&)> say;  // what takes long, for people
};

// The error: nothing can be predicted from this profile, and why. A single size that cannot be is in `refused`.
Result<BatchSizes> predict_batch_sizes(const Ask& ask);

}  // namespace hotlens::lab
