#include "annotator/timeline/align.h"
#include "tests/unit/catch.h"
#include "tests/unit/timeline/fixture.h"

using namespace hotlens;
using namespace hotlens::timeline;

namespace {

Script map_step() {
  return Script()
      .range("ProfilerStep#0", 0, 100)
      .range("hotlens.line#4", 1, 40)
      .range("hotlens.call#0", 2, 30)
      .range("hotlens.call#1", 3, 10)
      .op("aten::linear", 4, 8)
      .op("aten::addmm", 5, 4)
      .range("hotlens.call#2", 15, 10)
      .op("aten::relu", 16, 8);
}

struct Transferred {
  Transferred(const Script& clean_script, const Script& map_script)
      : map_(small_map()), clean(clean_script), recorded(map_script, &map_), result(run()) {}

  Transfer run() {
    return transfer({clean.trace, clean.forest, clean.steps}, {recorded.trace, recorded.forest, recorded.steps},
                    std::move(recorded.owners));
  }
  std::uint32_t module(std::string_view name, std::size_t nth = 0) const {
    const std::uint32_t call = result.owners.of[clean.node(name, nth)].call;
    return call == kNothing ? kNothing : result.owners.calls.value[call];
  }

  ModuleMap map_;
  Read clean;
  Read recorded;
  Transfer result;
};

}  // namespace

TEST_CASE("every clean step takes its owners from the map step") {
  const Script clean = Script()
                           .range("ProfilerStep#0", 0, 20)
                           .op("aten::linear", 2, 4)
                           .op("aten::addmm", 3, 2)
                           .op("aten::relu", 8, 2)
                           .range("ProfilerStep#1", 20, 20)
                           .op("aten::linear", 22, 4)
                           .op("aten::addmm", 23, 2)
                           .op("aten::relu", 28, 2);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.result.confidence == 1.0);
  CHECK(transferred.module("aten::addmm", 0) == 1);
  CHECK(transferred.module("aten::addmm", 1) == 1);
  CHECK(transferred.module("aten::relu", 1) == 2);
  CHECK(transferred.result.owners.of[transferred.clean.node("aten::relu")].stage == Stage::forward);
}

TEST_CASE("an operator without a twin belongs to its parent, or to what its neighbours share") {
  const Script clean = Script()
                           .range("ProfilerStep#0", 0, 40)
                           .op("aten::linear", 2, 9)
                           .op("aten::addmm", 3, 2)
                           .op("extra inside", 6, 2)
                           .op("extra between", 14, 2)
                           .op("aten::relu", 18, 2);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.result.confidence == Approx(3.0 / 5.0));
  CHECK(transferred.module("extra inside") == 1);
  CHECK(transferred.module("extra between") == 0);
}

TEST_CASE("launches belong to the operator that made them") {
  const Script clean =
      Script().range("ProfilerStep#0", 0, 40).op("aten::linear", 2, 9).op("aten::addmm", 3, 6).launch(4, 5, 1).op("aten::relu", 18, 2);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.module("cudaLaunchKernel") == 1);
}

TEST_CASE("a program that did something else finds no twins and says so") {
  const Script clean = Script().range("ProfilerStep#0", 0, 40).op("other a", 2, 9).op("other b", 12, 6);
  const Script map = map_step();
  const Transferred transferred(clean, map);
  CHECK(transferred.result.confidence == 0.0);
  CHECK(transferred.module("other a") == kNothing);
}
