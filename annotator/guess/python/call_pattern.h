// The calls that a function's body can make, and in which order: a small automaton.
//
// Branches, loops and early returns are edges; what a call calls is a set of values. align() tells which calls of the body a recorded
// sequence of calls can have come from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "annotator/guess/python/value.h"

namespace hotlens::guess {

struct PatternCall {
  Node site;  // the call expression
  ValueId callee = kUnknown;
  bool likely = false;  // what is called is an object in every case: probably a module, which leaves a trace when it is called
};

struct Pattern {
  struct Edge {
    std::uint32_t from = 0, to = 0;
    std::int32_t call = -1;   // into calls; -1: nothing is called
    std::int32_t skips = -1;  // the call that this edge leaves out
  };
  std::vector<PatternCall> calls;
  std::vector<Edge> edges;
  std::uint32_t states = 2;  // 0 begins, 1 ends
};

// Whether `call` can be what the token at this position records.
using Accepts = std::function<bool(std::uint32_t call, std::size_t token)>;

// For every token the calls it can have come from on some way from begin to end; nothing when no way fits or the
// sequence is beyond all measure. Cost: tokens × edges.
std::optional<std::vector<std::vector<std::uint32_t>>> align(const Pattern& pattern, std::size_t tokens, const Accepts& accepts);

}  // namespace hotlens::guess
