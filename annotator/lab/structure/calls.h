// Calls of modules in a program: which operators they are, and which tensor goes through.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

#include "annotator/lab/structure/draft.h"

namespace hotlens::lab {

// Operators [begin, end), from the first of the library to after the last.
struct Call {
  std::size_t begin = 0, end = 0;
};

// Of a module and what is below it, in order. Calls of a module with modules below that follow each other directly are one.
std::vector<Call> calls_of(const Program& program, const std::string& path);

// Whether its result lies in the memory of what it takes first.
bool is_view(const Operator& op);

// Of a tensor as the operators before this place leave it, as recorded; null where it is not known.
const std::vector<Whole>* shape_of(const Draft& draft, TensorId id, std::size_t before);

// The one tensor that goes in and the one that comes out: `in` where the call works in place. Of several that go in the one as large as
// what comes out, where the others (a mask, edges of a graph) can be the same for one layer more or fewer. The error: which it is cannot
// be told.
struct Through {
  TensorId in = kNoTensor, out = kNoTensor;
};
std::expected<Through, std::string> through(const Draft& draft, const Call& call);

// All that goes in but parameters and buffers, in the order of use, and all that others use of what comes out, in the order in which it is
// made.
struct Passing {
  std::vector<TensorId> in, out;
};
Passing passing(const Draft& draft, const Call& call);

// Operators of a new call, and what they give.
struct Called {
  std::vector<Operator> operators;
  TensorId out = kNoTensor;
};

// The operators of a call in `from` once more, with their releases, on other tensors; what they make is fresh in `draft`, and in `ids`.
std::vector<Operator> copied(const Draft& from, Draft& draft, const Call& call, Ids& ids);

}  // namespace hotlens::lab
