// What a step makes of one parameter outside of the modules: its states, its gradient, what is computed from them for it alone.
#pragma once

#include <expected>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/structure/draft.h"

namespace hotlens::lab {

// Operators [begin, end) that work for the parameter alone. `left`: what they make and do not let go; `found`: what they let go and did not
// make, as a variable of a loop holds the value of the parameter before.
struct Run {
  std::size_t begin = 0, end = 0;
  std::vector<TensorId> left, found;
};

struct Family {
  TensorId parameter = kNoTensor;
  std::set<TensorId> ids;
  std::vector<Run> runs;
  bool steady() const;  // each run finds as much as it leaves
};

// Whether the value is one of the family's.
bool belongs(const Family& family, const Value& value);

// States and gradients that exist before the step, by what they are: "exp_avg of ".
std::multimap<std::string, TensorId> owned_by(const Draft& draft, TensorId parameter);

// The error: something else than the update, its gradients and lists of them works with it.
std::expected<Family, std::string> family_of(const Draft& draft, TensorId parameter);

}  // namespace hotlens::lab
