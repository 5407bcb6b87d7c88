#include "annotator/causes/simulate.h"

#include "annotator/attribution/account/exchanges.h"
#include "annotator/profile/build/annotated.h"
#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"
#include "tests/unit/traces.h"

using namespace hotlens;
using namespace hotlens::attribution;
using namespace hotlens::causes;

namespace {

attribution::Account account_of(const Script& script) {
  const Read read(script);
  return attribution::account(read.trace, read.forest, read.steps, read.owners);
}

Played play(const attribution::Account& account, const Change& change) {
  return Schedule(account).play(change);
}

Change kernels_at(double factor) {
  return {.work = [factor](const Work&) { return factor; }, .host = {}, .unwaited = {}};
}
Change host_at(double factor) {
  return {.work = {}, .host = [factor](const Piece&) { return factor; }, .unwaited = {}};
}

// Ten kernels of 90 µs, launched ahead in 100 µs; the host then waits for the last.
Script device_limits() {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int i = 0; i < 10; ++i) script.op("aten::mm", i * 10, 9).launch(i + 1, i * 10 + 2, 5).kernel("gemm", i + 1, 20 + i * 90, 90);
  script.op("aten::item", 110, 890).launch(99, 115, 880, "cudaStreamSynchronize");
  return script;
}

// Ten kernels of 10 µs, each launched 100 µs after the one before.
Script host_limits() {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int i = 0; i < 10; ++i) script.op("aten::mm", i * 100, 95).launch(i + 1, i * 100 + 80, 5).kernel("gemm", i + 1, i * 100 + 88, 10);
  return script;
}

}  // namespace

TEST_CASE("an unchanged recording takes its own time") {
  for (const Script& script : {device_limits(), host_limits()}) {
    const Played played = play(account_of(script), {});
    CHECK(played.recorded == us(1000));
    CHECK(played.changed == played.recorded);
  }
}

TEST_CASE("shorter kernels help where the device limits the step, and nowhere else") {
  // 20 µs until the first kernel, ten of 45 µs, and 80 + 5 µs after the last as before.
  CHECK(play(account_of(device_limits()), kernels_at(0.5)).changed == us(20 + 450 + 80 + 0 + 0));
  CHECK(play(account_of(host_limits()), kernels_at(0.5)).changed == us(1000));
}

TEST_CASE("a faster host helps where it launches late, and waits longer where it does not") {
  CHECK(play(account_of(host_limits()), host_at(0.5)).changed == us(490 + 8 + 10));  // the last launch, and its kernel
  const Played waits = play(account_of(device_limits()), host_at(0.5));
  CHECK(waits.changed > us(950));
  CHECK(waits.changed < us(1000));
}

TEST_CASE("without a wait the host goes on, and the device still has its work to do") {
  Change change;
  change.unwaited = [](const Piece&) { return true; };
  const Played played = play(account_of(device_limits()), change);
  CHECK(played.changed == us(920));  // the end of the last kernel
}

TEST_CASE("work that waited for another stream still does") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  script.op("aten::mm", 0, 20).launch(1, 5, 5).kernel("gemm", 1, 20, 500);
  script.op("aten::add", 20, 20).launch(2, 25, 5).kernel("add", 2, 521, 100, 91);
  script.op("aten::item", 50, 600).launch(99, 60, 561, "cudaStreamSynchronize");
  const Played played =
      play(account_of(script),
           {.work = [](const Work& work) { return work.end - work.start > us(200) ? 0.5 : 1.0; }, .host = {}, .unwaited = {}});
  CHECK(played.recorded - played.changed == us(250));
}

TEST_CASE("communication that nobody waits for takes no time of the step, and without any its time is gone") {
  // A product of 500 µs, an exchange of its result of `exchange` µs on a stream of its own, the update of 50 µs, then the host goes on.
  const auto step_with = [](std::int64_t exchange) {
    Script script;
    script.range("ProfilerStep#0", 0, 600 + exchange);
    script.op("aten::mm", 0, 9).launch(1, 2, 5).kernel("gemm", 1, 20, 500);
    script.op("c10d::allreduce_", 10, 9).launch(2, 12, 5).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, 520, exchange, 91);
    script.op("aten::add_", 20, 9).launch(3, 22, 5).kernel("add", 3, 520 + exchange, 50);
    script.op("aten::item", 40, 555 + exchange).launch(99, 45, 545 + exchange, "cudaStreamSynchronize");
    return account_of(script);
  };
  const auto asked = [](const attribution::Account& account) { return communication_sensitivity(account, Schedule(account), {}); };
  const attribution::Account short_one = step_with(400);
  const auto little = asked(short_one);
  REQUIRE(little);
  CHECK(little->without == Approx(600.0 / 1000));  // the product ends at 520, the update at 570, and the host goes on for 30
  CHECK(little->hidden == Approx(600.0 / 1000));
  // What takes longer than all else is never hidden whole.
  const auto much = asked(step_with(1400));
  REQUIRE(much);
  CHECK(much->hidden == Approx(1400.0 / 2000));
  CHECK(much->without == Approx(600.0 / 2000));
  CHECK_FALSE(asked(account_of(device_limits())));
}

TEST_CASE("without a device what a host waits for exchanges is gone without them") {
  Script script;
  script.process("1").range("ProfilerStep#0", 0, 1000).op("aten::mm", 0, 400).op("aten::add_", 700, 300);
  script.range("gloo:all_reduce", 100, 580, {.thread = 1});
  script.trace().messages.event.push_back(static_cast<std::uint32_t>(script.trace().events.size() - 1));
  const Read read(script);
  const auto account = attribution::account(read.trace, read.forest, read.steps, read.owners);
  const auto told = communication_sensitivity(account, Schedule(account), host_exchanges(read.trace, read.forest, read.steps));
  REQUIRE(told);
  CHECK(told->without == Approx(720.0 / 1000));  // it goes on 20 µs after the exchange
  CHECK(told->hidden == Approx(720.0 / 1000));   // which is longer than its 580 µs
}

TEST_CASE("real recordings played unchanged take their own time, and no more when something is shorter") {
  for (const std::filesystem::path& path : tests::traces(tests::kReal, "schedules of real traces are not played")) {
    CAPTURE(path.filename().string());
    const auto annotated = profile::annotate(path);
    REQUIRE(annotated.has_value());
    if (annotated->account.steps.empty()) continue;
    const Played same = play(annotated->account, {});
    CHECK(same.changed == same.recorded);
    const double kernels = play(annotated->account, kernels_at(0.5)).ratio(), host = play(annotated->account, host_at(0.5)).ratio();
    CHECK(kernels <= 1.0);
    CHECK(kernels >= 0.499);
    CHECK(host <= 1.0);
    CHECK(host >= 0.499);
    Change both = kernels_at(0.5);
    both.host = host_at(0.5).host;
    CHECK(play(annotated->account, both).ratio() <= std::min(kernels, host) + 1e-9);
  }
}
