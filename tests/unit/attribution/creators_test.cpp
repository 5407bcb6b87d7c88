#include "annotator/attribution/structure/creators.h"
#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

TEST_CASE("of the operators that share a number the one that started last created the node") {
  const Script script = Script()
                            .op("aten::view", 1, 1, {.sequence = 5})
                            .op("aten::addmm", 3, 1, {.sequence = 5})
                            .op("aten::relu", 5, 1, {.sequence = 6})
                            .op("AddmmBackward0", 9, 1, {.sequence = 5, .forward_thread = 1});
  const Read read(script);
  const auto creator = creators(read.trace, read.forest);
  CHECK(creator[read.node("AddmmBackward0")] == read.node("aten::addmm"));
  CHECK(creator[read.node("aten::addmm")] == kNoNode);
}

TEST_CASE("an operator that starts after the backward one cannot have created it") {
  const Script script = Script()
                            .op("aten::mul", 1, 1, {.sequence = 5})
                            .op("MulBackward0", 4, 1, {.sequence = 5, .forward_thread = 1})
                            .op("aten::select", 8, 1, {.sequence = 5});
  const Read read(script);
  CHECK(creators(read.trace, read.forest)[read.node("MulBackward0")] == read.node("aten::mul"));
}

TEST_CASE("numbers of two forward threads are told apart by which thread explains more") {
  const Script script = Script()
                            .op("main a", 1, 1, {.sequence = 1})
                            .op("main b", 2, 1, {.sequence = 2})
                            .op("main c", 3, 1, {.sequence = 3})
                            .op("other b", 4, 1, {.sequence = 2, .thread = 1})
                            .op("other d", 5, 1, {.sequence = 4, .thread = 1})
                            .op("back b of main", 20, 1, {.sequence = 2, .forward_thread = 1, .thread = 2})
                            .op("back c of main", 22, 1, {.sequence = 3, .forward_thread = 1, .thread = 2})
                            .op("back b of other", 24, 1, {.sequence = 2, .forward_thread = 2, .thread = 2})
                            .op("back d of other", 26, 1, {.sequence = 4, .forward_thread = 2, .thread = 2});
  const Read read(script);
  const auto creator = creators(read.trace, read.forest);
  CHECK(creator[read.node("back b of main")] == read.node("main b"));
  CHECK(creator[read.node("back b of other")] == read.node("other b"));
}

TEST_CASE("a backward operator whose forward is not in the window has no creator") {
  const Script script = Script().op("MulBackward0", 4, 1, {.sequence = 5, .forward_thread = 1});
  const Read read(script);
  CHECK(creators(read.trace, read.forest)[read.node("MulBackward0")] == kNoNode);
}

TEST_CASE("nodes that writing into a view makes besides the operator's own are the operator's") {
  const Script script = Script()
                            .op("aten::select", 1, 1, {.sequence = 5})
                            .op("aten::add_", 3, 4, {.sequence = 6})  // its own node is 6, what it writes into 7, the view from then on 8
                            .op("aten::copy_", 9, 2, {.sequence = 9})
                            .op("SelectBackward0", 18, 1, {.sequence = 5, .forward_thread = 1})
                            .op("SomeBackward", 20, 1, {.sequence = 7, .forward_thread = 1})
                            .op("torch::autograd::CopySlices", 22, 1, {.sequence = 7, .forward_thread = 1})
                            .op("AsStridedBackward0", 24, 1, {.sequence = 8, .forward_thread = 1})
                            .op("torch::autograd::CopySlices", 26, 1, {.sequence = 40, .forward_thread = 1});
  const Read read(script);
  const auto creator = creators(read.trace, read.forest);
  CHECK(creator[read.node("torch::autograd::CopySlices")] == read.node("aten::add_"));
  CHECK(creator[read.node("AsStridedBackward0")] == read.node("aten::add_"));
  CHECK(creator[read.node("SomeBackward")] == kNoNode);
  CHECK(creator[read.node("torch::autograd::CopySlices", 1)] == kNoNode);  // made by what was not recorded
}

