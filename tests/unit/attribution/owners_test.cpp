#include "annotator/attribution/owners/owners.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

// One map step: model(layer 1, layer 2), loss, backward on the same thread, optimizer. Lines 0 to 3 are the training loop's.
Script map_step() {
  return Script()
      .range("ProfilerStep#0", 0, 100)
      .range("hotlens.line#0", 1, 20)
      .range("hotlens.call#0", 2, 18)
      .range("hotlens.call#1", 3, 6)
      .op("aten::linear", 4, 4, {.sequence = 10})
      .range("hotlens.call#2", 10, 6)
      .op("aten::relu", 11, 4, {.sequence = 11})
      .range("hotlens.line#1", 22, 8)
      .range("hotlens.call#3", 23, 6)
      .op("aten::nll_loss", 24, 3, {.sequence = 12})
      .range("hotlens.line#2", 31, 30)
      .range("hotlens.stage#backward", 32, 28)
      .backward("NllLossBackward0", 33, 3, 12)
      .backward("ReluBackward0", 37, 5, 11)
      .op("aten::threshold_backward", 38, 3)
      .accumulate(44, 5)
      .op("torch::autograd::AccumulateGrad", 45, 3)
      .range("hotlens.param#1", 46, 0)
      .backward("AddmmBackward0", 50, 5, 10)
      .range("hotlens.line#3", 62, 20)
      .range("Optimizer.step#SGD.step", 63, 18)
      .op("aten::_foreach_add_", 65, 10);
}

}  // namespace

TEST_CASE("the rest of a line that ran when the step began is the line's where it is entered again, and nobody's where it is not") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 100)
                            .range("hotlens.rest#5", 1, 98)
                            .range("hotlens.rest#6", 2, 20)
                            .op("aten::argmax", 4, 4)
                            .range("hotlens.line#6", 30, 60)
                            .op("aten::linear", 34, 4);
  const ModuleMap map = small_map();
  const Read read(script, &map);
  const Chains& lines = read.owners.lines;
  REQUIRE(lines.value == std::vector<std::uint32_t>{6, 6});
  CHECK(lines.again == std::vector<bool>{true, false});
  CHECK(lines.parent == std::vector<std::uint32_t>{kNothing, kNothing});
  CHECK(read.owner("aten::argmax").line == 0);
  CHECK(read.owner("aten::linear").line == 1);
}

TEST_CASE("forward operators belong to the innermost module call and line") {
  const ModuleMap map = small_map();
  const Script script = map_step();
  const Read read(script, &map);
  CHECK(read.module("aten::linear") == 1);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(read.owners.lines.value[read.owner("aten::linear").line] == 0);
  CHECK(read.module("aten::nll_loss") == 3);
  CHECK(read.owner("aten::nll_loss").stage == Stage::loss);
}

TEST_CASE("backward operators belong to the module and line that created them, and run on backward's line") {
  const ModuleMap map = small_map();
  const Script script = map_step();
  const Read read(script, &map);
  const Owner& owner = read.owner("aten::threshold_backward");
  CHECK(read.module("aten::threshold_backward") == 2);
  CHECK(owner.direction == Direction::backward);
  CHECK(owner.stage == Stage::backward);
  CHECK(read.owners.lines.value[owner.line] == 2);
  CHECK(read.owners.lines.value[owner.made_line] == 0);
  CHECK(read.module(evaluation("NllLossBackward0")) == 3);
  CHECK(read.module(evaluation("AddmmBackward0")) == 1);
}

TEST_CASE("AccumulateGrad belongs to the parameter's owner and to the line that calls it") {
  const ModuleMap map = small_map();
  const Script script = map_step();
  const Read read(script, &map);
  const std::string outer = evaluation("torch::autograd::AccumulateGrad");
  CHECK(read.module(outer) == 1);
  CHECK(read.module("torch::autograd::AccumulateGrad") == 1);
  CHECK(bucket_of(read.owner(outer)) == Bucket::gradient_accumulation);
  CHECK(read.owners.lines.value[read.owner(outer).line] == 2);
  CHECK(read.owners.lines.value[read.owner(outer).made_line] == 0);
}

TEST_CASE("the optimizer's operators belong to its stage and line and to no module") {
  const ModuleMap map = small_map();
  const Script script = map_step();
  const Read read(script, &map);
  const Owner& owner = read.owner("aten::_foreach_add_");
  CHECK(owner.stage == Stage::optimizer);
  CHECK(owner.call == kNothing);
  CHECK(read.owners.lines.value[owner.line] == 3);
}

