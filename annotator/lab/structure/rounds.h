// A loop that does more with each layer than hand on what it gives: `x = x + drop(layer(norm(x)))`.
//
// A round is what runs after the layers of the round before, and its own layers. Rounds are alike but for their layers, and each takes from
// the one before it alone: one more is a copy, one fewer leaves the others as they are. Both are checked in the recorded operators.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/structure/calls.h"

namespace hotlens::lab {

struct Round {
  std::vector<Call> before, calls;  // what runs before each call; nothing before the first of all
  std::vector<Through> flows;       // of the calls
  std::set<TensorId> made;          // for who comes after
};

struct Rounds {
  std::vector<Round> all;
  std::vector<Ids> next;  // from a round's tensors, those it takes and those it makes, to what stands there in the next; none of the first

  // What a round takes from the one before: what it stands for is another tensor in each round.
  std::vector<TensorId> taken(std::size_t round) const;
};

// `paths`: the layers of each round as the program calls them, in the order of their calls; `number`: of the calls of each. The error: why
// they are no rounds.
std::expected<Rounds, std::string> rounds_of(const Draft& draft, const std::vector<std::vector<std::string>>& paths, std::size_t number);

// Without rounds [first, last), never the first of all. The error: what comes after takes something that the others do not make.
std::expected<void, std::string> remove_rounds(Draft& draft, const Rounds& rounds, std::size_t first, std::size_t last);

// A call of layer `layer` of new round `round` with this tensor; `like`: an operator that runs beside it. Null: it cannot be had.
using CallLayer = std::function<std::optional<Called>(std::size_t round, std::size_t layer, TensorId in, const Operator& like)>;

// With `count` rounds more after round `after`. False: a layer cannot be had.
bool insert_rounds(Draft& draft, const Rounds& rounds, std::size_t after, std::size_t count, const CallLayer& call);

}  // namespace hotlens::lab
