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

TEST_CASE("allocations are rows of their own in every version, and no events") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 2, "ts": 3, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}},
    {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 2, "ts": 5.5, "args": {
      "Total Reserved": 2097152, "Total Allocated": 512, "Bytes": -1024, "Addr": 139827601211392, "Device Id": 1, "Device Type": 6}},
    {"ph":"X","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":2,"ts":7,"dur":0,"args":{"Bytes":8,"Addr":16,"Device Type":1,
      "Device Id":0,"Total Allocated":8,"Total Reserved":9}},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 8, "dur": 1}]})json");
  CHECK(trace.events.size() == 1);
  const MemoryEvents& memory = trace.memory;
  REQUIRE(memory.size() == 3);
  CHECK(memory.bytes == std::vector<std::int64_t>{4, -1024, 8});
  CHECK(memory.time == std::vector<Ns>{Ns{3000}, Ns{5500}, Ns{7000}});
  CHECK(memory.address == std::vector<std::int64_t>{kNone, 139827601211392, 16});
  CHECK(memory.device_type == std::vector<std::int8_t>{0, 6, 1});
  CHECK(memory.device == std::vector<std::int32_t>{-1, 1, 0});
  CHECK(memory.total_allocated == std::vector<std::int64_t>{kNone, 512, 8});
  CHECK(memory.total_reserved == std::vector<std::int64_t>{kNone, 2097152, 9});
  CHECK(memory.thread[0] == trace.events.thread[0]);
}

TEST_CASE("an allocation that failed is said") {
  Issues issues;
  const auto trace = read_bytes(R"json({"traceEvents": [
    {"ph": "i", "cat": "cpu_instant_event", "name": "[OutOfMemory]", "pid": 1, "tid": 2, "ts": 3, "args": {"Bytes": 4}},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 8, "dur": 1}]})json",
                                "t.json", issues);
  REQUIRE(trace.has_value());
  CHECK(trace->memory.size() == 0);
  REQUIRE(issues.items().size() == 1);
  CHECK(issues.items()[0].code == "out-of-memory");
}

TEST_CASE("arrows are kept where no correlation or sequence number says the same") {
  const std::string launch = R"json({"ph": "s", "id": 70, "pid": 1, "tid": 2, "ts": 3, "cat": "async", "name": "launch"},
    {"ph": "f", "id": 70, "pid": 0, "tid": "stream 7", "ts": 9, "cat": "async", "name": "launch", "bp": "e"},)json";
  const std::string backward = R"json({"ph": "s", "id": 1, "pid": 1, "tid": 2, "ts": 4, "cat": "fwdbwd", "name": "fwdbwd"},
    {"ph": "f", "id": 1, "pid": 1, "tid": 5, "ts": 5, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},)json";
  const std::string other = R"json({"ph": "s", "id": 1, "pid": 1, "tid": 2, "ts": 4, "cat": "critical_path", "name": "x"},)json";
  const auto whole = [&](const std::string& kernel, const std::string& node) {
    return read(R"({"traceEvents": [)" + launch + backward + other +
                R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "dur": 1, "args": {)json" + kernel +
                R"json(}}, {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 5, "ts": 5, "dur": 1, "args": {)json" + node +
                "}}]}");
  };
  const Trace bare = whole("", "");
  REQUIRE(bare.flows.size() == 4);
  CHECK(bare.flows.id == std::vector<std::int64_t>{70, 70, 1, 1});
  CHECK(bare.flows.kind[1] == Flows::Kind::launch);
  CHECK(bare.flows.kind[2] == Flows::Kind::backward);
  CHECK(bare.flows.end[0] == Flows::End::start);
  CHECK(bare.flows.end[1] == Flows::End::finish);
  CHECK(bare.flows.time[1] == Ns{9000});
  CHECK(bare.threads[bare.flows.thread[1].index].id == "stream 7");
  const Trace correlated = whole(R"("correlation": 4)", "");
  CHECK(correlated.flows.id == std::vector<std::int64_t>{1, 1});
  const Trace both = whole(R"("correlation": 4)", R"("Sequence number": 3, "Fwd thread id": 1)");
  CHECK(both.flows.size() == 0);
}

TEST_CASE("what operators were given is kept once, as written") {
  const Trace trace = read(R"json({"record_shapes": 1, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"External id": 1,
      "Concrete Inputs": ["", ""], "Input type": ["float", "c10::BFloat16"], "Input Dims": [[2, 3], [3, 4]], "Ev Idx": 0}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"External id": 1}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 3, "dur": 1, "args": {"Input dims": [[2, 3], [3, 4]]}}]})json");
  REQUIRE(trace.inputs.size() == 2);
  CHECK(trace.inputs.event == std::vector<std::uint32_t>{0, 2});
  CHECK(trace.inputs_text[trace.inputs.shapes[0]] == "[[2, 3], [3, 4]]");
  CHECK(trace.inputs_text[trace.inputs.types[0]] == R"(["float", "c10::BFloat16"])");
  CHECK(trace.inputs_text[trace.inputs.values[0]] == R"(["", ""])");
  CHECK(trace.inputs.shapes[0] == trace.inputs.shapes[1]);
  CHECK_FALSE(trace.inputs.types[1].valid());
  CHECK(row_of(trace.inputs.event, 2) == 1);
  CHECK_FALSE(row_of(trace.inputs.event, 1).has_value());
  CHECK(trace.recording.record_shapes);
}

TEST_CASE("copies and fills tell their bytes") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"bytes": 1}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 2, "dur": 1, "args": {"bytes": 602112}},
    {"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 0, "tid": 7, "ts": 3, "dur": 1, "args": {}}]})json");
  CHECK(trace.transfers.event == std::vector<std::uint32_t>{1});
  CHECK(trace.transfers.bytes == std::vector<std::int64_t>{602112});
}
