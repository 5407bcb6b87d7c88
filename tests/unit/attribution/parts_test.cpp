#include "annotator/attribution/account/account.h"
#include "annotator/attribution/map_step/transfer.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

// A model that is wrapped, and two layers that only its compiled code calls: 0 the model, 1 and 2 its layers.
ModuleMap compiled_map() {
  ModuleMap map;
  map.module_of_call = {0};
  map.module_parent = {kNothing, 0, 0};
  map.role = {RootRole::model, RootRole::model, RootRole::model};
  map.path = {"_orig_mod", "_orig_mod.up", "_orig_mod.down"};
  map.lines = 3;
  const PartShare up{.modules = {{.inside = "up", .module = kNothing}}, .lines = {1}, .weight = 1};
  PartShare some_up = up, some_down{.modules = {{.inside = "down", .module = kNothing}}, .lines = {2}, .weight = 0.75};
  some_up.weight = 0.25;
  map.parts = {{up}, {some_up, some_down}, {}};
  return map;
}

constexpr const char* kCode = "## Call CompiledFxGraph fabc ##";

Script map_step() {
  return Script()
      .range("ProfilerStep#0", 0, 100)
      .range("hotlens.line#0", 1, 98)
      .range("hotlens.call#0", 2, 40)
      .op("CompiledFunction", 4, 30, {.sequence = 10})
      .range(kCode, 5, 28)  // where shapes are recorded, torch makes a range of it
      .range("hotlens.part#0", 6, 6)
      .op("aten::addmm", 7, 4)
      .range("hotlens.part#1", 14, 10)
      .op("cpp_fused_add_0", 15, 8)
      .range("hotlens.part#2", 26, 6)
      .op("cpp_fused_sum_1", 27, 4)
      .backward("CompiledFunctionBackward", 60, 30, 10)
      .range(kCode, 62, 20)
      .range("hotlens.part#1", 64, 16)
      .op("cpp_fused_add_0", 65, 10);
}

Script clean_step() {
  return Script()
      .range("ProfilerStep#0", 0, 60)
      .op("CompiledFunction", 4, 26, {.sequence = 20})
      .op(kCode, 5, 24)
      .op("aten::addmm", 6, 4)
      .op("cpp_fused_add_0", 11, 8)
      .op("cpp_fused_sum_1", 20, 4)
      .backward("CompiledFunctionBackward", 40, 16, 20)
      .op(kCode, 42, 12)
      .op("cpp_fused_add_0", 43, 8);
}

struct Compiled {
  Compiled() : map(compiled_map()), clean(clean_script), recorded(map_script, &map), result(run()) {
    taken = account(clean.trace, clean.forest, clean.steps, result.owners);
  }

  Transfer run() {
    return transfer({clean.trace, clean.forest, clean.steps}, {recorded.trace, recorded.forest, recorded.steps}, std::move(recorded.owners),
                    map);
  }
  std::uint32_t module(std::uint32_t call) const { return call == kNothing ? kNothing : result.owners.calls.value[call]; }
  // Time of the step that is a module's own, in one direction.
  Ns own(std::uint32_t wanted, Direction direction) const {
    Ns sum{};
    for (const Piece& piece : taken.steps.front().wall) {
      if (module(piece.owner.call) == wanted && piece.owner.direction == direction) sum += piece.end - piece.start;
    }
    return sum;
  }

  Script clean_script = clean_step(), map_script = map_step();
  ModuleMap map;
  Read clean, recorded;
  Transfer result;
  Account taken;
};

using std::chrono::microseconds;

}  // namespace

TEST_CASE("an operator of compiled code belongs to the module that its mark names below the one that runs the code") {
  const Compiled compiled;
  const Owner& owner = compiled.result.owners.of[compiled.clean.node("aten::addmm")];
  CHECK(compiled.module(owner.call) == 1);
  CHECK(owner.split == kNothing);
  CHECK(compiled.result.owners.lines.value[owner.line] == 1);
}

TEST_CASE("the time of a fused kernel is divided as its shares say, forward and backward, and none is lost") {
  const Compiled compiled;
  CHECK(compiled.own(1, Direction::forward) == microseconds(4 + 2));
  CHECK(compiled.own(2, Direction::forward) == microseconds(6));
  CHECK(compiled.own(1, Direction::backward) == microseconds(2));
  CHECK(compiled.own(2, Direction::backward) == microseconds(6));
  Ns whole{};
  for (const Piece& piece : compiled.taken.steps.front().wall) whole += piece.end - piece.start;
  CHECK(whole == microseconds(60));
}

TEST_CASE("a kernel of which nothing is known stays with the module that runs the code") {
  const Compiled compiled;
  const Owner& owner = compiled.result.owners.of[compiled.clean.node("cpp_fused_sum_1")];
  CHECK(compiled.module(owner.call) == 0);
  CHECK(owner.split == kNothing);
}

TEST_CASE("what was made in forward says whose backward it is, on the line that made it") {
  const Compiled compiled;
  const Owner& owner = compiled.result.owners.of[compiled.clean.node("cpp_fused_add_0", 1)];
  REQUIRE(owner.split != kNothing);
  CHECK(owner.direction == Direction::backward);
  CHECK(compiled.module(owner.call) == 0);  // what both layers are inside of
  const std::vector<Share>& shares = compiled.result.owners.splits[owner.split];
  REQUIRE(shares.size() == 2);
  CHECK(compiled.result.owners.lines.value[shares[1].made_line] == 2);
}

TEST_CASE("the call of compiled code is an operator, whether or not shapes are recorded") {
  const Compiled compiled;
  CHECK(compiled.result.steps.front().found == compiled.result.steps.front().operators);
}
