#include "annotator/costs/launches.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::costs;
using attribution::Script;
using attribution::us;

namespace {

std::optional<Launches> launches_of(const Script& script) {
  const attribution::Read read(script);
  const attribution::Account account = attribution::account(read.trace, read.forest, read.steps, read.owners);
  return launches(read.trace, read.forest, account, 0);
}

}  // namespace

TEST_CASE("delays are from the end of a launch to its kernel, and a kernel may be shorter than its launch") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  script.op("aten::mm", 0, 200).launch(1, 0, 10).launch(2, 20, 10).launch(3, 40, 30);
  script.kernel("a", 1, 15, 100).kernel("b", 2, 115, 10).kernel("c", 3, 125, 20);
  const auto found = launches_of(script);
  REQUIRE(found);
  CHECK(found->kernels == 3);
  CHECK(found->delay_median == us(55));  // of 5, 85, 55
  CHECK(found->delay_p90 == us(85));
  CHECK(found->shorter == 1);  // a kernel as long as its launch is not
}

TEST_CASE("what a graph launches together has no launch of its own") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000).op("aten::mm", 0, 200).launch(1, 0, 10, "cudaGraphLaunch").launch(2, 20, 5);
  script.kernel("a", 1, 15, 100).kernel("b", 1, 115, 10).kernel("c", 2, 125, 20);
  const auto found = launches_of(script);
  REQUIRE(found);
  CHECK(found->kernels == 1);
  CHECK(found->in_graphs == 2);
}

TEST_CASE("work is queued from its launch until it runs") {
  Script script;
  script.range("ProfilerStep#0", 0, 400).op("aten::mm", 0, 100).launch(1, 0, 10).launch(2, 20, 10);
  script.kernel("a", 1, 100, 100).kernel("b", 2, 220, 80);
  const auto found = launches_of(script);
  REQUIRE(found);
  CHECK(found->queued_mean == Approx((100.0 + 200.0) / 400));
  CHECK(found->queue_empty == Approx(1 - 220.0 / 400));
}

TEST_CASE("idle time is the host's, one kernel's after another, or something else's") {
  Script script;
  script.range("ProfilerStep#0", 0, 400).op("aten::mm", 0, 100).launch(1, 0, 10).launch(2, 20, 10);
  script.kernel("a", 1, 20, 100).kernel("b", 2, 220, 180);
  const auto found = launches_of(script);
  REQUIRE(found);
  CHECK(found->host_wait == us(20));
  CHECK(found->other_wait == us(100));
  CHECK(found->kernel_wait == Ns{});
}

TEST_CASE("copies are told by direction and memory, with the bandwidth of those that tell their bytes") {
  Script script;
  script.range("ProfilerStep#0", 0, 400).op("aten::copy_", 0, 100);
  script.launch(1, 0, 5, "cudaMemcpyAsync").launch(2, 10, 5, "cudaMemcpyAsync").launch(3, 20, 5, "hipMemcpyAsync");
  script.copy("Memcpy HtoD (Pageable -> Device)", 1, 30, 10);
  script.trace().transfers.event.push_back(static_cast<std::uint32_t>(script.trace().events.size() - 1));
  script.trace().transfers.bytes.push_back(50'000);
  script.copy("Memcpy HtoD (Pageable -> Device)", 2, 50, 20).copy("CopyDeviceToHost", 3, 80, 5);
  const auto found = launches_of(script);
  REQUIRE(found);
  REQUIRE(found->transfers.size() == 2);
  CHECK(found->transfers[0].direction == "HtoD");
  CHECK(found->transfers[0].memory == "pageable");
  CHECK(found->transfers[0].calls == 2);
  CHECK(found->transfers[0].time == us(30));
  CHECK(found->transfers[0].bytes_per_s() == Approx(5e9));
  CHECK(found->transfers[1].direction == "DtoH");
  CHECK_FALSE(found->transfers[1].bytes_per_s());
}

TEST_CASE("a step that launched nothing has no launches") {
  CHECK_FALSE(launches_of(Script().range("ProfilerStep#0", 0, 400).op("aten::mm", 0, 100)));
}
