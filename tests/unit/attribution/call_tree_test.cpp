#include "annotator/attribution/owners/call_tree.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

// A model (0) with a container (1) of two layers (2, 3) and a rotary embedding (4) with an inner module (5).
const std::vector<std::uint32_t> kParents = {kNothing, 0, 1, 1, 0, 4};

struct Calls {
  std::uint32_t call(std::uint32_t around, std::uint32_t module, std::uint32_t repeated = kNothing) {
    return chains.add(around, module, Ns{}, repeated != kNothing, repeated);
  }
  Chains chains;
};

}  // namespace

TEST_CASE("a known module has its own place, and one below each other module that calls it") {
  Calls calls;
  const std::uint32_t model = calls.call(kNothing, 0);
  const std::uint32_t own = calls.call(model, 4);
  const std::uint32_t layer = calls.call(model, 3);
  const std::uint32_t visit = calls.call(layer, 4);
  const std::uint32_t inner = calls.call(visit, 5);
  const CallTree tree = call_tree(calls.chains, kParents);
  CHECK(tree.row_of_call[own] == 4);
  CHECK(tree.row_of_call[layer] == 3);  // through its container, which nobody calls
  REQUIRE(tree.rows.size() == 8);
  CHECK(tree.row_of_call[visit] == 6);
  CHECK(tree.rows[6].module == 4);
  CHECK(tree.rows[6].parent == 3);
  CHECK(tree.rows[6].first == 4);
  CHECK(tree.row_of_call[inner] == 7);
  CHECK(tree.rows[7].parent == 6);
}

TEST_CASE("what runs again has the row of what it repeats") {
  Calls calls;
  const std::uint32_t layer = calls.call(calls.call(kNothing, 0), 3);
  const std::uint32_t visit = calls.call(layer, 4);
  const std::uint32_t again = calls.call(kNothing, 4, visit);
  const CallTree tree = call_tree(calls.chains, kParents);
  CHECK(tree.row_of_call[again] == tree.row_of_call[visit]);
}

TEST_CASE("without a model a repetition of nothing known has the first row of its module, whichever comes first") {
  Chains calls;
  const std::uint32_t again = calls.add(kNothing, 1, Ns{}, true);
  const std::uint32_t inside = calls.add(again, 2, Ns{}, true);
  const std::uint32_t forward = calls.add(calls.add(kNothing, 0, Ns{}, false), 1, Ns{}, false);
  const CallTree tree = call_tree(calls, {});
  CHECK(tree.row_of_call[again] == tree.row_of_call[forward]);
  CHECK(tree.rows[tree.row_of_call[inside]].parent == tree.row_of_call[forward]);
}

TEST_CASE("a module that calls itself has a row inside its own, no deeper than is told apart") {
  Chains calls;
  std::uint32_t call = kNothing;
  for (std::uint32_t depth = 0; depth < 3 * kDeepest; ++depth) call = calls.add(call, depth % 2, Ns{}, false);
  const CallTree tree = call_tree(calls, {});
  CHECK(tree.rows.size() <= 2 * kDeepest);
  CHECK(tree.rows[1].parent == 0);
  CHECK(tree.rows[2].module == 0);
  CHECK(tree.rows[2].first == 0);
}
