#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

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

std::string_view name_at(const Trace& trace, std::size_t event) {
  return trace.names[trace.events.name[event]];
}

}  // namespace

TEST_CASE("a Kineto event becomes one row") {
  const Trace trace =
      read(R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85029158912}],
    "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 10.5, "dur": 2.25,
     "args": {"External id": 3, "Sequence number": 21, "Fwd thread id": 1, "Input Dims": [[2, 3], []]}},
    {"ph": "X", "cat": "kernel", "name": "k<float>", "pid": 0, "tid": 7, "ts": 20, "dur": 1, "args": {"correlation": 99}}]})json");
  REQUIRE(trace.events.size() == 2);
  CHECK(trace.base == Ns{1790857026000000000});
  REQUIRE(trace.devices.size() == 1);
  CHECK(trace.devices[0].name == "NVIDIA H100");
  CHECK(name_at(trace, 0) == "aten::add");
  CHECK(trace.events.category[0] == Category::cpu_op);
  CHECK(trace.events.start[0] == Ns{10500});
  CHECK(trace.events.duration[0] == Ns{2250});
  CHECK(trace.events.sequence[0] == 21);
  CHECK(trace.events.forward_thread[0] == 1);
  CHECK(trace.events.correlation[0] == kNone);
  CHECK(trace.events.category[1] == Category::kernel);
  CHECK(trace.events.correlation[1] == 99);
  CHECK(trace.threads.size() == 2);
}

TEST_CASE("keys come in any order and the base may come last") {
  const Trace trace = read(R"json({"traceEvents":[{"args":{"correlation":4},"dur":3,"tid":2,"name":"cudaLaunchKernel","ts":1,"pid":1,
    "cat":"cuda_runtime","ph":"X"}],"traceName":"x","baseTimeNanoseconds":5})json");
  REQUIRE(trace.events.size() == 1);
  CHECK(trace.events.category[0] == Category::runtime);
  CHECK(trace.events.correlation[0] == 4);
  CHECK(trace.base == Ns{5});
}

TEST_CASE("events without interest keep their place in the numbering") {
  const Trace trace = read(R"json({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}, 17,
    {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 3, "cat": "ac2g", "name": "ac2g"},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 3, "dur": 1}]})json");
  REQUIRE(trace.events.size() == 1);
  CHECK(trace.events.index[0] == 3);
}

TEST_CASE("the last name of a thread counts, and a thread is process and thread together") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 5, "args": {"name": "thread 5 (python3)"}
},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 5, "args": {"name": "thread 5 (pt_autograd_0)"}},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 5, "ts": 3, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 2, "tid": 5, "ts": 3, "dur": 1}]
})json");
  REQUIRE(trace.threads.size() == 2);
  CHECK(trace.threads[0].name == "thread 5 (pt_autograd_0)");
  CHECK(trace.events.thread[0] != trace.events.thread[1]);
  CHECK(trace.events.name[0] == trace.events.name[1]);
}

TEST_CASE("the legacy array has no categories: its two processes tell host from device") {
  const Trace trace =
      read(R"json([{"name": "aten::conv2d", "ph": "X", "ts": 54.7, "dur": 30.1, "tid": 1, "pid": "CPU functions", "args": {}},
    {"name": "ProfilerStep#1", "ph": "X", "ts": 50, "dur": 90, "tid": 1, "pid": "CPU functions", "args": {}},
    {"name": "sgemm", "ph": "X", "ts": 60, "dur": 5, "tid": 0, "pid": "CUDA functions", "args": {}}])json");
  REQUIRE(trace.events.size() == 3);
  CHECK(trace.events.category[0] == Category::cpu_op);
  CHECK(trace.events.category[1] == Category::annotation);
  CHECK(trace.events.category[2] == Category::kernel);
}

TEST_CASE("torch up to 1.11: capitalised categories, ranges among the operators, thread ids as text") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "Optimizer.step#SGD.step", "pid": 25738, "tid": "25738", "ts": 1, "dur": 9, "args": {}},
    {"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 25738, "tid": 25738, "ts": 2, "dur": 3, "args": {}},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 2, "dur": 3, "args": {"correlation": 5}}]})json");
  CHECK(trace.events.category[0] == Category::annotation);
  CHECK(trace.events.category[1] == Category::cpu_op);
  CHECK(trace.events.category[2] == Category::kernel);
  CHECK(trace.events.thread[0] == trace.events.thread[1]);
}

TEST_CASE("names are unescaped, and two spellings of one name are one name") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "a\"b\\c\n\u00e9", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "a\u0022b\u005cc\u000a\u00e9", "pid": 1, "tid": 1, "ts": 2, "dur": 1}]})json");
  CHECK(name_at(trace, 0) == "a\"b\\c\n\xc3\xa9");
  CHECK(trace.events.name[0] == trace.events.name[1]);
}

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

TEST_CASE("escaped pairs are one character, halves of pairs are none") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "\ud83d\ude00 \ud83d \ude00 \ud83dx", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})json");
  CHECK(name_at(trace, 0) == "\xf0\x9f\x98\x80 \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbdx");
}

TEST_CASE("an event without usable time is left out and counted") {
  Issues issues;
  const auto trace = read_bytes(R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": "soon", "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": -3},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 99999999999999999999999, "dur": 1}]})json",
                                "t.json", issues);
  REQUIRE(trace.has_value());
  REQUIRE(trace->events.size() == 1);
  CHECK(trace->events.duration[0] == Ns{0});
  REQUIRE(issues.items().size() == 2);
  CHECK(issues.items()[0].code == "unusable-event");
  CHECK(issues.items()[0].count == 3);
  CHECK(issues.items()[1].code == "negative-duration");
}

TEST_CASE("what is no trace is an error of one sentence with its place") {
  for (const char* text : {"", "  \n", "hello", "{}", "{\"traceEvents\": 5}", "[", "{", "\"text\"", "17", "null", "{\"a\": [1, 2"}) {
    Issues issues;
    const auto trace = read_bytes(text, "some/file.json", issues);
    CAPTURE(text);
    REQUIRE_FALSE(trace.has_value());
    CHECK(trace.error().where == "some/file.json");
    CHECK(trace.error().code == ErrorCode::malformed);
    CHECK_FALSE(trace.error().message.empty());
  }
}

TEST_CASE("a folder and a missing file are told apart") {
  Issues issues;
  CHECK(read_file(std::filesystem::temp_directory_path(), issues).error().code == ErrorCode::unreadable);
  CHECK(read_file("/nonexistent/trace.json", issues).error().code == ErrorCode::not_found);
}

TEST_CASE("a pipe is read to its end, whatever its size") {
  const std::filesystem::path pipe = std::filesystem::temp_directory_path() / ("hotlens-pipe-" + std::to_string(getpid()));
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::string text = R"json({"traceEvents": [)json";
  for (int i = 0; i < 5000; ++i) {
    text += R"json({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 3, "dur": 1},)json";
  }
  text.back() = ']';
  text += '}';
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << text; });
  Issues issues;
  const Result<Trace> trace = read_file(pipe, issues);
  writer.join();
  std::filesystem::remove(pipe);
  REQUIRE(trace.has_value());
  CHECK(trace->events.size() == 5000);
}
