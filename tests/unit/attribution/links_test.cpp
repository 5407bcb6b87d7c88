#include "annotator/attribution/structure/links.h"

#include "tests/unit/attribution/fixture.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::attribution;

namespace {

constexpr std::uint32_t kDeviceOfFirst = 90;
constexpr std::uint32_t kDeviceOfSecond = 91;

}  // namespace

TEST_CASE("ids of two processes collide: work belongs to the process that launches its device") {
  Script script = Script()
                      .op("a", 0, 9)
                      .launch(7, 1, 1)
                      .launch(8, 3, 1)
                      .process("2")
                      .op("b", 20, 9, {.thread = 1})
                      .launch(7, 21, 1, "cudaLaunchKernel", 1)
                      .launch(8, 23, 1, "cudaLaunchKernel", 1)
                      .kernel("k", 7, 5, 1)
                      .kernel("k", 8, 7, 1);
  script.op("of second", 25, 1, {.correlation = 7, .thread = kDeviceOfSecond})
      .op("of second", 27, 1, {.correlation = 8, .thread = kDeviceOfSecond});
  trace::Trace& trace = script.trace();
  for (std::size_t event = 0; event < trace.events.size(); ++event) {
    if (trace.events.thread[event].index == kDeviceOfSecond) trace.events.category[event] = trace::Category::kernel;
  }
  trace.threads[kDeviceOfFirst].process_id = trace::ProcessId{5};
  trace.threads[kDeviceOfSecond].process_id = trace::ProcessId{6};
  const Read read(script);
  const Launches launches(read.trace, read.forest);
  CHECK(launches.of(6) == read.node("cudaLaunchKernel", 0));
  CHECK(launches.of(8) == read.node("cudaLaunchKernel", 2));
  CHECK(launches.of(9) == read.node("cudaLaunchKernel", 3));
  CHECK(launches.belongs_to_another(8, read.forest.threads[read.steps.main].process));
  CHECK_FALSE(launches.belongs_to_another(6, read.forest.threads[read.steps.main].process));
}

TEST_CASE("of launches with one id the last before the work started it") {
  const Script script = Script().launch(3, 1, 1).launch(3, 10, 1).kernel("k", 3, 5, 1).kernel("k", 3, 14, 1);
  const Read read(script);
  const Launches launches(read.trace, read.forest);
  CHECK(launches.of(2) == read.node("cudaLaunchKernel", 0));
  CHECK(launches.of(3) == read.node("cudaLaunchKernel", 1));
}

TEST_CASE("without correlation an arrow from the operator links its work") {
  Script script = Script().op("aten::linear", 1, 9).op("aten::addmm", 3, 4).kernel("addmm", trace::kNone, 20, 5);
  trace::Flows& flows = script.trace().flows;
  flows.id = {1, 1};
  flows.kind = {trace::Flows::Kind::launch, trace::Flows::Kind::launch};
  flows.end = {trace::Flows::End::start, trace::Flows::End::finish};
  flows.thread = {trace::ThreadId{0}, trace::ThreadId{kDeviceOfFirst}};
  flows.time = {us(3), us(20)};
  const Read read(script);
  CHECK(Launches(read.trace, read.forest).of(2) == read.node("aten::addmm"));
}
