// The same tensor under the same number in two recordings.
//
// The recorder numbers what exists before a step as Python lists its objects, which is not the same order in every process. What operators
// use is paired by the order of its first use, the rest (held or let go, never used) by what it is.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace hotlens::lab {

// `other` with the numbers of `measured` for the tensors and storages from before the step. Both are unchanged where they have no equal
// number of tensors: join() says that. Throws json::exception for what is no program.
nlohmann::json with_numbers_of(const nlohmann::json& measured, nlohmann::json other);

}  // namespace hotlens::lab
