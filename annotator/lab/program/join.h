// Two recordings of one script at two batch sizes, as one program in which every whole number follows the batch size.
//
// A number that is the same in both is a constant; one that differs lies on the straight line through the two. Which tensor is meant, which
// operator, which truth value must be the same: else the script does something else at another batch size, and nothing can be said.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "annotator/common/error.h"

namespace hotlens::lab {

struct Recording {
  const nlohmann::json& document;  // program.json
  std::int64_t batch = 0;
};

// The document of `measured` with lines in place of numbers, for decode(). When tensors are let go is taken from `measured`: it follows
// Python's own time. The error names the first difference.
Result<nlohmann::json> join(const Recording& measured, const Recording& other);

}  // namespace hotlens::lab
