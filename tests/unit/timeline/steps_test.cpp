#include "annotator/timeline/steps.h"

#include "tests/unit/catch.h"
#include "tests/unit/timeline/fixture.h"

using namespace hotlens;
using namespace hotlens::timeline;

TEST_CASE("ProfilerStep ranges are the steps, those cut to nothing left out") {
  const Script script =
      Script().range("ProfilerStep#4", 0, 10).op("a", 1, 2).range("ProfilerStep#5", 10, 10).range("ProfilerStep#6", 20, 0);
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 2);
  CHECK(read.steps.spans[0].index == 4);
  CHECK(read.steps.spans[1].start == us(10));
  CHECK(read.steps.spans[1].end == us(20));
  CHECK(read.steps.by == Steps::By::profiler);
}

TEST_CASE("the main thread is the one with the steps, not the busiest") {
  Script script = Script().range("ProfilerStep#1", 0, 50, {.thread = 1});
  for (int i = 0; i < 9; ++i) script.op("aten::add", i * 3, 1);
  const Read read(script);
  CHECK(read.forest.threads[read.steps.main].id.index == 1);
}

TEST_CASE("without ProfilerStep a step reaches from one optimizer step's end to the next") {
  const Script script =
      Script().op("a", 2, 1).range("Optimizer.step#SGD.step", 5, 2).op("a", 8, 1).range("Optimizer.step#SGD.step", 10, 3).op("late", 14, 1);
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 2);
  CHECK(read.steps.spans[0].start == us(2));
  CHECK(read.steps.spans[0].end == us(7));
  CHECK(read.steps.spans[1].start == us(7));
  CHECK(read.steps.spans[1].end == us(13));
}

TEST_CASE("without either the whole window is one step, device work included") {
  const Script script = Script().op("a", 2, 1).launch(5, 3, 1).kernel("k", 5, 6, 20);
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 1);
  CHECK(read.steps.spans[0].start == us(2));
  CHECK(read.steps.spans[0].end == us(26));
}

TEST_CASE("a trace without work has no steps") {
  const Script script = Script();
  CHECK(Read(script).steps.spans.empty());
}
