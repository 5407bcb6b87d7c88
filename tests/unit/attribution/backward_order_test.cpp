#include "annotator/attribution/owners/backward_order.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"
#include "tests/unit/traces.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

// Two layers of one class, without numbers: the last one's backward runs first.
Script two_layers() {
  return Script()
      .frame("nn.Module: Net_0", 0, 40)
      .frame("nn.Module: Linear_0", 1, 10)
      .op("aten::addmm", 2, 3)
      .op("aten::relu_", 6, 2)
      .frame("nn.Module: Linear_1", 14, 10)
      .op("aten::addmm", 15, 3)
      .op("aten::_log_softmax", 19, 2)
      .op("aten::nll_loss_forward", 42, 2)
      .backward("NllLossBackward0", 50, 5)
      .backward("LogSoftmaxBackward0", 56, 5)
      .backward("AddmmBackward0", 62, 5)
      .accumulate(68, 2)
      .backward("ReluBackward0", 71, 5)
      .backward("AddmmBackward0", 77, 5);
}

std::uint32_t outermost(const Forest& forest, std::uint32_t node) {
  std::uint32_t top = node;
  for (; node != kNoNode; node = forest.parent[node]) {
    if (forest.kind[node] == Kind::op) top = node;
  }
  return top;
}

}  // namespace

TEST_CASE("without numbers backward belongs to the forward in reverse order") {
  const Script script = two_layers();
  const Read read(script);
  const auto name = [&](std::string_view node, std::size_t nth = 0) {
    const std::uint32_t module = read.module(node, nth);
    return module == kNothing ? "" : read.owners.found[module].name;
  };
  CHECK(name(evaluation("LogSoftmaxBackward0")) == "Linear_1");
  CHECK(name(evaluation("AddmmBackward0"), 0) == "Linear_1");
  CHECK(name(evaluation("torch::autograd::AccumulateGrad")) == "Linear_1");
  CHECK(name(evaluation("ReluBackward0")) == "Linear_0");
  CHECK(name(evaluation("AddmmBackward0"), 1) == "Linear_0");
  CHECK(name(evaluation("NllLossBackward0")).empty());
  REQUIRE(read.owners.order.has_value());
  CHECK(read.owners.order->nodes == 5);
  CHECK(read.owners.order->paired == 5);
}

TEST_CASE("operators that made no node leave their name open where they are of several modules") {
  Script script = two_layers();
  script.op("aten::addmm", 5, 1);  // of Linear_0 too: without a gradient
  CHECK(Read(script).owners.order->paired == 5);
  script.op("aten::addmm", 12, 1);  // of the model
  const Read open(script);
  CHECK(open.owners.order->paired == 4);
  CHECK(open.module(evaluation("AddmmBackward0")) == kNothing);
}

TEST_CASE("where order tells little it tells nothing") {
  const Script script = Script()
                            .frame("nn.Module: Net_0", 0, 40)
                            .op("aten::addmm", 2, 3)
                            .backward("AddmmBackward0", 50, 5)
                            .backward("OtherBackward0", 56, 5)
                            .backward("ThirdBackward0", 62, 5);
  const Read read(script);
  CHECK(read.owners.order->nodes == 3);
  CHECK(read.owners.order->paired == 0);
  CHECK(read.module(evaluation("AddmmBackward0")) == kNothing);
}

TEST_CASE("numbers are trusted where there are any") {
  const Script script =
      Script().frame("nn.Module: Net_0", 0, 40).op("aten::addmm", 2, 3, {.sequence = 1}).backward("AddmmBackward0", 50, 5, 1);
  CHECK_FALSE(Read(script).owners.order.has_value());
}

TEST_CASE("in real traces order says what the numbers say") {
  std::size_t all_paired = 0, all_right = 0;
  const auto files = tests::traces(tests::kReal, "the order of backward against its numbers");
  for (const std::filesystem::path& file : files) {
    Issues issues;
    const auto trace = trace::read_file(file, issues);
    REQUIRE(trace.has_value());
    const Forest forest = module_forest(*trace);
    const Steps steps = find_steps(*trace, forest);
    const BackwardOrder order = backward_by_order(*trace, forest, steps);
    std::size_t known = 0, paired = 0, right = 0;
    for (std::uint32_t node = 0; node < forest.size(); ++node) {
      if (forest.creator[node] == kNoNode || !runs_backward(*trace, forest, node) || forest.traits_at(*trace, node).accumulates) continue;
      if (forest.parent[node] != kNoNode && runs_backward(*trace, forest, forest.parent[node])) continue;
      ++known;
      if (order.creator[node] == kNoNode) continue;
      ++paired;
      right += outermost(forest, order.creator[node]) == outermost(forest, forest.creator[node]);
    }
    if (known == 0) continue;
    CAPTURE(file, known, paired, right);
    CHECK(paired * 10 >= known * 9);
    CHECK(right * 100 >= paired * 80);  // embeddings of several tables have equal operators, and their nodes no order of their own
    all_paired += paired;
    all_right += right;
  }
  CHECK(all_right * 100 >= all_paired * 99);
  CHECK((all_paired > 0 || files.empty()));
}
