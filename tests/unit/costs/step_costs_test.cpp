#include "annotator/costs/step_costs.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::costs;
using attribution::kNothing;
using attribution::Script;
using attribution::us;

namespace {

// Tells what the last operator of the script was given.
Script& given(Script& script, std::string_view shapes, std::string_view types, std::string_view values = "") {
  trace::Trace& trace = script.trace();
  trace.inputs.event.push_back(static_cast<std::uint32_t>(trace.events.size() - 1));
  trace.inputs.shapes.push_back(trace.inputs_text.intern(shapes));
  trace.inputs.types.push_back(trace.inputs_text.intern(types));
  trace.inputs.values.push_back(values.empty() ? trace::NameId{} : trace.inputs_text.intern(values));
  return script;
}

Script& mm(Script& script, std::int64_t start, std::int64_t duration, std::string_view type = "float") {
  const std::string types = R"([")" + std::string(type) + R"(", ")" + std::string(type) + R"("])";
  return given(script.op("aten::mm", start, duration), "[[64, 128], [128, 32]]", types);
}
constexpr double kMmFlops = 524'288;

Costs costs_of(const Script& script) {
  const attribution::Read read(script);
  const attribution::Account account = attribution::account(read.trace, read.forest, read.steps, read.owners);
  const std::vector<std::uint32_t> parents;
  return step_costs({.trace = read.trace,
                     .forest = read.forest,
                     .account = account,
                     .owners = read.owners,
                     .module_parent = parents,
                     .given = {read.trace.inputs, read.trace.inputs_text}});
}

}  // namespace

TEST_CASE("operators of equal shapes are one row, and no work counts twice") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  given(script.op("aten::linear", 10, 120), "[[64, 128], [32, 128], [32]]", R"(["float", "float", "float"])");
  mm(script, 20, 100);
  given(script.op("aten::copy_", 25, 10), "[[64, 32], [32]]", R"(["float", "float"])");
  mm(script, 200, 50);
  given(script.op("aten::relu", 300, 40), "[[64, 32]]", R"(["float"])");
  const Costs costs = costs_of(script);
  REQUIRE(costs.step.operators.size() == 2);
  CHECK(costs.step.operators[0].name == "aten::mm");
  CHECK(costs.step.operators[0].calls == 2);
  CHECK(costs.step.operators[0].each.flops == kMmFlops);
  CHECK(costs.step.operators[0].time == us(150));
  CHECK(costs.step.operators[1].name == "aten::relu");
  CHECK(costs.step.known == us(120 + 50 + 40));
  CHECK(costs.step.whole == us(120 + 50 + 40));
}

TEST_CASE("under autocast the innermost operator tells the type that is multiplied") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  mm(script, 10, 100);
  mm(script, 40, 60, "c10::BFloat16");
  const Costs costs = costs_of(script);
  REQUIRE(costs.step.operators.size() == 1);
  CHECK(costs.step.operators[0].calls == 1);
  CHECK(costs.step.operators[0].each.type == "bf16");
}

TEST_CASE("the coverage leaves out operators without shapes or without a rule, but not what only makes views") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  mm(script, 10, 100);
  script.op("aten::mm", 120, 30);
  given(script.op("mine::scan", 200, 50), "[[64, 128]]", R"(["float"])");
  script.op("aten::transpose", 300, 20);
  const Costs costs = costs_of(script);
  CHECK(costs.step.known == us(120));
  CHECK(costs.step.whole == us(200));
  CHECK(costs.step.coverage() == Approx(0.6));
}

TEST_CASE("with a device, time is what the operator launched, and communication is on neither side of the coverage") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  mm(script, 10, 40);
  script.launch(1, 20, 5).launch(2, 30, 5);
  script.op("mine::scan", 60, 20).launch(3, 65, 5);
  script.op("c10d::allreduce_", 100, 20).launch(4, 105, 5);
  script.kernel("ampere_sgemm_128x64_tn", 1, 50, 200).kernel("splitKreduce", 2, 250, 50);
  script.kernel("mine_scan", 3, 300, 100).kernel("ncclDevKernel_AllReduce_Sum_f32", 4, 400, 300);
  const Costs costs = costs_of(script);
  REQUIRE(costs.step.operators.size() == 1);
  CHECK(costs.step.operators[0].calls == 1);
  CHECK(costs.step.operators[0].time == us(250));
  CHECK(costs.step.known == us(250));
  CHECK(costs.step.whole == us(350));
}

TEST_CASE("a step without shapes has no costs") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000).op("aten::mm", 10, 100);
  const Costs costs = costs_of(script);
  CHECK(costs.step.operators.empty());
  CHECK(costs.step.whole == Ns{});
}

TEST_CASE("products nested ten thousand deep are one") {
  Script script;
  script.range("ProfilerStep#0", 0, 100'000);
  for (int depth = 0; depth < 10'000; ++depth) mm(script, 10 + depth, 50'000 - 2 * depth);
  const Costs costs = costs_of(script);
  REQUIRE(costs.step.operators.size() == 1);
  CHECK(costs.step.operators[0].calls == 1);
}