TEST_CASE("a loss without a module is what runs between the model and backward") {
  const ModuleMap map = small_map();
  const Script script = Script()
                            .op("aten::to", 0, 1)
                            .range("hotlens.call#0", 2, 5)
                            .op("aten::linear", 3, 3)
                            .op("aten::mse_loss", 8, 2)
                            .backward("MseLossBackward0", 12, 2)
                            .op("aten::norm", 16, 2);
  const Read read(script, &map);
  CHECK(read.owner("aten::to").stage == Stage::other);
  CHECK(read.owner("aten::mse_loss").stage == Stage::loss);
  CHECK(read.owner("aten::norm").stage == Stage::other);
}

TEST_CASE("a module that runs again inside backward is recomputed, and its own backward is backward") {
  const ModuleMap map = small_map();
  const Script script = Script()
                            .range("hotlens.line#3", 0, 11)
                            .range("hotlens.call#0", 0, 10)
                            .op("CheckpointFunction", 1, 8, {.sequence = 1})
                            .range("hotlens.call#1", 2, 5)
                            .op("aten::linear", 3, 3)
                            .backward("CheckpointFunctionBackward", 20, 40, 1)
                            .range("hotlens.call#1", 22, 6)
                            .op("aten::linear", 23, 4, {.sequence = 2})
                            .backward("AddmmBackward0", 32, 5, 2);
  const Read read(script, &map);
  CHECK(read.owner("aten::linear", 1).direction == Direction::recompute);
  CHECK(read.owner("aten::linear", 1).stage == Stage::backward);
  CHECK(read.module("aten::linear", 1) == 1);
  CHECK(read.owner(evaluation("AddmmBackward0")).direction == Direction::backward);
  CHECK(read.module(evaluation("AddmmBackward0")) == 1);
  CHECK(read.owners.lines.value[read.owner("aten::linear", 1).made_line] == 3);
  const Account steps = account(read.trace, read.forest, read.steps, read.owners);
  CHECK(steps.steps.at(0).wall_by_bucket[static_cast<std::size_t>(Bucket::recompute)] == us(6));
}

TEST_CASE("a compiler's graph that runs in backward alone is no recomputation but part of the node that runs it") {
  ModuleMap map = small_map();
  map.role[2] = RootRole::other;
  const Script script = Script()
                            .range("hotlens.call#0", 0, 10)
                            .op("CompiledFunction", 1, 8, {.sequence = 1})
                            .range("hotlens.call#1", 2, 5)
                            .op("aten::addmm", 3, 3)
                            .backward("CompiledFunctionBackward", 20, 40, 1)
                            .range("hotlens.call#2", 22, 6)
                            .op("aten::mm", 23, 4);
  const Read read(script, &map);
  CHECK(read.owner("aten::mm").direction == Direction::backward);
  CHECK(read.module("aten::mm") == 0);
  const Account steps = account(read.trace, read.forest, read.steps, read.owners);
  CHECK(steps.steps.at(0).wall_by_bucket[static_cast<std::size_t>(Bucket::recompute)] == Ns{});
}

TEST_CASE("models and criteria that an evaluation calls are part of it, and the step's forward is not") {
  const ModuleMap map = small_map();
  const Script script = map_step()
                            .range("hotlens.stage#evaluation", 84, 6)
                            .range("hotlens.call#0", 84, 6)
                            .op("aten::gelu", 85, 4)
                            .range("hotlens.stage#evaluation", 90, 6)
                            .range("hotlens.call#3", 90, 6)
                            .op("aten::mse_loss", 91, 4);
  const Read read(script, &map);
  CHECK(read.owner("aten::gelu").stage == Stage::evaluation);
  CHECK(read.module("aten::gelu") == 0);
  CHECK(read.owner("aten::mse_loss").stage == Stage::evaluation);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(read.owner("aten::nll_loss").stage == Stage::loss);
  const Account steps = account(read.trace, read.forest, read.steps, read.owners);
  CHECK(steps.steps.at(0).wall_by_bucket[static_cast<std::size_t>(Bucket::evaluation)] == us(12));
}

