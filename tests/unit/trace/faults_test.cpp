#include "annotator/trace/repair.h"
#include "annotator/trace/trace.h"

#include <chrono>
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

TEST_CASE("a raw quote in the last name costs nothing either") {
  const Read result = read(trace_of({event("first", 1), event("la\"st", 5)}));
  REQUIRE(result.trace.events.size() == 2);
  CHECK(name_at(result.trace, 1) == "la\"st");
  CHECK(result.count_of("repaired-event") == 1);
  CHECK(result.count_of("truncated-trace") == 0);
}

TEST_CASE("arguments that are no JSON cost nothing") {
  for (const std::string argument : {R"("dtype": float)", R"("dtype": ""c10::Half"")", R"("list": "a "b" c")", R"("x": NaN)",
                                     R"("x": -inf)", R"("correlation": 7, "correlation": 8)", R"("Comms Id": 18446744073709551615)"}) {
    CAPTURE(argument);
    const std::string odd =
        R"({"ph": "X", "cat": "kernel", "name": "odd", "pid": 1, "tid": 1, "ts": 3, "dur": 1, "args": {)" + argument + "}}";
    const Read result = read(trace_of({event("first", 1), odd, event("last", 9)}));
    REQUIRE(result.trace.events.size() == 3);
    CHECK(name_at(result.trace, 1) == "odd");
    CHECK(name_at(result.trace, 2) == "last");
  }
}

TEST_CASE("log text with raw quotes beside the events costs only itself") {
  const std::string log = R"("INFO": ["opened "{cfg" [1]", "done"],)";
  const std::string whole = trace_of({event("first", 1), event("last", 9)});
  const std::size_t list = whole.find("\"traceEvents\"");
  const Read before = read(whole.substr(0, list) + log + whole.substr(list));
  CHECK(before.trace.events.size() == 2);
  CHECK(before.trace.base == Ns{77});
  CHECK(before.count_of("damaged-metadata") == 1);
  const std::string tail = R"( "traceName": "x", "WARNING": ["bad "quote"], "baseTimeNanoseconds": 78 })";
  const Read behind = read(whole.substr(0, whole.rfind('}')) + "," + tail);
  CHECK(behind.trace.events.size() == 2);
  CHECK(behind.trace.base == Ns{78});
  CHECK(behind.count_of("damaged-metadata") == 1);
}

TEST_CASE("numbers beyond any type are kept as far as they mean something") {
  const Read result = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "early", "pid": 0, "tid": -9223372036854775808, "ts": 0, "dur": 0, "args": {"correlation": -3}},
    {"ph": "X", "cat": "kernel", "name": "long", "pid": 0, "tid": 7, "ts": 1, "dur": 604800000000, "args": {"correlation": 99999999999999999999}},
    {"ph": "s", "id": -7, "pid": 1, "tid": 2, "ts": 3, "cat": "ac2g", "name": "ac2g"}]})json");
  REQUIRE(result.trace.events.size() == 2);
  CHECK(result.trace.threads[0].id == "-9223372036854775808");
  CHECK(result.trace.events.duration[0] == Ns{0});
  CHECK(result.trace.events.correlation[0] == -3);
  CHECK(result.trace.events.duration[1] == Ns{604'800'000'000'000});
  CHECK(result.trace.events.correlation[1] == kNone);
  REQUIRE(result.trace.flows.size() == 1);
  CHECK(result.trace.flows.id[0] == -7);
}

TEST_CASE("a comma behind the last event is no event") {
  const std::string whole = trace_of({event("first", 1), event("last", 9)});
  const std::size_t close = whole.rfind(']');
  const Read result = read(whole.substr(0, close) + "," + whole.substr(close));
  CHECK(result.trace.events.size() == 2);
  CHECK(result.issues.items().empty());
}

TEST_CASE("a file whose every event is broken is read as fast as it is long") {
  std::vector<std::string> events;
  for (int i = 0; i < 20000; ++i) events.push_back(event(i % 2 == 0 ? "C:\\Users\\me.py(3): f" : "a \xff b", i * 10));
  const auto start = std::chrono::steady_clock::now();
  const Read result = read(trace_of(events));
  CHECK(result.trace.events.size() == events.size());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
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

TEST_CASE("an event whose arguments close with the wrong bracket is kept once") {
  std::string odd = event("odd", 5);
  odd.insert(odd.rfind("}\n"), "]");
  const Read result = read(trace_of({event("first", 1), odd, event("last", 9)}));
  REQUIRE(result.trace.events.size() == 3);
  CHECK(name_at(result.trace, 1) == "odd");
  CHECK(name_at(result.trace, 2) == "last");
}

TEST_CASE("a repaired event is JSON that says the same") {
  CHECK(repaired(R"({"a": "x"y", "b": [1, 2, ]})") == R"({"a": "x\"y", "b": [1, 2 ]})");
  CHECK(repaired("{\"a\": \"\\q\"}") == R"({"a": "\\q"})");
  CHECK(repaired(R"({"a": "b"})") == R"({"a": "b"})");
}

TEST_CASE("durations and sizes that no sum could hold are left out and counted, so that all others can be added up") {
  std::string text = R"({"traceEvents":[)";
  for (int i = 0; i < 6; ++i)
    text += R"({"ph":"X","name":"a","cat":"cpu_op","pid":1,"tid":1,"ts":)" + std::to_string(i) + R"(,"dur":500000000000000},)";
  text += R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":4000000000000000,"dur":1},)";
  for (int i = 0; i < 4; ++i) {
    text += R"({"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":1,"args":{"Bytes":-1000000000000000000,"Addr":1}},)";
  }
  const Read result = read(text + R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":7,"dur":1}]})");
  CHECK(result.trace.events.size() == 5);
  CHECK(name_at(result.trace, 4) == "b");
  CHECK(result.trace.memory.size() == 2);
  CHECK(result.count_of("unusable-event") == 2 + 1 + 2);
}
