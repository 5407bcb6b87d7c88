#include "annotator/attribution/steps/steps.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

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

namespace {

// Forward, loss, backward and update of one batch, ten ticks from `at` on; its nodes have the numbers from `sequence` on.
Script& train(Script& script, std::int64_t at, std::int64_t sequence, const std::string& layer = "aten::linear") {
  return script.op(layer, at, 1, {.sequence = sequence})
      .op("aten::mse_loss", at + 2, 1, {.sequence = sequence + 1})
      .backward("MseLossBackward0", at + 4, 1, sequence + 1)
      .backward(layer + "Backward", at + 5, 1, sequence)
      .accumulate(at + 6, 1);
}

Script& update(Script& script, std::int64_t at, const std::string& name = "Optimizer.step#Adam.step") {
  return script.range(name, at, 2);
}

}  // namespace

TEST_CASE("two optimizers that take turns are one step, as the passes tell") {
  Script script;
  for (std::int64_t step = 0; step < 3; ++step) {
    update(train(script, step * 100, step * 10, "aten::conv2d"), step * 100 + 8);
    update(train(script, step * 100 + 20, step * 10 + 5, "aten::linear"), step * 100 + 28);
  }
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 3);
  CHECK(read.steps.by == Steps::By::optimizer);
  CHECK(read.steps.spans[0].end == us(30));
}

TEST_CASE("two optimizers after one backward are one update") {
  Script script;
  for (std::int64_t step = 0; step < 2; ++step) update(update(train(script, step * 100, step * 10), step * 100 + 8), step * 100 + 12);
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 2);
  CHECK(read.steps.spans[0].end == us(14));
}

TEST_CASE("several backward passes before an update are one step, and a step begins with its data") {
  Script script;
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::int64_t micro = 0; micro < 2; ++micro) {
      script.range("enumerate(DataLoader)#_It.__next__", step * 100 + micro * 20, 5);
      train(script, step * 100 + micro * 20 + 6, step * 10 + micro * 5);
    }
    update(script, step * 100 + 40);
    script.range("Optimizer.zero_grad#Adam.zero_grad", step * 100 + 44, 2);
  }
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 2);
  CHECK(read.steps.spans[1].start == us(100));
  CHECK(read.steps.spans[1].end == us(146));
}

TEST_CASE("a batch whose gradients are zeroed unused is a step of its own: the scaler left its update out") {
  Script script;
  for (std::int64_t step = 0; step < 4; ++step) {
    script.range("Optimizer.zero_grad#Adam.zero_grad", step * 100, 2);
    train(script, step * 100 + 3, step * 10);
    if (step != 1) update(script, step * 100 + 20);
  }
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 4);
  CHECK(read.steps.spans[1].start == us(100));
  CHECK(read.steps.spans[2].start == us(200));
}

TEST_CASE("gradients of two losses that are zeroed in turn lead to one update") {
  Script script;
  for (std::int64_t step = 0; step < 3; ++step) {
    train(script, step * 100, step * 10, "aten::conv2d");
    script.range("Optimizer.zero_grad#Adam.zero_grad", step * 100 + 20, 2);
    train(script, step * 100 + 30, step * 10 + 5, "aten::linear");
    update(update(script, step * 100 + 40), step * 100 + 44);
  }
  CHECK(Read(script).steps.spans.size() == 3);
}

TEST_CASE("evaluation between two steps is in none") {
  Script script;
  update(train(script, 0, 0), 8);
  script.op("aten::linear", 20, 5).op("aten::linear", 30, 5);
  update(train(script, 50, 10), 58);
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 2);
  CHECK(read.steps.spans[0].end == us(20));
  CHECK(read.steps.spans[1].start == us(35));
}

TEST_CASE("where no optimizer runs, passes that repeat are steps with what updates by hand after them") {
  Script script;
  for (std::int64_t step = 0; step < 3; ++step) train(script, step * 20, step * 10).op("aten::add_", step * 20 + 9, 2);
  const Read read(script);
  CHECK(read.steps.by == Steps::By::backward);
  REQUIRE(read.steps.spans.size() == 3);
  CHECK(read.steps.spans[1].start == us(11));
  CHECK(read.steps.spans[2].end == us(51));
}

TEST_CASE("an update by hand with gradients ends its step: no pass goes back through it") {
  Script script;
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::int64_t at = step * 40;
    const std::int64_t next = step * 3 + 2;  // the number of the node after those of the pass
    train(script, at, step * 3);
    script.op("aten::mul", at + 10, 2, {.sequence = next}).op("aten::sub", at + 13, 2, {.sequence = next});
    script.op("aten::detach", at + 16, 1, {.sequence = next + 1}).op("aten::randn", at + 20, 2, {.sequence = next + 1});
  }
  const Read read(script);
  CHECK(read.steps.by == Steps::By::backward);
  REQUIRE(read.steps.spans.size() == 3);
  for (std::int64_t step = 0; step < 3; ++step) CHECK(read.steps.spans[static_cast<std::size_t>(step)].end == us(step * 40 + 17));
  CHECK(read.owner("aten::sub").stage == Stage::optimizer);
  CHECK(read.owner("aten::randn").stage != Stage::optimizer);
}

TEST_CASE("passes that do not repeat are no loop") {
  Script script;
  train(script, 0, 0, "aten::conv1d");
  train(script, 20, 10, "aten::conv2d");
  train(script, 40, 20, "aten::conv3d");
  CHECK(Read(script).steps.by == Steps::By::window);
}

TEST_CASE("the last step of inference lasts until its device is done") {
  const Script script = Script()
                            .frame("nn.Module: Net_0", 0, 10)
                            .op("aten::linear", 1, 5)
                            .frame("nn.Module: Net_0", 20, 10)
                            .op("aten::linear", 21, 5)
                            .launch(1, 22, 1)
                            .kernel("gemm", 1, 25, 150);
  const Read read(script);
  REQUIRE(read.steps.spans.size() == 2);
  CHECK(read.steps.spans[0].end == us(20));
  CHECK(read.steps.spans[1].end == us(175));
}

TEST_CASE("in inference each call of the outermost module is a step") {
  Script script;
  for (std::int64_t call = 0; call < 3; ++call) script.frame("nn.Module: Net_0", call * 20, 9).op("aten::linear", call * 20 + 2, 4);
  const Read read(script);
  CHECK(read.steps.by == Steps::By::forward);
  REQUIRE(read.steps.spans.size() == 3);
  CHECK(read.steps.spans[2].start == us(40));
}

TEST_CASE("a second process is told, not mixed in") {
  Script script = Script().op("a", 0, 5).op("b", 6, 5).process("2").op("c", 1, 5, {.thread = 1});
  const Read read(script);
  CHECK(read.steps.other_processes == 1);
  CHECK(read.forest.threads[read.steps.main].id.index == 0);
}