TEST_CASE("what runs again is due to the line that called the module, not to the line inside whose node needs a result first") {
  const ModuleMap map = small_map();
  const Script script = Script()
                            .range("hotlens.line#3", 0, 20)
                            .range("hotlens.call#1", 1, 18)
                            .range("hotlens.line#4", 2, 6)
                            .op("aten::linear", 3, 4, {.sequence = 1})
                            .range("hotlens.line#5", 9, 9)
                            .op("aten::dropout", 10, 7, {.sequence = 2})
                            .backward("DropoutBackward0", 30, 40, 2)
                            .range("hotlens.call#1", 32, 30)
                            .range("hotlens.line#4", 34, 6)
                            .op("aten::linear", 35, 4, {.sequence = 3})
                            .backward("AddmmBackward0", 75, 5, 1);
  const Read read(script, &map);
  const auto made_by = [&](const Owner& owner) { return read.owners.lines.value[owner.made_line]; };
  CHECK(made_by(read.owner(evaluation("DropoutBackward0"))) == 5);
  const std::uint32_t again = read.owner("aten::linear", 1).made_line;
  CHECK(read.owners.lines.value[again] == 4);
  CHECK(read.owners.lines.value[read.owners.lines.parent[again]] == 3);
  CHECK(read.owners.lines.value[read.owner("aten::linear", 1).line] == 4);
  CHECK(made_by(read.owner(evaluation("AddmmBackward0"))) == 4);
}

TEST_CASE("what a backward thread runs lies on the main thread's backward line") {
  const ModuleMap map = small_map();
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 60)
                            .range("hotlens.line#0", 1, 9)
                            .range("hotlens.call#1", 2, 7)
                            .op("aten::linear", 3, 3, {.sequence = 1})
                            .range("hotlens.line#2", 20, 30)
                            .range("hotlens.stage#backward", 21, 28)
                            .backward("AddmmBackward0", 25, 5, 1, 1);
  const Read read(script, &map);
  const Owner& owner = read.owner(evaluation("AddmmBackward0"));
  CHECK(read.owners.lines.value[owner.line] == 2);
  CHECK(read.owners.lines.value[owner.made_line] == 0);
  CHECK(read.module(evaluation("AddmmBackward0")) == 1);
}

TEST_CASE("gradients that forward asks for are of the line that asks, not also of the line beside it that made what they go through") {
  const ModuleMap map = small_map();
  const auto force = [](bool differentiated) {
    return Script()
        .range("ProfilerStep#0", 0, 100)
        .range("hotlens.line#0", 1, 50)
        .range("hotlens.line#1", 2, 12)
        .range("hotlens.call#1", 3, 10)
        .op("aten::linear", 4, 4, {.sequence = 1})
        .range("hotlens.line#2", 20, 20)
        .range("hotlens.stage#backward", 21, 18)
        .backward("AddmmBackward0", 22, 10, 1)
        .op("aten::mm", 23, 6, {.sequence = 2})
        .range("hotlens.line#3", 60, 30)
        .range("hotlens.stage#backward", 61, 28)
        .backward("MmBackward0", 62, 5, differentiated ? 2 : trace::kNone)
        .backward("AddmmBackward0", 70, 5, 1);
  };
  const Script script = force(true);
  const Read read(script, &map);
  const Owner& asked = read.owner("aten::mm");
  CHECK(read.owners.lines.value[asked.line] == 2);
  CHECK(asked.made_line == kNothing);
  CHECK(read.module("aten::mm") == 1);
  CHECK(read.owners.lines.value[read.owner(evaluation("MmBackward0")).made_line] == 2);
  CHECK(read.owners.lines.value[read.owner(evaluation("AddmmBackward0"), 1).made_line] == 1);

  const Script helper = force(false);  // a function that makes the whole step: its backward is forward's, too
  const Read whole(helper, &map);
  CHECK(whole.owners.lines.value[whole.owner("aten::mm").made_line] == 1);
}

TEST_CASE("without a map, module frames name the modules and stages follow from order") {
  const Script script = Script()
                            .frame("nn.Module: Net_0", 0, 20)
                            .frame("nn.Module: Linear_0", 1, 6)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .frame("nn.Module: Linear_1", 8, 6)
                            .op("aten::linear", 9, 4, {.sequence = 2})
                            .op("aten::mse_loss", 22, 2, {.sequence = 3})
                            .backward("MseLossBackward0", 26, 2, 3)
                            .backward("AddmmBackward0", 30, 4, 2);
  const Read read(script);
  REQUIRE(read.owners.found.size() == 3);
  CHECK(read.owners.found[2].name == "Linear_1");
  CHECK(read.owners.found[2].parent == 0);
  CHECK(read.module("aten::linear", 1) == 2);
  CHECK(read.module(evaluation("AddmmBackward0")) == 2);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(read.owner("aten::mse_loss").stage == Stage::loss);
}

