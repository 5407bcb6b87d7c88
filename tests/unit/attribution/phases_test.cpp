#include "annotator/attribution/owners/phases.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

// Of the first three operators of this name.
std::vector<Stage> stages(const Read& read, const char* name) {
  return {read.owner(name, 0).stage, read.owner(name, 1).stage, read.owner(name, 2).stage};
}

}  // namespace

TEST_CASE("without modules the loss begins after the last operator that uses a parameter") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .op("aten::linear", 8, 4, {.sequence = 2})
                            .op("aten::sub", 14, 2, {.sequence = 3})
                            .op("aten::ones_like", 18, 1, {.sequence = 4})
                            .backward("SubBackward0", 20, 4, 3)
                            .backward("AddmmBackward0", 25, 4, 2)
                            .accumulate(30, 2)
                            .backward("AddmmBackward0", 33, 4, 1)
                            .accumulate(38, 2);
  const Read read(script);
  CHECK(read.owner("aten::linear", 1).stage == Stage::forward);
  CHECK(read.owner("aten::sub").stage == Stage::loss);
  CHECK(read.owner("aten::ones_like").stage == Stage::backward);
}

TEST_CASE("a loss operator tells more exactly where the loss begins") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .op("aten::conv2d", 2, 4, {.sequence = 1})
                            .op("aten::upsample_bilinear2d", 8, 4, {.sequence = 2})
                            .op("aten::mse_loss", 14, 2, {.sequence = 3})
                            .backward("MseLossBackward0", 20, 4, 3, 1)
                            .backward("UpsampleBackward0", 25, 4, 2, 1)
                            .backward("ConvolutionBackward0", 30, 4, 1, 1)
                            .accumulate(35, 2, 1);
  const Read read(script);
  CHECK(read.owner("aten::upsample_bilinear2d").stage == Stage::forward);
  CHECK(read.owner("aten::mse_loss").stage == Stage::loss);
}

TEST_CASE("a gradient of a gradient: the loss of both passes begins after the last operator that uses a parameter") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .op("aten::sum", 8, 1, {.sequence = 2})
                            .backward("SumBackward0", 11, 2, 2)
                            .backward("AddmmBackward0", 14, 4, 1)
                            .op("aten::mm", 15, 2, {.sequence = 3})
                            .op("aten::pow", 20, 2, {.sequence = 4})
                            .backward("PowBackward0", 24, 2, 4)
                            .backward("MmBackward0", 27, 2, 3)
                            .accumulate(30, 1);
  const Read read(script);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(read.owner("aten::sum").stage == Stage::loss);
  CHECK(read.owner("aten::mm").stage == Stage::backward);
  CHECK(read.owner("aten::pow").stage == Stage::loss);
}

TEST_CASE("clipping is the optimizer's, reading a value back is nobody's") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .backward("AddmmBackward0", 20, 4, 1)
                            .op("aten::item", 26, 1)
                            .op("aten::_foreach_norm", 28, 2)
                            .range("Optimizer.step#SGD.step", 40, 10)
                            .op("aten::lerp_", 60, 2);
  const Read read(script);
  CHECK(read.owner("aten::_foreach_norm").stage == Stage::optimizer);
  CHECK(read.owner("aten::item").stage == Stage::other);
  CHECK(read.owner("aten::lerp_").stage == Stage::other);
}

TEST_CASE("without an optimizer of torch's, what writes in place after backward is an update by hand") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .backward("AddmmBackward0", 20, 4, 1)
                            .op("aten::mul", 30, 2)
                            .op("aten::sub_", 33, 2)
                            .op("aten::zero_", 36, 2)
                            .op("aten::argmax", 40, 2);
  const Read read(script);
  CHECK(read.owner("aten::mul").stage == Stage::optimizer);
  CHECK(read.owner("aten::sub_").stage == Stage::optimizer);
  CHECK(read.owner("aten::zero_").stage == Stage::zero_grad);
  CHECK(read.owner("aten::argmax").stage == Stage::other);
}

TEST_CASE("where steps end with their pass, the update by hand at the head of the next one is an update, in the first step too") {
  Script script;
  for (int step = 0; step < 3; ++step) {
    const int at = 100 * step;
    script.range("ProfilerStep#" + std::to_string(step), at, 100)
        .op("aten::_foreach_norm", at + 2, 2)
        .op("aten::add_", at + 5, 2)
        .op("aten::slice", at + 10, 1)
        .op("aten::linear", at + 20, 4, {.sequence = 1 + step})
        .backward("AddmmBackward0", at + 60, 4, 1 + step);
  }
  const Read read(script);
  CHECK(stages(read, "aten::_foreach_norm") == std::vector(3, Stage::optimizer));
  CHECK(stages(read, "aten::add_") == std::vector(3, Stage::optimizer));
  CHECK(stages(read, "aten::slice") == std::vector(3, Stage::forward));
  CHECK(stages(read, "aten::linear") == std::vector(3, Stage::forward));
}

