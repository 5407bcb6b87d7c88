// Tensors that a program lets go: where an edit leaves them to be let go at another time.
#pragma once

#include <algorithm>
#include <vector>

#include "annotator/lab/program/program.h"

namespace hotlens::lab {

Operator release(const std::vector<TensorId>& ids);

// The first place from here on that lets nothing go.
std::size_t after_releases(const Program& program, std::size_t place);

// Whether anything is left to let go.
template <class Keeps>
bool keep_only(Operator& release, const Keeps& keeps) {
  std::erase_if(release.args, [&](const Value& value) { return !keeps(std::get<TensorRef>(value.is).id); });
  return !release.args.empty();
}

// What releases from `end` on to `place` let go and operators [begin, end) do not have is let go after [place, place + more): a function
// around them returned, and those come before it does.
void postpone_others(Program& program, std::size_t begin, std::size_t end, std::size_t place, std::size_t more);

// Tensors that the list lets go right before a backward pass, when only the graph kept them: let go after their last use or their last name
// instead, as Python did.
void release_after_last_use(Program& program);

}  // namespace hotlens::lab
