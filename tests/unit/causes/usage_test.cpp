#include "annotator/causes/usage.h"

#include "annotator/causes/function_times.h"
#include "annotator/causes/gap.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::causes;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;

namespace {

Usage used(const Script& script) {
  const attribution::Read read(script);
  const attribution::Account account = attribution::account(read.trace, read.forest, read.steps, read.owners);
  return usage({.trace = read.trace, .forest = read.forest, .account = account, .owners = read.owners, .module_parent = {}});
}

Ns of(const profile::Causes& causes, profile::Cause cause) {
  return causes[static_cast<std::size_t>(cause)];
}

}  // namespace

TEST_CASE("without a device, a product that only makes views of its operands is arithmetic, and what hands on is overhead") {
  const Usage usage = used(Script()
                               .range("ProfilerStep#0", 0, 200)
                               .op("aten::linear", 10, 110)
                               .op("aten::addmm", 15, 100)
                               .op("aten::expand", 18, 4)
                               .op("aten::resolve_conj", 30, 2)
                               .op("aten::dropout", 130, 40)
                               .op("aten::mul", 140, 25));
  CHECK(of(usage.critical, profile::Cause::compute) == us(100 - 4 - 2));
  CHECK(of(usage.critical, profile::Cause::memory) == us(25));
  CHECK(of(usage.critical, profile::Cause::launch) >= us(10 + 6 + 15));
  REQUIRE(usage.step.size() == 2);
  CHECK(usage.kernels[usage.step[0].kernel.index].name == "aten::addmm");
  CHECK(usage.step[0].calls == 1);
  CHECK(usage.step[0].time == us(94));
  CHECK(usage.spent == usage.critical);
}

TEST_CASE("without a device, what an operator prepares for itself does not make its own work overhead") {
  const Usage usage = used(Script()
                               .range("ProfilerStep#0", 0, 400)
                               .op("aten::conv2d", 10, 150)
                               .op("aten::mkldnn_convolution", 15, 140)
                               .op("aten::empty", 18, 2)
                               .op("aten::as_strided_", 30, 1)
                               .op("aten::addmm", 200, 100)
                               .op("aten::copy_", 205, 10)
                               .op("aten::nll_loss_backward", 320, 60)
                               .op("aten::zero_", 322, 5));
  CHECK(of(usage.critical, profile::Cause::compute) == us(140 - 3 + 90));
  CHECK(of(usage.critical, profile::Cause::memory) == us(10 + 60));
}

TEST_CASE("with a device, idle time is told by what the host does meanwhile and busy time by what runs") {
  const Usage usage = used(Script()
                               .range("ProfilerStep#0", 0, 200)
                               .range("enumerate(DataLoader)#_It.__next__", 0, 100)
                               .op("aten::mm", 100, 30)
                               .launch(1, 110, 10)
                               .kernel("ampere_sgemm_128x64_tn", 1, 125, 60));
  CHECK(of(usage.spent, profile::Cause::data) == us(100));
  CHECK(of(usage.spent, profile::Cause::compute) == us(60));
  CHECK(of(usage.spent, profile::Cause::launch) == us(25 + 15));  // the last: short host code, on its way to the next step's launches
  Ns sum{};
  for (const Ns time : usage.spent) sum += time;
  CHECK(sum == us(200));
}

TEST_CASE("beside a device, a millisecond of host code without an operator is no way to the next launch") {
  const Usage usage = used(Script()
                               .range("ProfilerStep#0", 0, 6000)
                               .op("aten::mm", 0, 30)
                               .launch(1, 10, 10)
                               .kernel("ampere_sgemm_128x64_tn", 1, 30, 50)
                               .op("aten::mm", 900, 30)
                               .launch(2, 910, 10)
                               .kernel("ampere_sgemm_128x64_tn", 2, 930, 50)
                               .op("aten::mm", 5900, 30)
                               .launch(3, 5910, 10)
                               .kernel("ampere_sgemm_128x64_tn", 3, 5930, 50));
  CHECK(of(usage.spent, profile::Cause::host) == us(5900 - 980));
  CHECK(of(usage.spent, profile::Cause::launch) == us(30 + 930 - 80 + 30 + 20));
  CHECK(of(usage.spent, profile::Cause::compute) == us(150));
}

TEST_CASE("beside a device, a part of a long pause is no way to the next launch either") {
  attribution::Piece piece{.start = us(0), .end = us(300), .owner = {}, .bucket = attribution::Bucket::host};
  CHECK(cause_beside_device({}, piece) == profile::Cause::launch);
  piece.pause = us(3000);
  CHECK(cause_beside_device({}, piece) == profile::Cause::host);
}

TEST_CASE("kernels of no known family and a device that idles beside queued work are told apart") {
  const Usage usage = used(Script().range("ProfilerStep#0", 0, 900).op("aten::x", 10, 30).launch(1, 15, 10).kernel("zqx_17", 1, 700, 200));
  CHECK(of(usage.spent, profile::Cause::queued) == us(700 - 25));
  CHECK(of(usage.spent, profile::Cause::other) == us(200));
}

TEST_CASE("communication is a cause where nothing else runs; the host that launches it launches") {
  const Usage usage = used(Script()
                               .range("ProfilerStep#0", 0, 200)
                               .op("nccl:all_reduce", 0, 30)
                               .launch(1, 10, 10)
                               .op("aten::mm", 30, 30)
                               .launch(2, 40, 10)
                               .kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 25, 100)
                               .kernel("ampere_sgemm_128x64_tn", 2, 55, 40));
  CHECK(of(usage.spent, profile::Cause::communication) == us(60));
  CHECK(of(usage.spent, profile::Cause::compute) == us(40));
  CHECK(of(usage.spent, profile::Cause::launch) == us(25 + 75));
}

