#include "annotator/trace/windows.h"

#include <random>

#include "annotator/trace/read.h"
#include "tests/unit/catch.h"
#include "tests/unit/trace/gzip.h"

using namespace hotlens;
using namespace hotlens::trace;
using hotlens::trace::testing::gzip;

namespace {

Result<Trace> read(const std::string& text, std::size_t window, Issues& issues) {
  Result<Source> source = Source::of(text, "t.json");
  REQUIRE(source.has_value());
  return read_source(std::move(*source), "t.json", issues, window);
}

// Every shape of element and member that could mislead a cut.
std::string misleading(std::mt19937& random) {
  std::string text = R"({"schemaVersion": 1, "note": "\"traceEvents\": [{\"ph\": \"X\"}", "nested": {"traceEvents": [{"ph": "X", "name":
    "wrong", "ts": 1, "dur": 1}, {"ph": "X"}]}, "traceEvents": [)";
  for (int i = 0; i < 60; ++i) {
    switch (random() % 5) {
      case 0:
        text += R"({"ph": "X", "cat": "cpu_op", "name": "},{\"ph\": \"X\" ]}", "pid": 1, "tid": 1, "ts": )" + std::to_string(i) +
                R"(, "dur": 2, "args": {"list": [{"a": 1},{"b": [{"c": "x"},{"d": 2}]}, {"e": 1}]}})";
        break;
      case 1:
        text += R"({"args":{"correlation":7,"x":[{"y":{}},{"z":1}]},"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":3,"dur":1})";
        break;
      case 2:
        text += R"({ "ph": "M", "name": "thread_name", "pid": 1, "tid": 5, "args": {"name": "]"} })";
        break;
      case 3:
        text += "17";
        break;
      default:
        text += "{\n  \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" + std::string(random() % 700, 'n') +
                "\", \"pid\": 1, \"tid\": 1,\n  \"ts\": 5.125, \"dur\": 2\n  }";
    }
    text += random() % 2 == 0 ? ",\n  " : ",";
  }
  text += R"({"ph": "X", "cat": "cpu_op", "name": "last", "pid": 1, "tid": 1, "ts": 1, "dur": 1}],
    "deviceProperties": [{"id": 0, "name": "A"},{"id": 1, "name": "B"}], "baseTimeNanoseconds": 42})";
  return text;
}

void check_same(const Trace& one, const Trace& other) {
  CHECK(one.events.name == other.events.name);
  CHECK(one.events.category == other.events.category);
  CHECK(one.events.start == other.events.start);
  CHECK(one.events.correlation == other.events.correlation);
  CHECK(one.events.index == other.events.index);
  CHECK(one.threads.size() == other.threads.size());
  CHECK(one.base == other.base);
  CHECK(one.devices.size() == other.devices.size());
  CHECK(one.json_bytes == other.json_bytes);
}

}  // namespace

TEST_CASE("a trace reads the same through any window") {
  const unsigned seed = 11;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 30; ++round) {
    const std::string text = misleading(random);
    Issues issues;
    const Result<Trace> whole = read(text, text.size() + 1, issues);
    REQUIRE(whole.has_value());
    CHECK(issues.items().empty());
    CHECK(whole->base == Ns{42});
    CHECK(whole->devices.size() == 2);
    CHECK(whole->names[whole->events.name.back()] == "last");
    CHECK(whole->events.index.back() == 60);
    for (const std::size_t window : {16U, 61U, 128U, 1000U, 4096U}) {
      CAPTURE(window);
      Issues same;
      const Result<Trace> parts = read(text, window, same);
      REQUIRE(parts.has_value());
      CHECK(same.items().empty());
      check_same(*whole, *parts);
    }
  }
}

TEST_CASE("gzip reads the same as its text") {
  std::mt19937 random(5);
  const std::string text = misleading(random);
  Issues issues;
  check_same(*read(text, 1 << 20, issues), *read(hotlens::trace::testing::gzip(text), 97, issues));
}

TEST_CASE("an event larger than many windows is read") {
  const std::string name(300'000, 'n');
  const std::string text = R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": ")" + name +
                           R"(", "pid": 1, "tid": 1, "ts": 1, "dur": 1}, {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1,
    "ts": 2, "dur": 1}]})";
  Issues issues;
  const Result<Trace> trace = read(text, 1000, issues);
  REQUIRE(trace.has_value());
  REQUIRE(trace->events.size() == 2);
  CHECK(trace->names[trace->events.name[0]].size() == 64 * 1024);
}

TEST_CASE("a window shows what was not consumed and what follows it") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += static_cast<char>('a' + i % 26);
  Result<Source> source = Source::of(text, "t");
  REQUIRE(source.has_value());
  Windows windows(*source, 1000);
  std::string seen;
  while (windows.more()) {
    const std::size_t half = windows.rest().size() / 2;
    seen += windows.rest().substr(0, half);
    windows.consume(half);
    CHECK(windows.consumed() == seen.size());
  }
  seen += windows.rest();
  CHECK(seen == text);
  CHECK_FALSE(windows.error().has_value());
}

TEST_CASE("a text that is too much for the memory is given up with a sentence") {
  // Distinct names and one endless one: what is made of either grows with the text.
  std::string many = R"({"traceEvents": [)";
  for (int i = 0; i < 60'000; ++i) {
    many += R"({"ph":"X","cat":"cpu_op","name":")" + std::to_string(i) + std::string(200, 'n') + R"(","pid":1,"tid":1,"ts":1,"dur":1},)";
  }
  const std::string endless = R"({"traceEvents": [{"ph":"X","name":")" + std::string(std::size_t{24} << 20, 'n');
  for (const std::string& text : {many + "{}]}", endless}) {
    const std::string bytes = gzip(text);
    Result<Source> source = Source::of(bytes, "bomb.json.gz");
    REQUIRE(source.has_value());
    Issues issues;
    const Result<Trace> trace =
        read_source(std::move(*source), "bomb.json.gz", issues, Windows::kUsual, MemoryBudget(std::size_t{4} << 20));
    REQUIRE_FALSE(trace.has_value());
    CHECK(trace.error().message.find("too large for the memory") != std::string::npos);
    CHECK(trace.error().where == "bomb.json.gz");
  }
}
