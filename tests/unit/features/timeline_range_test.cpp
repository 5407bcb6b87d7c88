#include "server/features/timeline/range.h"

#include <algorithm>
#include <map>

#include "tests/unit/catch.h"
#include "tests/unit/profile/random_trace.h"

using namespace hotlens;
using namespace hotlens::features;
using namespace hotlens::blocks;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;

namespace {

using ByName = std::map<std::string, Ns>;

void add(const std::vector<Use>& uses, ByName& times) {
  for (const Use& use : uses) times[use.name] += use.time;
}

ByName times_of(const std::vector<Use>& uses) {
  ByName times;
  add(uses, times);
  return times;
}

}  // namespace

TEST_CASE("an operator's own time is cut at the edges of the range") {
  Script script;
  script.range("ProfilerStep#0", 0, 100);
  script.op("aten::outer", 10, 50);
  script.op("aten::inner", 20, 10);
  const auto blocks = blocks_of(annotated_of(script), 0);
  const RangeSums sums = sums_of(*blocks, kStepBlock, us(25), us(40));
  CHECK(times_of(sums.operators) == ByName{{"aten::outer", us(10)}, {"aten::inner", us(5)}});
  CHECK(sums.kernels.empty());
  CHECK(sums_of(*blocks, kStepBlock, us(60), us(60)).operators.empty());
  CHECK(sums_of(*blocks, kStepBlock, us(40), us(25)).operators.empty());
}

TEST_CASE("an operator's own time is without the operators inside it that run for another module") {
  Script script;
  script.range("ProfilerStep#0", 0, 100);
  script.op("aten::outer", 10, 50);
  script.frame("nn.Module: Linear_0", 20, 30);
  script.op("aten::inner", 25, 20);
  const auto blocks = blocks_of(annotated_of(script), 0);
  CHECK(times_of(sums_of(*blocks, kStepBlock, us(0), us(100)).operators) == ByName{{"aten::outer", us(30)}, {"aten::inner", us(20)}});
  CHECK(times_of(sums_of(*blocks, kStepBlock, us(30), us(55)).operators) == ByName{{"aten::outer", us(10)}, {"aten::inner", us(15)}});
  const auto outer = std::ranges::find(blocks->blocks, Block::Kind::op, &Block::kind) - blocks->blocks.begin();
  REQUIRE(name_of(*blocks, static_cast<std::uint32_t>(outer)) == "aten::outer");
  CHECK(times_of(sums_of(*blocks, static_cast<std::uint32_t>(outer), us(0), us(100)).operators) == ByName{{"aten::outer", us(30)}});
}

TEST_CASE("a range of the recording has what its steps have, and what lies between them") {
  Script script;
  script.range("ProfilerStep#0", 0, 100);
  script.op("aten::mm", 10, 50);
  script.launch(1, 20, 5);
  script.kernel("gemm", 1, 30, 40);
  script.op("aten::between", 110, 20);
  script.range("ProfilerStep#1", 150, 100);
  script.op("aten::mm", 160, 30);
  const auto annotated = annotated_of(script);
  const RangeSums all = sums_of(*annotated, us(0), us(250));
  CHECK(times_of(all.operators) == ByName{{"aten::mm", us(80)}, {"aten::between", us(20)}});
  CHECK(times_of(all.kernels) == ByName{{"gemm", us(40)}});
  CHECK(all.device == us(40));
  const RangeSums cut = sums_of(*annotated, us(50), us(120));
  CHECK(times_of(cut.operators) == ByName{{"aten::mm", us(10)}, {"aten::between", us(10)}});
  CHECK(cut.device == us(20));
  CHECK(sums_of(*annotated, us(60), us(50)).operators.empty());
}

TEST_CASE("random steps: a range is the same of the step and of the recording, and host time holds its operators") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 30)));
  CAPTURE(seed);
  RandomTrace random(seed);
  const auto annotated = annotated_of(random.draw());
  const auto blocks = blocks_of(annotated, 1);
  const Ns from(random.between(0, blocks->wall.count() / 2)), to(random.between(from.count(), blocks->wall.count()));
  const RangeSums of_step = sums_of(*blocks, kStepBlock, from, to);
  const RangeSums of_all = sums_of(*annotated, blocks->start + from, blocks->start + to);
  CHECK(times_of(of_step.operators) == times_of(of_all.operators));
  CHECK(times_of(of_step.kernels) == times_of(of_all.kernels));
  CHECK(of_step.device == of_all.device);
  Ns operators{};
  for (const Use& use : of_step.operators) operators += use.time;
  CHECK(operators <= to - from);
}

TEST_CASE("random ranges side by side add up to the range that holds them") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 30)));
  CAPTURE(seed);
  RandomTrace random(seed);
  const auto blocks = blocks_of(annotated_of(random.draw()), 1);
  const auto block = static_cast<std::uint32_t>(random.between(0, static_cast<std::int64_t>(blocks->blocks.size()) - 1));
  const Ns last = std::ranges::max(blocks->blocks, {}, &Block::last).last;
  std::vector<Ns> edges{-us(10000000), last + us(10)};  // the work of earlier steps may begin long before the step
  for (int edge = 0; edge < 5; ++edge) edges.emplace_back(random.between(0, last.count()));
  std::ranges::sort(edges);
  const RangeSums whole = sums_of(*blocks, block, edges.front(), edges.back());
  RangeSums sums;
  ByName kernels, operators;
  for (std::size_t edge = 1; edge < edges.size(); ++edge) {
    const RangeSums part = sums_of(*blocks, block, edges[edge - 1], edges[edge]);
    add(part.kernels, kernels);
    add(part.operators, operators);
    sums.device += part.device;
    CHECK(part.device <= edges[edge] - edges[edge - 1]);
  }
  CHECK(kernels == times_of(whole.kernels));
  CHECK(operators == times_of(whole.operators));
  CHECK(sums.device == whole.device);
  if (block == kStepBlock) return;  // it has the work of earlier steps beside it
  CHECK(whole.device == blocks->index.device[block]);
  if (!whole.kernels.empty()) CHECK(kernels == times_of(uses_of(*blocks, block)));
}
