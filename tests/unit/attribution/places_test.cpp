#include "annotator/attribution/owners/places.h"

#include "annotator/attribution/map_step/transfer.h"
#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

constexpr std::size_t kBackward = static_cast<std::size_t>(Stage::backward);

// A map step with two backward passes, on the lines 1 and 3, and an update on line 2 between them.
Script two_passes(bool markers) {
  Script script;
  const auto marker = [&](const char* name, std::int64_t start, std::int64_t duration) {
    if (markers) script.range(name, start, duration);
  };
  script.range("ProfilerStep#0", 0, 100);
  marker("hotlens.line#0", 1, 10);
  script.op("aten::linear", 2, 8, {.sequence = 1});
  marker("hotlens.line#1", 20, 20);
  marker("hotlens.stage#backward", 21, 18);
  script.backward("AddmmBackward0", 22, 6, 1);
  script.backward("ReluBackward0", 30, 8, 1);
  marker("hotlens.line#2", 45, 10);
  script.range("Optimizer.step#SGD.step", 46, 8);
  marker("hotlens.line#3", 60, 30);
  marker("hotlens.stage#backward", 61, 28);
  script.backward("MulBackward0", 62, 26, 1);
  return script;
}

// The two passes by name, counted by line in a step without markers.
StepAccount counted(const Places& places) {
  const ModuleMap map = small_map();
  const Script recorded = two_passes(true), clean = two_passes(false);
  const Read with(recorded, &map), without(clean);
  const Transfer transferred =
      transfer({without.trace, without.forest, without.steps}, {with.trace, with.forest, with.steps}, with.owners, map);
  return account(without.trace, without.forest, without.steps, transferred.owners, places).steps.at(0);
}

}  // namespace

TEST_CASE("each backward pass counts on the line that runs it, and together they are the stage") {
  const StepAccount step = counted({{Stage::backward, 1}, {Stage::backward, 3}});
  CHECK(step.by_place.at(0).wall == us(16));  // 22 to 38: two operators and the gap between them
  CHECK(step.by_place.at(1).wall == us(26));
  CHECK(step.by_place.at(0).wall + step.by_place.at(1).wall == step.wall_by_stage[kBackward]);
  CHECK(step.by_place.at(0).cpu + step.by_place.at(1).cpu == step.cpu_by_stage[kBackward]);
  CHECK(step.guessed_by_stage[kBackward] == Ns{});
}

TEST_CASE("a stage's time on a line that does not enter it is of no place") {
  const StepAccount step = counted({{Stage::backward, 3}, {Stage::optimizer, 1}});
  CHECK(step.by_place.at(0).wall == us(26));
  CHECK(step.by_place.at(1).wall == Ns{});
  CHECK(step.wall_by_stage[kBackward] == us(42));
}

TEST_CASE("the code of a custom function between its operators is no guess") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .range("hotlens.line#0", 2, 90)
                            .range("hotlens.stage#forward", 3, 80)
                            .op("Integrate", 4, 70, {.sequence = 1})
                            .range("hotlens.line#1", 10, 20)
                            .op("aten::linear", 11, 18)
                            .range("hotlens.line#2", 40, 20)
                            .op("aten::tanh", 41, 18);
  const ModuleMap map = small_map();
  const Read read(script, &map);
  const auto places = Places{{Stage::forward, 1}, {Stage::forward, 2}};
  const StepAccount step = account(read.trace, read.forest, read.steps, read.owners, places).steps.at(0);
  CHECK(step.guessed_by_stage[static_cast<std::size_t>(Stage::forward)] == Ns{});
  CHECK(step.by_place.at(0).wall == us(20 + 10));
  CHECK(step.by_place.at(1).wall == us(20 + 14 + 9));
}

TEST_CASE("what has no line counts with the operator before it, and is said to be a guess") {
  Chains lines;
  const std::uint32_t loop = lines.add(kNothing, 7, Ns{}, false);
  const std::uint32_t call = lines.add(loop, 1, Ns{}, false);
  const std::uint32_t other = lines.add(loop, 2, Ns{}, false);
  PlaceFinder finder({{Stage::backward, 1}}, lines);
  const auto at = [](std::uint32_t line, Stage stage = Stage::backward) {
    Owner owner;
    owner.line = line;
    owner.stage = stage;
    return owner;
  };
  finder.begin_thread();
  CHECK(finder.of(at(kNothing), true) == kNothing);  // nothing ran before
  CHECK(finder.of(at(call), false) == 0);
  CHECK(finder.of(at(loop), true) == 0);
  CHECK_FALSE(finder.guessed());
  CHECK(finder.of(at(kNothing), false) == 0);
  CHECK(finder.guessed());
  CHECK(finder.of(at(other), false) == kNothing);
  CHECK_FALSE(finder.guessed());
  CHECK(finder.of(at(call, Stage::forward), false) == kNothing);
  finder.begin_thread();
  CHECK(finder.of(at(loop), true) == kNothing);
}
