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

TEST_CASE("in a trace of torch up to 1.11 a name that no operator has is a person's range, and in later ones an operator") {
  const auto category = [](const std::string& filed, const std::string& name, const std::string& args = "{}") {
    const std::string event = R"({"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 9, "cat": ")" + filed + R"(", "name": ")" + name;
    return read(R"({"traceEvents": [)" + event + R"(", "args": )" + args + "}]}").events.category.at(0);
  };
  for (const char* range : {"encoder", "## forward:over_arch ##", "layer1.0"}) {
    CAPTURE(range);
    CHECK(category("Operator", range) == Category::annotation);
    CHECK(category("cpu_op", range) == Category::cpu_op);
  }
  for (const char* op : {"aten::add", "AddmmBackward", "ReluBackward1", "torch::autograd::AccumulateGrad", "nccl:all_reduce"}) {
    CAPTURE(op);
    CHECK(category("Operator", op) == Category::cpu_op);
  }
  CHECK(category("Operator", "MyFunction", R"({"Sequence number": 4})") == Category::cpu_op);
}

TEST_CASE("names are unescaped, and two spellings of one name are one name") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "a\"b\\c\n\u00e9", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "a\u0022b\u005cc\u000a\u00e9", "pid": 1, "tid": 1, "ts": 2, "dur": 1}]})json");
  CHECK(name_at(trace, 0) == "a\"b\\c\n\xc3\xa9");
  CHECK(trace.events.name[0] == trace.events.name[1]);
}

TEST_CASE("escaped pairs are one character, halves of pairs are none") {
  const Trace trace = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "\ud83d\ude00 \ud83d \ude00 \ud83dx", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})json");
  CHECK(name_at(trace, 0) == "\xf0\x9f\x98\x80 \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbdx");
}

TEST_CASE("a name that is too long is cut between characters") {
  std::string name = "x";
  for (int i = 0; i < 70'000; ++i) name += "\xc3\xa9";
  const Trace trace = read(R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "ts": 1, "dur": 1}]})");
  const std::string_view kept = name_at(trace, 0);
  CHECK(kept.size() == 64 * 1024 - 1);
  CHECK(kept == name.substr(0, kept.size()));
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
