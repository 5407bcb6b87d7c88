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
  std::vector<Passing> passing;     // of the calls, without what goes into each round's
  std::set<TensorId> made;
  std::set<TensorId>
      gathered;  // of these, what one operator after all rounds takes together with what the others make: `torch.stack(skips)`
};

struct Rounds {
  std::vector<Round> all;
  std::size_t first = 0;          // 1: the first layer is none of them, since its loop does something else before it has more than one
  TensorId together = kNoTensor;  // what is made of all that is gathered; `list`: the argument that has it
  std::size_t list = 0;
  bool last_differs = false;  // something that each hands on to the next, the last makes for nothing
  std::vector<Ids> next;  // from a round's tensors, those it takes and those it makes, to what stands there in the next; none of the first

  // What a round takes from the one before: what it stands for is another tensor in each round.
  std::vector<TensorId> taken(std::size_t round) const;
  // What stands in the next round where this stands; of what the last takes, what it makes itself in its place.
  TensorId after(std::size_t round, TensorId id) const;
};

// `paths`: the layers of each round as the program calls them, in the order of their calls; `number`: of the calls of each. The error: why
// they are no rounds.
std::expected<Rounds, std::string> rounds_of(const Draft& draft, const std::vector<std::vector<std::string>>& paths, std::size_t number);

// Without rounds [first, last). The error: what comes after takes something that the others do not make.
std::expected<void, std::string> remove_rounds(Draft& draft, const Rounds& rounds, std::size_t first, std::size_t last);

// A call of layer `layer` of new round `round`: its operators, and `ids` from what comes out of the example's call to what comes out of it.
// `ids` has what goes in. Null: it cannot be had.
using CallLayer = std::function<std::optional<std::vector<Operator>>(std::size_t round, std::size_t layer, const Round& example, Ids& ids)>;

// With `count` rounds more after round `after`. False: a layer cannot be had.
bool insert_rounds(Draft& draft, const Rounds& rounds, std::size_t after, std::size_t count, const CallLayer& call);

}  // namespace hotlens::lab