TEST_CASE("what prepares a batch in place is no update by hand where an optimizer runs") {
  Script script;
  for (int step = 0; step < 3; ++step) {
    const int at = 100 * step;
    script.range("ProfilerStep#" + std::to_string(step), at, 100)
        .op("aten::sub_", at + 5, 2)
        .op("aten::linear", at + 20, 4, {.sequence = 1 + step})
        .backward("AddmmBackward0", at + 60, 4, 1 + step);
    if (step == 2) script.range("Optimizer.step#SGD.step", at + 80, 10);
  }
  CHECK(stages(Read(script), "aten::sub_") == std::vector(3, Stage::forward));
}

TEST_CASE("a closure's forward and loss inside the optimizer are what they are, the optimizer's own operators stay") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .range("Optimizer.step#LBFGS.step", 1, 80)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .op("aten::mse_loss", 8, 2, {.sequence = 2})
                            .backward("MseLossBackward0", 12, 4, 2)
                            .backward("AddmmBackward0", 18, 4, 1)
                            .accumulate(23, 1)
                            .op("aten::dot", 30, 4);
  const Read read(script);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(read.owner("aten::mse_loss").stage == Stage::loss);
  CHECK(read.owner(evaluation("AddmmBackward0")).stage == Stage::backward);
  CHECK(read.owner("aten::dot").stage == Stage::optimizer);
}

TEST_CASE("an optimizer that runs in a hook inside backward is the optimizer's") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .backward("AddmmBackward0", 10, 4, 1)
                            .accumulate(20, 20)
                            .range("Optimizer.step#SGD.step", 22, 10)
                            .op("aten::add_", 24, 4)
                            .op("aten::detach", 34, 2);
  const Read read(script);
  CHECK(read.owner("aten::add_").stage == Stage::optimizer);
  CHECK_FALSE(read.owner("aten::add_").accumulates);
  CHECK(read.owner("aten::detach").accumulates);
}

TEST_CASE("the forward on a helper thread is forward") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .op("aten::linear", 2, 4, {.sequence = 1, .thread = 1})
                            .op("aten::mse_loss", 8, 2, {.sequence = 1})
                            .op(evaluation("MseLossBackward0"), 12, 4, {.sequence = 1, .forward_thread = 1})
                            .op(evaluation("AddmmBackward0"), 18, 4, {.sequence = 1, .forward_thread = 2})
                            .accumulate(23, 1);
  const Read read(script);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(read.owner("aten::mse_loss").stage == Stage::loss);
}

TEST_CASE("what runs between the loss and backward without leading to it is neither; a criterion inside a backward range is the loss") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .range("net", 1, 8)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .range("## backward ##", 10, 40)
                            .op("aten::sub", 12, 2, {.sequence = 2})
                            .op("aten::bincount", 16, 4)
                            .backward("SubBackward0", 24, 4, 2, 1)
                            .backward("AddmmBackward0", 30, 4, 1, 1);
  const Read read(script);
  CHECK(read.owner("aten::sub").stage == Stage::loss);
  CHECK(read.owner("aten::bincount").stage == Stage::backward);
  const Script prefetch = Script()
                              .range("ProfilerStep#0", 0, 100)
                              .range("net", 1, 8)
                              .op("aten::linear", 2, 4, {.sequence = 1})
                              .op("aten::index_select", 16, 4)
                              .backward("AddmmBackward0", 30, 4, 1, 1);
  CHECK(Read(prefetch).owner("aten::index_select").stage == Stage::other);
}

TEST_CASE("work between the model and the first operator of the loss is neither") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .range("net", 1, 8)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .op("aten::index_select", 12, 4)
                            .op("aten::sub", 18, 2, {.sequence = 2})
                            .backward("SubBackward0", 24, 4, 2, 1)
                            .backward("AddmmBackward0", 30, 4, 1, 1);
  const Read read(script);
  CHECK(read.owner("aten::index_select").stage == Stage::other);
  CHECK(read.owner("aten::sub").stage == Stage::loss);
}