TEST_CASE("a module that several frames call is found under each of them, and again in backward where it was called first") {
  const Script script = Script()
                            .frame("nn.Module: Net_0", 0, 40)
                            .frame("nn.Module: Layer_0", 1, 14)
                            .frame("nn.Module: Rotary_0", 2, 6)
                            .op("aten::cos", 3, 4, {.sequence = 1})
                            .frame("nn.Module: Layer_1", 16, 14)
                            .frame("nn.Module: Rotary_0", 17, 6)
                            .op("aten::cos", 18, 4, {.sequence = 2})
                            .backward("CosBackward0", 50, 20, 2)
                            .frame("nn.Module: Rotary_0", 52, 8)
                            .op("aten::cos", 53, 4);
  const Read read(script);
  REQUIRE(read.owners.found.size() == 5);
  const auto path = [&](std::uint32_t module) { return paths_of(read.owners.found)[module]; };
  CHECK(path(read.module("aten::cos", 0)) == "Net_0/Layer_0/Rotary_0");
  CHECK(path(read.module("aten::cos", 1)) == "Net_0/Layer_1/Rotary_0");
  CHECK(path(read.module(evaluation("CosBackward0"))) == "Net_0/Layer_1/Rotary_0");
  CHECK(path(read.module("aten::cos", 2)) == "Net_0/Layer_1/Rotary_0");  // the recomputation
  CHECK(read.owners.found[read.module("aten::cos", 1)].first == read.module("aten::cos", 0));
}

TEST_CASE("without modules, what runs before backward is forward, and a step without backward is all forward") {
  const Script training = Script().op("aten::linear", 2, 4).backward("AddmmBackward0", 10, 4).op("aten::norm", 20, 1);
  CHECK(Read(training).owner("aten::linear").stage == Stage::forward);
  CHECK(Read(training).owner("aten::norm").stage == Stage::other);
  const Script inference = Script().op("aten::linear", 2, 4).op("aten::softmax", 10, 4);
  CHECK(Read(inference).owner("aten::softmax").stage == Stage::forward);
}

TEST_CASE("operators that copy to the device are copies, also inside the loop's own lines") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 60)
                            .op("aten::to", 1, 9)
                            .op("aten::_to_copy", 2, 7)
                            .op("aten::copy_", 3, 5)
                            .launch(8, 4, 2, "cudaMemcpyAsync")
                            .copy("Memcpy HtoD (Pageable -> Device)", 8, 7, 10)
                            .op("aten::to", 20, 9)
                            .launch(9, 22, 2, "cudaMemcpyAsync")
                            .copy("Memcpy DtoH (Device -> Pageable)", 9, 30, 10);
  const Read read(script);
  CHECK(read.owner("aten::to").copies);
  CHECK(read.owner("aten::copy_").copies);
  CHECK_FALSE(read.owner("aten::to", 1).copies);
}

TEST_CASE("where no event tells its correlation, arrows tell what launched a copy") {
  Script script = Script()
                      .range("ProfilerStep#0", 0, 60)
                      .op("aten::to", 1, 9)
                      .launch(trace::kNone, 4, 2, "cudaMemcpyAsync")
                      .op("aten::linear", 12, 9)
                      .launch(trace::kNone, 14, 2)
                      .copy("Memcpy HtoD (Pageable -> Device)", trace::kNone, 20, 5)
                      .kernel("gemm", trace::kNone, 30, 5);
  trace::Flows& flows = script.trace().flows;
  flows.id = {1, 1, 2, 2};
  flows.kind.assign(4, trace::Flows::Kind::launch);
  flows.end = {trace::Flows::End::start, trace::Flows::End::finish, trace::Flows::End::start, trace::Flows::End::finish};
  flows.thread = {trace::ThreadId{0}, trace::ThreadId{90}, trace::ThreadId{0}, trace::ThreadId{90}};
  flows.time = {us(4), us(20), us(14), us(30)};
  const Read read(script);
  CHECK(read.owner("aten::to").copies);
  CHECK(read.owner("cudaMemcpyAsync").copies);
  CHECK_FALSE(read.owner("aten::linear").copies);
  CHECK_FALSE(read.owner("cudaLaunchKernel").copies);
}

TEST_CASE("of module frames, a childless root right before backward is the criterion") {
  const Script script = Script()
                            .frame("nn.Module: Encoder_0", 0, 2)
                            .frame("nn.Module: Net_0", 3, 8)
                            .frame("nn.Module: Linear_0", 4, 6)
                            .op("aten::linear", 5, 4)
                            .frame("nn.Module: MSELoss_0", 12, 4)
                            .op("aten::mse_loss", 13, 2)
                            .backward("MseLossBackward0", 20, 2, trace::kNone, 1);
  const Read read(script);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(read.owner("aten::mse_loss").stage == Stage::loss);
  CHECK(read.owner("nn.Module: Encoder_0").stage == Stage::forward);
}

