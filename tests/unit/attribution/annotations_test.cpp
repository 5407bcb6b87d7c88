#include "annotator/attribution/structure/annotations.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

std::string path(const Read& read, std::uint32_t module) {
  const FoundModule& found = read.owners.found.at(module);
  return found.parent == kNothing ? found.name : path(read, found.parent) + "/" + found.name;
}

std::string module_path(const Read& read, std::string_view name, std::size_t nth = 0) {
  const std::uint32_t module = read.module(name, nth);
  return module == kNothing ? "" : path(read, module);
}

}  // namespace

TEST_CASE("ranges around parts of the forward are modules, nested as they nest, forward and backward") {
  const Script script = Script()
                            .range("net", 0, 20)
                            .range("block", 1, 8)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .range("head", 10, 8)
                            .op("aten::addmm", 11, 4, {.sequence = 2})
                            .op("aten::sum", 25, 2, {.sequence = 3})
                            .backward("SumBackward0", 30, 2, 3)
                            .backward("AddmmBackward0", 33, 2, 2)
                            .accumulate(36, 1)
                            .backward("AddmmBackward0", 38, 2, 1);
  const Read read(script);
  CHECK(read.owners.source == ModuleSource::ranges);
  CHECK(module_path(read, "aten::linear") == "net/block");
  CHECK(module_path(read, evaluation("AddmmBackward0"), 0) == "net/head");
  CHECK(module_path(read, evaluation("torch::autograd::AccumulateGrad")) == "net/head");
  CHECK(module_path(read, evaluation("AddmmBackward0"), 1) == "net/block");
  CHECK(module_path(read, evaluation("SumBackward0")).empty());
  CHECK(read.owner("aten::sum").stage == Stage::loss);
}

TEST_CASE("ranges of the loop are no modules, whatever they enclose") {
  const Script script = Script()
                            .range("train step", 0, 60)
                            .range("prepare", 1, 4)
                            .op("aten::to", 2, 2)
                            .range("encoder", 6, 9)
                            .op("aten::linear", 7, 4, {.sequence = 1})
                            .range("wait", 18, 20)
                            .op("aten::empty", 19, 1)
                            .backward("AddmmBackward0", 25, 4, 1, 1)
                            .range("Optimizer.step#SGD.step", 40, 10)
                            .range("group 0", 41, 5)
                            .op("aten::add_", 42, 2);
  const Read read(script);
  REQUIRE(read.owners.found.size() == 1);
  CHECK(read.owners.found[0].name == "encoder");
  CHECK(read.owner("aten::add_").stage == Stage::optimizer);
}

TEST_CASE("a range that runs again inside backward is the same module, recomputed") {
  const Script script = Script()
                            .range("net", 0, 20)
                            .range("block", 1, 8)
                            .op("aten::linear", 2, 4, {.sequence = 1})
                            .op("aten::relu", 12, 4, {.sequence = 2})
                            .op(evaluation("ReluBackward0"), 30, 20, {.sequence = 2, .forward_thread = 1})
                            .range("block", 31, 8)
                            .op("aten::linear", 32, 4, {.sequence = 5})
                            .backward("AddmmBackward0", 52, 2, 5);
  const Read read(script);
  CHECK(module_path(read, "aten::linear", 1) == "net/block");
  CHECK(read.owner("aten::linear", 1).direction == Direction::recompute);
  CHECK(module_path(read, evaluation("AddmmBackward0")) == "net/block");
}

TEST_CASE("a trace with module frames needs no ranges") {
  const Script script = Script().range("mine", 0, 20).frame("nn.Module: Net_0", 1, 10).op("aten::linear", 2, 4);
  const Read read(script);
  CHECK(read.owners.source == ModuleSource::frames);
  CHECK(read.node("mine") == kNoNode);
}

TEST_CASE("a range named as a stage is that stage") {
  const Script script = Script()
                            .range("## forward ##", 0, 20)
                            .range("encoder", 1, 8)
                            .op("aten::linear", 2, 4)
                            .range("compute_loss", 22, 6)
                            .op("aten::mean", 23, 2)
                            .range("Opt-Step", 30, 6)
                            .op("aten::mul", 31, 2);
  const Read read(script);
  CHECK(read.owner("aten::linear").stage == Stage::forward);
  CHECK(module_path(read, "aten::linear") == "encoder");
  CHECK(read.owner("aten::mean").stage == Stage::loss);
  CHECK(read.owner("aten::mul").stage == Stage::optimizer);
}
