// Times that cannot be, and work of devices that nobody told us about.
#include "annotator/trace/trace.h"

#include <algorithm>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::trace;

namespace {

struct Text {
  std::string events;
  int written = 0;

  // Times in microseconds.
  Text& add(const std::string& category, const std::string& name, std::int64_t start, std::int64_t duration, const std::string& args = "",
            int tid = 1) {
    if (written++ > 0) events += ",\n";
    events += R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 1, "tid": )" + std::to_string(tid) +
              R"(, "ts": )" + std::to_string(start) + R"(, "dur": )" + std::to_string(duration) + R"(, "args": {)" + args + "}}";
    return *this;
  }
  Text& ops(int count) {
    for (int at = 0; at < count; ++at) add("cpu_op", "aten::add", 1'000'000 + at * 10, 5);
    return *this;
  }
};

struct Read {
  explicit Read(const Text& text) : trace(*read_bytes(R"({"traceEvents": [)" + text.events + "]}", "t.json", issues)) {}

  const Issue* issue(std::string_view code) const {
    const auto found = std::ranges::find(issues.items(), code, &Issue::code);
    return found == issues.items().end() ? nullptr : &*found;
  }
  bool has(std::string_view name) const {
    return std::ranges::any_of(trace.events.name, [&](NameId id) { return trace.names[id] == name; });
  }

  Issues issues;
  Trace trace;
};

constexpr std::int64_t kHour = 3'600'000'000;

}  // namespace

TEST_CASE("an event days away from the others is left out and named with its place") {
  const Read read(Text().ops(20).add("kernel", "late", 1'000'000 + 75 * 24 * kHour, 7, R"("stream": 7, "correlation": 9)", 7).ops(20));
  CHECK(read.trace.events.size() == 40);
  CHECK_FALSE(read.has("late"));
  REQUIRE(read.issue("implausible-time") != nullptr);
  const std::string& said = read.issue("implausible-time")->message;
  CHECK(said.contains("\"late\" (event 20) starts"));
  CHECK(said.contains("after the others"));
  CHECK(read.issue("implausible-time")->count == 1);
  CHECK(read.trace.events.index[20] == 21);  // the file's own numbers stay
}

TEST_CASE("an event at zero and one that never ends are left out; what belongs to others keeps its event") {
  const Read read(Text()
                      .add("cpu_op", "early", 0, 5)
                      .ops(100)
                      .add("gpu_memcpy", "Memcpy HtoD", 1'000'500, 5, R"("stream": 7, "bytes": 64, "correlation": 3)", 7)
                      .add("kernel", "endless", 1'000'600, 2 * kHour, R"("stream": 8, "correlation": 4)", 8));
  // Half an hour is no jump of a clock.
  CHECK(read.has("early"));
  CHECK_FALSE(read.has("endless"));
  CHECK(read.issue("implausible-time")->message.contains("lasts"));
  const Read far(Text()
                     .add("cpu_op", "early", 0, 5)
                     .add("cpu_op", "shaped", 2 * kHour, 5, R"("Input Dims": [[2]])")
                     .ops(0)
                     .add("cpu_op", "b", 2 * kHour + 9, 5)
                     .add("cpu_op", "c", 2 * kHour + 19, 5));
  CHECK_FALSE(far.has("early"));
  REQUIRE(far.trace.inputs.size() == 1);
  CHECK(far.trace.names[far.trace.events.name[far.trace.inputs.event[0]]] == "shaped");
}