TEST_CASE("idle time outside of the host's recording has a cause of its own") {
  const Usage usage = used(Script()
                               .op("aten::mm", 100, 30)
                               .launch(1, 105, 10)
                               .kernel("ampere_sgemm_128x64_tn", 1, 120, 20)
                               .kernel("ampere_sgemm_128x64_tn", 7, 0, 40));
  CHECK(of(usage.spent, profile::Cause::unrecorded) == us(60));
  CHECK(of(usage.spent, profile::Cause::launch) == us(20));
}

TEST_CASE("products of which the shapes show that they wait for their operands are told apart, and add up with the others") {
  Script script;
  script.range("ProfilerStep#0", 0, 300);
  script.op("aten::mm", 0, 30).launch(1, 5, 10).kernel("ampere_sgemm_128x64_tn", 1, 20, 60);
  script.op("aten::mm", 100, 30).launch(2, 105, 10).kernel("ampere_sgemm_128x64_tn", 2, 120, 100);
  trace::Trace& trace = script.trace();
  trace.inputs.event.push_back(1);
  trace.inputs.shapes.push_back(trace.inputs_text.intern("[[1, 4096], [4096, 4096]]"));
  trace.inputs.types.push_back(trace.inputs_text.intern(R"(["float", "float"])"));
  trace.inputs.values.push_back({});
  const Usage usage = used(script);
  CHECK(of(usage.spent, profile::Cause::thin_products) == us(60));
  CHECK(of(usage.spent, profile::Cause::compute) == us(100));
}

TEST_CASE("work that begins long after its launch has returned waits for something that the trace does not tell") {
  const Usage usage =
      used(Script().range("ProfilerStep#0", 0, 900).op("aten::mm", 10, 30).launch(1, 15, 10).kernel("ampere_sgemm_128x64_tn", 1, 700, 300));
  for (const profile::Causes& causes : {usage.spent, usage.critical}) {
    CHECK(of(causes, profile::Cause::queued) == us(700 - 25));
    CHECK(of(causes, profile::Cause::launch) == us(10 + 5 + 10));
    CHECK(of(causes, profile::Cause::compute) == us(200));
  }
}

TEST_CASE("work that begins soon after its launch has returned is late by the launch") {
  const Usage usage =
      used(Script().range("ProfilerStep#0", 0, 150).op("aten::mm", 0, 30).launch(1, 15, 10).kernel("ampere_sgemm_128x64_tn", 1, 70, 130));
  for (const profile::Causes& causes : {usage.spent, usage.critical}) {
    CHECK(of(causes, profile::Cause::launch) == us(70));
    CHECK(of(causes, profile::Cause::other) == us(0));
  }
}

TEST_CASE("with stacks, idle time is told by the function that the host was in, and with those around it") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 10'000)
                            .frame("train.py(3): main", -100, 20'000)
                            .frame("train.py(9): batches", 100, 5'000)
                            .frame("pre.py(7): crop", 200, 4'000)
                            .frame("<built-in function sort>", 300, 3'000)
                            .frame("torch/functional.py(1): stack", 4'300, 500)
                            .op("aten::mm", 8'000, 100)
                            .launch(1, 8'020, 10)
                            .kernel("ampere_sgemm_128x64_tn", 1, 8'035, 1'000);
  const attribution::Read read(script);
  const attribution::Account account = attribution::account(read.trace, read.forest, read.steps, read.owners);
  const Usage usage = causes::usage({.trace = read.trace,
                                     .forest = read.forest,
                                     .account = account,
                                     .owners = read.owners,
                                     .module_parent = {},
                                     .main = read.forest.threads[read.steps.main].id});
  REQUIRE(usage.functions.size() == 3);
  const profile::HostFunction &main = usage.functions[0], &batches = usage.functions[1], &crop = usage.functions[2];
  CHECK(main.function == "main");
  CHECK(batches.function == "batches");
  CHECK(batches.line == 8);
  CHECK(crop.function == "crop");
  CHECK(of(crop.own, Cause::host) == us(4'000));
  CHECK(of(batches.own, Cause::host) == us(1'000));
  CHECK(of(batches.inside, Cause::host) == us(5'000));
  CHECK(of(main.inside, Cause::launch) == us(35));
  Ns whole{};
  for (const Ns time : main.inside) whole += time;
  CHECK(whole == us(9'000));

  Profile profile;
  profile.spent = usage.spent;
  profile.host_functions = usage.functions;
  CHECK(function_of_cause(profile, Cause::host) == "train.py:9 batches");
}

TEST_CASE("a function that calls itself counts once") {
  const Script script = Script()
                            .range("ProfilerStep#0", 0, 5'000)
                            .frame("walk.py(3): visit", 0, 4'000)
                            .frame("walk.py(3): visit", 500, 3'000)
                            .op("aten::relu", 4'500, 100);
  const attribution::Read read(script);
  const attribution::Account account = attribution::account(read.trace, read.forest, read.steps, read.owners);
  const Usage usage = causes::usage({.trace = read.trace,
                                     .forest = read.forest,
                                     .account = account,
                                     .owners = read.owners,
                                     .module_parent = {},
                                     .main = read.forest.threads[read.steps.main].id});
  REQUIRE(usage.functions.size() == 1);
  CHECK(of(usage.functions[0].own, Cause::host) == us(4'000));
  CHECK(of(usage.functions[0].inside, Cause::host) == us(4'000));
}
