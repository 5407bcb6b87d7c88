// Recordings of one script at several batch sizes, or with several values of another number, as one program in which every whole number
// follows that number.
//
// A number that is the same in two is a constant; one that differs lies on the straight line through the two. Of three recordings what is
// on no line is on the parabola through them: a mask has as many elements as a sequence has pairs. Which tensor is meant, which
// operator, which truth value must be the same: else the script does something else at another batch size, and nothing can be said.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "annotator/common/error.h"

namespace hotlens::lab {

struct Recording {
  const nlohmann::json& document;  // program.json
  std::int64_t batch = 0;          // or the other number's value
};

// The document of `measured` with lines in place of numbers, for decode(). When tensors are let go is taken from `measured`: it follows
// Python's own time. The error names the first difference.
Result<nlohmann::json> join(const Recording& measured, const Recording& other);

// By a number that is called `number` in the script.
Result<nlohmann::json> join(const Recording& measured, const Recording& second, const Recording& third, const std::string& number);

}  // namespace hotlens::lab