TEST_CASE("autograd nodes without an evaluation around them, as up to torch 1.8, are backward") {
  const Script script = Script()
                            .op("aten::addmm", 1, 4)
                            .op("AddmmBackward", 10, 4, {.thread = 1})
                            .op("aten::mm", 11, 2, {.thread = 1})
                            .op("aten::norm", 20, 1);
  const Read read(script);
  CHECK(read.owner("aten::mm").stage == Stage::backward);
  CHECK(read.owner("aten::addmm").stage == Stage::forward);
  CHECK(read.owner("aten::norm").stage == Stage::other);
}

TEST_CASE("gradients zeroed between loss and backward hide neither the loss nor the forward") {
  const Script plain = Script().op("aten::linear", 1, 4).range("Optimizer.zero_grad#SGD.zero_grad", 8, 4).backward("AddmmBackward0", 20, 4);
  CHECK(Read(plain).owner("aten::linear").stage == Stage::forward);
  const ModuleMap map = small_map();
  const Script mapped = Script()
                            .range("hotlens.call#0", 0, 6)
                            .op("aten::linear", 1, 4)
                            .op("aten::mse_loss", 7, 1)
                            .range("Optimizer.zero_grad#SGD.zero_grad", 9, 4)
                            .backward("MseLossBackward0", 20, 4);
  CHECK(Read(mapped, &map).owner("aten::mse_loss").stage == Stage::loss);
}

TEST_CASE("paths are chains of names, and stay short however deep a tree and long a name") {
  std::vector<FoundModule> found = {{"Net_0", kNothing}, {"Linear_1", 0}, {std::string(5000, 'x') + "\xc3\xa9", kNothing}};
  for (std::uint32_t level = 0; level < 500; ++level)
    found.push_back({"Block_" + std::to_string(level), static_cast<std::uint32_t>(found.size() - 1)});
  const std::vector<std::string> paths = paths_of(found);
  CHECK(paths[0] == "Net_0");
  CHECK(paths[1] == "Net_0/Linear_1");
  for (std::size_t module = 2; module < found.size(); ++module) {
    CHECK(paths[module].size() <= 1030);
    if (module > 2) CHECK(paths[module].ends_with("/" + found[module].name));
  }
}

TEST_CASE("the backward of what a checkpoint runs again is of the line that asked for it first, too") {
  const Script script = Script()
                            .range("hotlens.line#4", 1, 28)
                            .op("CheckpointFunction", 2, 20, {.sequence = 7})
                            .range("hotlens.call#1", 3, 18)
                            .range("hotlens.line#5", 4, 12)
                            .op("aten::mul", 5, 5)
                            .range("hotlens.line#6", 30, 65)
                            .backward("CheckpointFunctionBackward", 32, 60, 7)
                            .range("hotlens.call#1", 34, 20)
                            .range("hotlens.line#5", 35, 15)
                            .op("aten::mul", 36, 5, {.sequence = 9})
                            .backward("MulBackward0", 60, 10, 9);
  const ModuleMap map = small_map();
  const Read read(script, &map);
  const Chains& lines = read.owners.lines;
  const auto values = [&](std::uint32_t link) {
    std::vector<std::uint32_t> found;
    for (; link != kNothing; link = lines.parent[link]) found.push_back(lines.value[link]);
    return found;
  };
  const Owner& backward = read.owner(evaluation("MulBackward0"));
  CHECK(values(backward.made_line) == std::vector<std::uint32_t>{5, 4});
  CHECK(values(backward.line) == std::vector<std::uint32_t>{6});
  CHECK(values(read.owner("aten::mul", 1).line) == std::vector<std::uint32_t>{5, 6});
}

TEST_CASE("a module that only a custom backward calls has that time, and so has the module whose backward it is") {
  const Script script = Script()
                            .range("hotlens.call#0", 0, 20)
                            .range("hotlens.call#1", 1, 18)
                            .op("Straight", 2, 10, {.sequence = 5})
                            .backward("StraightBackward", 30, 30, 5)
                            .range("hotlens.call#2", 32, 20)
                            .op("aten::addmm", 34, 10);
  const ModuleMap map = small_map();
  const Read read(script, &map);
  const Owner& owner = read.owner("aten::addmm");
  CHECK(owner.direction == Direction::backward);
  CHECK(read.module("aten::addmm") == 2);
  CHECK(read.owners.calls.value[read.owners.calls.parent[owner.call]] == 1);
}
