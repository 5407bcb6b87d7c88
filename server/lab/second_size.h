// A recorded step as a function of its batch size, or of another number of the script: several recordings, joined.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/lab/predict/recorded.h"

namespace hotlens::lab {

struct Joined {
  Recorded measured;
  std::vector<Recorded> others;
  nlohmann::json document;
};

// The same step at another size: recorded into this profile, else the newest other profile beside it. The error says how to record one.
Result<Joined> with_second_size(const std::filesystem::path& bundle);

// The same with other values of a number, recorded into this profile (`--vary`).
Result<Joined> with_other_values(const std::filesystem::path& bundle, const std::string& number);

}  // namespace hotlens::lab
