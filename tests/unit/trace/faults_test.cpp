#include "annotator/trace/repair.h"
#include "annotator/trace/trace.h"

#include <random>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::trace;

namespace {

std::string event(const std::string& name, int start) {
  return R"(  {
    "ph": "X", "cat": "python_function", "name": ")" +
         name + R"(", "pid": 1, "tid": 1,
    "ts": )" +
         std::to_string(start) + R"(.125, "dur": 2.000,
    "args": {
      "External id": 1,"Ev Idx": 4
    }
  })";
}

std::string trace_of(const std::vector<std::string>& events) {
  std::string text = "{\n  \"schemaVersion\": 1,\n  \"baseTimeNanoseconds\": 77,\n  \"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i > 0 ? ",\n" : "") + events[i];
  return text + "\n  ]\n}\n";
}

struct Read {
  Trace trace;
  Issues issues;
  std::int64_t count_of(std::string_view code) const {
    for (const Issue& issue : issues.items()) {
      if (issue.code == code) return issue.count;
    }
    return 0;
  }
};

Read read(const std::string& text) {
  Read result;
  Result<Trace> trace = read_bytes(text, "t.json", result.issues);
  REQUIRE(trace.has_value());
  result.trace = std::move(*trace);
  return result;
}

std::string_view name_at(const Trace& trace, std::size_t at) {
  return trace.names[trace.events.name[at]];
}

}  // namespace

// Faults of real writers: TRACES.md A.9 names the versions.
TEST_CASE("a broken name costs nothing: the event is repaired and its neighbours stay") {
  const auto [fault, name] = GENERATE(table<std::string, std::string>({
      {R"(<string>{"device":"cpu"}(0): f)", R"(<string>{"device":"cpu"}(0): f)"},
      {"two\nlines", "two\nlines"},
      {R"(C:\Users\me\train.py(3): f)", "C:\\Users\\me\train.py(3): f"},
      {"config.py(0): \xff\xfe", "config.py(0): \xef\xbf\xbd\xef\xbf\xbd"},
      {"bell\x07", "bell\x07"},
      {R"(one " quote)", R"(one " quote)"},
  }));
  CAPTURE(fault);
  const Read result = read(trace_of({event("first", 1), event(fault, 5), event("last", 9)}));
  REQUIRE(result.trace.events.size() == 3);
  CHECK(name_at(result.trace, 0) == "first");
  CHECK(name_at(result.trace, 1) == name);
  CHECK(name_at(result.trace, 2) == "last");
  CHECK(result.trace.events.start[1] == Ns{5125});
  CHECK(result.trace.events.index[2] == 2);
  CHECK(result.trace.base == Ns{77});
}

TEST_CASE("an empty fragment before a closing bracket is repaired") {
  const std::string odd = R"({"ph": "X", "cat": "cpu_op", "name": "odd", "pid": 1, "tid": 1, "ts": 3, "dur": 1, "args": {"a": 1, } })";
  const Read result = read(trace_of({event("first", 1), odd, event("last", 9)}));
  CHECK(result.trace.events.size() == 3);
}

TEST_CASE("rubbish between events costs only itself") {
  const Read result = read(trace_of({event("first", 1), "  {\"ph\": \"X\", \"name\": @@@ ]] \"pid\"", event("last", 9)}));
  REQUIRE(result.trace.events.size() == 2);
  CHECK(name_at(result.trace, 1) == "last");
  CHECK(result.trace.events.index[1] == 2);
  CHECK(result.count_of("broken-event") == 1);
}

TEST_CASE("truncated anywhere, every whole event is kept and the loss is said") {
  std::vector<std::string> events;
  for (int i = 0; i < 40; ++i) events.push_back(event(i % 3 == 0 ? "aten::add" : "frame \\\"" + std::to_string(i) + "\\\" {", i * 10));
  const std::string whole = trace_of(events);
  const unsigned seed = 20261121;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    const std::size_t cut = whole.find(events[0]) + events[0].size() + random() % (whole.size() - whole.find(events[1]));
    std::size_t expected = 0;
    for (std::size_t i = 0, at = whole.find(events[0]); i < events.size(); ++i) {
      at += events[i].size();
      if (at <= cut) ++expected;
      at += 2;
    }
    const Read result = read(whole.substr(0, cut));
    CAPTURE(cut);
    CHECK(result.trace.events.size() == expected);
    const bool complete = cut > whole.rfind(']');
    CHECK((result.count_of("truncated-trace") > 0) == !complete);
  }
}

TEST_CASE("mutated bytes never crash the reader nor add events") {
  std::vector<std::string> events;
  for (int i = 0; i < 20; ++i) events.push_back(event("aten::add", i * 10));
  const std::string whole = trace_of(events);
  const unsigned seed = 3;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (unsigned change = 0; change <= random() % 4; ++change) text[random() % text.size()] = static_cast<char>(random());
    Issues issues;
    const Result<Trace> trace = read_bytes(text, "t.json", issues);
    if (trace) CHECK(trace->events.size() <= events.size());
  }
}

TEST_CASE("a repaired event is JSON that says the same") {
  CHECK(repaired(R"({"a": "x"y", "b": [1, 2, ]})") == R"({"a": "x\"y", "b": [1, 2 ]})");
  CHECK(repaired("{\"a\": \"\\q\"}") == R"({"a": "\\q"})");
  CHECK(repaired(R"({"a": "b"})") == R"({"a": "b"})");
}