TEST_CASE("a node with hooks lends its number to the evaluation around it") {
  const Script script = Script()
                            .op("aten::addmm", 1, 1, {.sequence = 5})
                            .op("autograd::engine::evaluate_function: AddmmBackward0", 4, 9)
                            .op("AddmmBackward0", 6, 3, {.sequence = 5, .forward_thread = 1});
  const Read read(script);
  CHECK(creators(read.trace, read.forest)[read.node("autograd::engine::evaluate_function: AddmmBackward0")] == read.node("aten::addmm"));
}

TEST_CASE("a range that hooks put around a node does not keep its number from the evaluation") {
  const Script script = Script()
                            .op("aten::addmm", 1, 1, {.sequence = 5})
                            .op("autograd::engine::evaluate_function: AddmmBackward0", 4, 9)
                            .range("my hook", 5, 7)
                            .op("AddmmBackward0", 6, 3, {.sequence = 5, .forward_thread = 1})
                            .op("aten::sum", 10, 1);
  const Read read(script);
  CHECK(read.forest.creator[read.node("autograd::engine::evaluate_function: AddmmBackward0")] == read.node("aten::addmm"));
}

TEST_CASE("of a forward thread that was not recorded nothing is known, whatever numbers others used") {
  const Script script = Script()
                            .op("main a", 1, 1, {.sequence = 1})
                            .op("main b", 2, 1, {.sequence = 2})
                            .op("back a", 20, 1, {.sequence = 1, .forward_thread = 2})
                            .op("back b", 22, 1, {.sequence = 2, .forward_thread = 2})
                            .op("back a of another", 24, 1, {.sequence = 1, .forward_thread = 1})
                            .op("back z of another", 26, 1, {.sequence = 9, .forward_thread = 1})
                            .accumulate(28, 1);
  const Read read(script);
  const auto creator = creators(read.trace, read.forest);
  CHECK(creator[read.node("back a")] == read.node("main a"));
  CHECK(creator[read.node("back a of another")] == kNoNode);
  CHECK(creator[read.node(evaluation("torch::autograd::AccumulateGrad"))] == kNoNode);
}

namespace {

const std::string kGraphBackward = "torch::jit::(anonymous namespace)::DifferentiableGraphBackward";

}  // namespace

TEST_CASE("a graph of TorchScript made the node whose number lies between those around it") {
  const Script script = Script()
                            .op("aten::linear", 1, 1, {.sequence = 5})
                            .op("<forward op>", 3, 2)
                            .op("<forward op>", 6, 2)
                            .op("aten::select", 9, 1, {.sequence = 8})
                            .op("<forward op>", 11, 2)
                            .backward(kGraphBackward, 20, 4, 9)
                            .op(kGraphBackward, 21, 2, {.sequence = 9, .forward_thread = 1})
                            .backward("SelectBackward0", 25, 1, 8)
                            .op(kGraphBackward, 31, 2, {.sequence = 7, .forward_thread = 1})
                            .op(kGraphBackward, 35, 2, {.sequence = 6, .forward_thread = 1});
  const Read read(script);
  const auto creator = creators(read.trace, read.forest);
  CHECK(creator[read.node(kGraphBackward, 0)] == read.node("<forward op>", 2));
  CHECK(creator[read.node(evaluation(kGraphBackward))] == read.node("<forward op>", 2));
  CHECK(creator[read.node(kGraphBackward, 1)] == read.node("<forward op>", 1));
  CHECK(creator[read.node(kGraphBackward, 2)] == read.node("<forward op>", 0));
}

TEST_CASE("where graphs and nodes are not of one number nothing is said of them") {
  const Script script = Script()
                            .op("aten::linear", 1, 1, {.sequence = 5})
                            .op("<forward op>", 3, 2)
                            .op("<forward op>", 6, 2)
                            .op("aten::select", 9, 1, {.sequence = 8})
                            .backward("SelectBackward0", 25, 1, 8)
                            .op(kGraphBackward, 31, 2, {.sequence = 7, .forward_thread = 1});
  const Read read(script);
  CHECK(creators(read.trace, read.forest)[read.node(kGraphBackward)] == kNoNode);
}
