// A recorded step as a function of its batch size: two recordings of the script, joined.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "annotator/common/error.h"
#include "annotator/lab/predict/recorded.h"

namespace hotlens::lab {

struct Joined {
  Recorded measured, other;
  nlohmann::json document;
};

// The same step at another size: recorded into this profile, else the newest other profile beside it. The error says how to record one.
Result<Joined> with_second_size(const std::filesystem::path& bundle);

}  // namespace hotlens::lab
