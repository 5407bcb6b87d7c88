#include "annotator/trace/trace.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::trace;

namespace {

Trace read(const std::string& text) {
  Issues issues;
  Result<Trace> trace = read_bytes(text, "test.json", issues);
  REQUIRE(trace.has_value());
  CHECK(issues.items().empty());
  return std::move(*trace);
}

}  // namespace

TEST_CASE("facts of the recording, also where another tool turned an object into text") {
  for (const std::string info : {R"({"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"ranks": [0, 1]}]})",
                                 R"("{\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8}")"}) {
    const Trace trace = read(R"json({"with_stack": 1, "profile_memory": 1, "cuda_runtime_version": 12040, "distributedInfo": )json" + info +
                             R"json(, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}],
      "hip_runtime_version": 60342134, "deviceProperties": [{"id": "1", "name": "MI\u0033"}, 5]})json");
    CHECK(trace.recording.with_stack);
    CHECK(trace.recording.profile_memory);
    CHECK_FALSE(trace.recording.record_shapes);
    CHECK(trace.recording.cuda_runtime == 12040);
    CHECK_FALSE(trace.recording.cuda_driver.has_value());
    CHECK(trace.recording.rank == 3);
    CHECK(trace.recording.world_size == 8);
    CHECK(trace.recording.backend == "nccl");
    CHECK(trace.hip);
    REQUIRE(trace.devices.size() == 1);
    CHECK(trace.devices[0].id == 1);
    CHECK(trace.devices[0].name == "MI3");
  }
}

TEST_CASE("processes have names and labels") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0, "args": {"name": "python3"}},
    {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1}]})json");
  REQUIRE(trace.threads.size() == 1);
  const Process& process = trace.processes[trace.threads[0].process_id.index];
  CHECK(process.id == "0");
  CHECK(process.name == "python3");
  CHECK(process.labels == "GPU 0");
}