TEST_CASE("a kernel that lasts over others of its stream is left out; graphs and small overlaps stay") {
  Text text;
  text.ops(10);
  for (int at = 0; at < 50; ++at) {
    text.add("kernel", "work", 1'000'000 + at * 1000, 100, R"("stream": 7, "correlation": )" + std::to_string(100 + at), 7);
  }
  Text stuck = text;
  stuck.add("kernel", "stuck", 1'003'500, 20'000, R"("stream": 7, "correlation": 7)", 7);
  CHECK_FALSE(Read(stuck).has("stuck"));
  CHECK(Read(stuck).issue("implausible-time")->message.contains("over other work of its own stream"));
  Text other = text;  // another stream may
  other.add("kernel", "long", 1'003'500, 20'000, R"("stream": 8, "correlation": 7)", 8);
  CHECK(Read(other).has("long"));
  Text graph = text;  // one launch of many
  for (int at = 0; at < 5; ++at) graph.add("kernel", "node", 2'000'000 + at * 1000, 100, R"("stream": 7, "correlation": 8)", 7);
  graph.add("kernel", "branch", 1'999'900, 6'000, R"("stream": 7, "correlation": 8)", 7);
  CHECK(Read(graph).has("branch"));
  CHECK(Read(graph).issue("implausible-time") == nullptr);
}

TEST_CASE("a kernel over two whole ones of its stream is left out, over one it stays") {
  const auto with = [](std::int64_t duration) {
    Text text;
    text.ops(10);
    for (int at = 0; at < 6; ++at) {
      text.add("kernel", "work", 1'000'000 + at * 10'000, 10'000, R"("stream": 7, "correlation": )" + std::to_string(100 + at), 7);
    }
    return text.add("kernel", "long", 1'005'000, duration, R"("stream": 7, "correlation": 7)", 7);
  };
  const Read over(with(25'000));
  CHECK_FALSE(over.has("long"));
  REQUIRE(over.issue("implausible-time") != nullptr);
  CHECK(over.issue("implausible-time")->message.contains("over other work of its own stream"));
  CHECK(Read(with(24'900)).has("long"));
  CHECK(Read(with(24'900)).issue("implausible-time") == nullptr);
}

TEST_CASE("what ends within the jitter of the clocks, and rows that are nested, are plausible") {
  Text jitter;
  jitter.ops(10).add("kernel", "long", 1'000'000, 2'000, R"("stream": 7, "correlation": 7)", 7);
  for (int at = 0; at < 2; ++at) {
    jitter.add("gpu_memset", "Memset", 1'001'995 + 2 * at, 1, R"("stream": 7, "correlation": )" + std::to_string(100 + at), 7);
  }
  CHECK(Read(jitter).has("long"));
  Text nested;
  nested.ops(10);
  for (int at = 0; at < 9; ++at) {
    const bool outer = at % 3 == 0;
    nested.add("kernel", outer ? "job" : "part", 1'000'000 + at * 1'000, outer ? 3'000 : 1'000,
               R"("stream": 7, "correlation": )" + std::to_string(100 + at), 7);
  }
  CHECK(Read(nested).has("job"));
  CHECK(Read(nested).issue("implausible-time") == nullptr);
}

TEST_CASE("a single event that outlasts everything else many times is left out; one that others outlast stays") {
  constexpr std::int64_t kSecond = 1'000'000;
  Text text;
  text.ops(50);  // half a millisecond
  Text endless = text;
  endless.add("kernel", "endless", 1'000'100, 2 * kSecond, R"("stream": 7, "correlation": 7)", 7);
  CHECK_FALSE(Read(endless).has("endless"));
  REQUIRE(Read(endless).issue("implausible-time") != nullptr);
  CHECK(Read(endless).issue("implausible-time")->message.contains("longer than all others were recorded"));
  Text waited = endless;  // the host saw it end
  waited.add("cuda_runtime", "cudaDeviceSynchronize", 1'000'200, 2 * kSecond);
  CHECK(Read(waited).has("endless"));
  CHECK(Read(waited).issue("implausible-time") == nullptr);
  Text several = endless;  // each is judged for itself
  several.add("kernel", "longer", 1'000'100, 200 * kSecond, R"("stream": 8, "correlation": 8)", 8);
  CHECK(Read(several).trace.events.size() == 50);
  CHECK(Read(several).issue("implausible-time")->count == 2);
}

TEST_CASE("a single event seconds away from a short recording is real, one minutes away is not") {
  constexpr std::int64_t kSecond = 1'000'000;
  const std::int64_t away = GENERATE(5 * kSecond, 600 * kSecond);
  const bool real = away == 5 * kSecond;
  CHECK(Read(Text().ops(50).add("cpu_op", "stop", 1'000'000 + away, 5)).has("stop") == real);
  CHECK(Read(Text().add("cpu_op", "first", 1'000'000 - 100, 5).add("cpu_op", "second", 1'000'000 + away, 5).ops(0)).has("second"));
  Text early;
  early.add("cpu_op", "begin", 5, 5);
  for (int at = 0; at < 50; ++at) early.add("cpu_op", "aten::add", away + at * 10, 5);
  CHECK(Read(early).has("begin") == real);
}

TEST_CASE("two recordings in one file, hours apart, are both real") {
  Text text;
  text.ops(30);
  for (int at = 0; at < 30; ++at) text.add("cpu_op", "aten::mul", 1'000'000 + 5 * kHour + at * 10, 5);
  CHECK(Read(text).trace.events.size() == 60);
}

TEST_CASE("every accelerator's work is work") {
  const auto [category, kind, accelerator] = GENERATE(table<std::string, Category, std::string>({
      {"mtia_ccp_events", Category::kernel, "mtia"},
      {"mtia_runtime", Category::runtime, "mtia"},
      {"xpu_driver", Category::driver, "xpu"},
      {"hip_runtime", Category::runtime, "hip"},
      {"npu_runtime", Category::runtime, "npu"},
      {"privateuse1_runtime", Category::runtime, "privateuse1"},
      {"privateuse1_driver", Category::driver, "privateuse1"},
      {"hpu_op", Category::cpu_op, "hpu"},
      {"mlu_memcpy", Category::copy, ""},
      {"GCU_MEMSET", Category::fill, ""},
      {"cuda_event", Category::other, "cuda"},
  }));
  CAPTURE(category);
  const Read read(Text().add(category, "x", 10, 5, R"("stream": 7, "correlation": 4)"));
  CHECK(read.trace.events.category.at(0) == kind);
  CHECK(read.trace.accelerator == accelerator);
  CHECK(read.issue("unknown-category") == nullptr);
}

TEST_CASE("an unknown category with work of a device is said by name; one without is not") {
  Text text;
  text.ops(5)
      .add("tpu_step", "a", 10, 3'000, R"("stream": 7)")
      .add("tpu_step", "b", 20, 4'000, R"("correlation": 4)")
      .add("notes", "c", 30, 5);
  const Read read(text);
  REQUIRE(read.issue("unknown-category") != nullptr);
  CHECK(read.issue("unknown-category")->count == 2);
  CHECK(read.issue("unknown-category")->message.contains("\"tpu_step\""));
  CHECK(read.issue("unknown-category")->message.contains("7.00 ms"));
  CHECK_FALSE(read.issue("unknown-category")->message.contains("notes"));
}

TEST_CASE("a warning says where the first event of its kind stands") {
  const Read read(Text().ops(3).add("cpu_op", "a", 10, -3));
  CHECK(read.issue("negative-duration")->message.contains("event 3"));
  Issues issues;
  REQUIRE(read_bytes(
      R"({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}, {"ph": "X", "name": "b", "ts": 2, "dur": 1, @@@ ]] "pid", {"ph": "X", "name": "c", "ts": 3, "dur": 1}]})",
      "t.json", issues));
  REQUIRE(issues.items().size() == 1);
  CHECK(issues.items()[0].code == "broken-event");
  CHECK(issues.items()[0].message.contains("event 1, byte"));
}
