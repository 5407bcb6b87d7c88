// Traces made to be slow: text in which every element is damaged, and events whose number of threads, steps, modules or levels is far
// beyond any program's. Each is small enough to take a fraction of a second where cost grows with the size, and minutes where it grows with
// its square.
#include <fmt/format.h>

#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "annotator/profile/build/load.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"
#include "annotator/trace/trace.h"
#include "tests/fuzz/promises.h"
#include "tests/unit/catch.h"

using namespace hotlens;

namespace {

constexpr double kMostSeconds = 10;  // of processor time, twenty times what the slowest of these takes without sanitizers

#ifdef __SANITIZE_ADDRESS__
constexpr std::int64_t kScale = 1;
#else
constexpr std::int64_t kScale = 4;
#endif

class Stopwatch {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

constexpr std::string_view kHead = R"({"traceEvents":[)";
constexpr std::string_view kWhole = R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";

struct Event {
  std::string_view category, name;
  std::int64_t start = 0, duration = 0, process = 1, thread = 1;
  std::string arguments;
};

std::string json(const Event& event) {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", event.category, event.name,
                     event.process, event.thread, event.start, event.duration, event.arguments);
}

// A trace of `count` groups of events.
std::string trace_of(std::int64_t count, const std::function<std::vector<Event>(std::int64_t)>& group) {
  std::string text(kHead);
  bool first = true;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Event& event : group(i)) {
      text += first ? "" : ",\n";
      text += json(event);
      first = false;
    }
  }
  return text + "]}";
}

std::string backward(std::int64_t number) {
  return fmt::format(R"("Sequence number":{},"Fwd thread id":1)", number);
}

std::string frame(std::int64_t id, std::int64_t parent) {
  return fmt::format(R"("Python id":{},"Python parent id":{})", id + 1, parent + 1);
}

constexpr std::string_view kNode = "autograd::engine::evaluate_function: AddmmBackward0";

}  // namespace

TEST_CASE("text of which every element is damaged is read in time that grows with its size") {
  constexpr std::size_t kTimes = 50'000 * kScale;
  const std::string one(kWhole), comma = one + ",";
  const auto [shape, text] = GENERATE_COPY(table<std::string, std::string>({
      {"an object opens in each", repeated(R"(},{"a":{"a":1)", kTimes)},
      {"nothing closes", repeated(R"({"a":)", kTimes)},
      {"brackets of the wrong kind", repeated("{[}],", kTimes)},
      {"a quote too many in each, escaped", repeated(R"({\"}],)", kTimes)},
      {"small elements behind an event, each with a fault", comma + repeated(R"({"a":b"c},)", kTimes)},
      {"phases without an object", repeated(R"({"ph")", kTimes)},
      {"one quote for all", comma + repeated("\"", kTimes * 5) + "{},"},
      {"brackets that close nothing", comma + repeated("],", kTimes) + one},
      {"a bracket behind each event", repeated(one + "],", kTimes / 10)},
      {"a name that never ends", comma + R"({"ph":"X","name":")" + repeated("\\", kTimes * 5)},
      {"a name with a quote in each event",
       repeated(R"({"args":{"x":[{"y":1},{"z":2}]},"name":"a"b","ph":"X","ts":1,"dur":1},)", kTimes / 10)},
  }));
  CAPTURE(shape);
  const Stopwatch watch;
  Issues issues;
  const auto trace = trace::read_bytes(std::string(kHead) + text, "t.json", issues);
  CHECK(watch.seconds() < kMostSeconds);
  CHECK_FALSE((trace ? issues.items().empty() : trace.error().message.empty()));
}

TEST_CASE("a trace of any shape is reported in time that grows with its size, and adds up") {
  constexpr std::int64_t kCount = 5'000 * kScale;
  const Event all{.category = "user_annotation", .name = "ProfilerStep#1", .start = 0, .duration = 20 * kCount};
  const auto with_all = [&](std::int64_t i, std::vector<Event> events) {
    if (i == 0) events.insert(events.begin(), all);
    return events;
  };
  std::string name;
  using Group = std::function<std::vector<Event>(std::int64_t)>;
  const std::vector<std::pair<std::string, Group>> shapes = {
      {"threads", [&](std::int64_t i) { return std::vector{Event{"cpu_op", "aten::mm", i, 1, 1, i}}; }},
      {"processes", [&](std::int64_t i) { return std::vector{Event{"cpu_op", "aten::mm", i, 1, i, 1}}; }},
      {"threads that run backward",
       [&](std::int64_t i) {
         return with_all(i, {{"cpu_op", "aten::mm", i * 20, 1, 1, 1, R"("Sequence number":1)"},
                             {"cpu_op", kNode, i * 20 + 5, 2, 1, i + 2, backward(i)}});
       }},
      {"steps and threads",
       [&](std::int64_t i) {
         name = fmt::format("ProfilerStep#{}", i);
         return std::vector{Event{"user_annotation", name, i * 10, 10}, Event{"cpu_op", kNode, i * 10 + 1, 5, 1, i + 2, backward(i)}};
       }},
      {"steps, every third slow",
       [&](std::int64_t i) {
         name = fmt::format("ProfilerStep#{}", i);
         return std::vector{Event{"user_annotation", name, i * 100, i % 3 == 0 ? 100 : 20}, Event{"cpu_op", "aten::mm", i * 100, 15}};
       }},
      {"operators inside each other", [&](std::int64_t i) { return std::vector{Event{"cpu_op", "aten::mm", i, 3 * kCount - 2 * i}}; }},
      {"modules inside each other",
       [&](std::int64_t i) {
         name = fmt::format("nn.Module: L_{}", i);
         return with_all(
             i, {{"python_function", name, i, 10 * kCount - 2 * i, 1, 1, frame(i, i - 1)}, {"cpu_op", "aten::mm", 12 * kCount + i, 1}});
       }},
      {"modules side by side",
       [&](std::int64_t i) {
         name = fmt::format("nn.Module: L_{}", i);
         return with_all(i, {{"python_function", name, i * 10, 9, 1, 1, frame(i, -1)}, {"cpu_op", "aten::mm", i * 10 + 1, 5}});
       }},
      {"a module tree that grows with every call",
       [&](std::int64_t i) {
         name = fmt::format("nn.Module: L_{}", i / 2 + i % 2);
         return with_all(i, {{"python_function", name, i / 2 * 20 + i % 2, 10 - i % 2 * 5, 1, 1, frame(i, -1)}});
       }},
      {"stages inside each other",
       [&](std::int64_t i) {
         return std::vector{Event{"user_annotation", "## backward ##", i, 3 * kCount - 2 * i},
                            Event{"cpu_op", "aten::mm", i, 1, 1, i % 2 + 1}};
       }},
      {"ranges inside each other",
       [&](std::int64_t i) {
         name = fmt::format("block {}", i);
         return std::vector{Event{"user_annotation", name, i, 3 * kCount - 2 * i}, Event{"cpu_op", "aten::mm", 3 * kCount / 2 + i % 5, 1}};
       }},
      {"copies inside each other",
       [&](std::int64_t i) {
         const std::string id = fmt::format(R"("correlation":{})", i + 1);
         return std::vector{Event{"cpu_op", "aten::to", i, 4 * kCount - 2 * i},
                            Event{"cuda_runtime", "cudaMemcpyAsync", 2 * kCount - 1, 1, 1, 1, id},
                            Event{"gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 2 * kCount + i, 1, 0, 7, id}};
       }},
      {"events that overlap", [&](std::int64_t i) { return std::vector{Event{"cpu_op", "aten::mm", i, kCount}}; }},
      {"kernels that overlap",
       [&](std::int64_t i) { return with_all(i, {{"kernel", "k", i, kCount, 0, i % 100, fmt::format(R"("correlation":{})", i + 1)}}); }},
      {"kernels that take no time",
       [&](std::int64_t i) {
         const std::string id = fmt::format(R"("correlation":{})", i + 1);
         return with_all(i, {{"cuda_runtime", "cudaLaunchKernel", i * 10, 1, 1, 1, id},
                             {"kernel", "k", 15 * kCount, 0, 0, 7, id},
                             {"cuda_runtime", "cudaDeviceSynchronize", i * 10 + 2, 3}});
       }},
      {"names, each another",
       [&](std::int64_t i) {
         name = fmt::format("void kernel_{}<float>(int)", i);
         return with_all(i, {{"kernel", name, i, 1, 0, 7}});
       }},
      {"one correlation for all",
       [&](std::int64_t i) {
         return std::vector{Event{"cuda_runtime", "cudaLaunchKernel", i * 2, 1, 1, 1, R"("correlation":1)"},
                            Event{"kernel", "k", i * 2 + 1, 1, 0, 7, R"("correlation":1)"}};
       }},
      {"ids that the standard's hash puts into one bucket",
       [&](std::int64_t i) {
         const std::string id = fmt::format(R"("correlation":{})", (i + 1) * 42'043 * 85'229);
         return std::vector{Event{"cuda_runtime", "cudaLaunchKernel", i * 2, 1, 1, 1, id}, Event{"kernel", "k", i * 2 + 1, 1, 0, 7, id}};
       }},
      {"one instant for all", [&](std::int64_t) { return std::vector{Event{"cpu_op", "aten::mm", 5, 1}}; }},
      {"all the time there is",
       [&](std::int64_t i) {
         constexpr std::int64_t kLong = 400'000'000'000'000;  // microseconds: 13 years
         return std::vector{Event{"cpu_op", "aten::mm", (i - kCount / 2) * kLong, kLong, 1, i % 3}};
       }},
  };
  const fuzz::MemoryFile file;
  for (const auto& [shape, group] : shapes) {
    CAPTURE(shape);
    REQUIRE(file.put(trace_of(kCount, group)));
    const Stopwatch watch;
    const auto loaded = profile::load(file.path());
    REQUIRE(loaded.has_value());
    CHECK(fuzz::broken_promise(**loaded).value_or("") == "");
    CHECK_FALSE(report::report_json(**loaded).empty());
    CHECK_FALSE(report::report_text(**loaded).empty());
    CHECK(watch.seconds() < kMostSeconds);
  }
}

TEST_CASE("a backward operator that comes from what runs inside it does not lead in a circle") {
  const fuzz::MemoryFile file;
  const std::vector<Event> events = {{"cpu_op", kNode, 0, 100},
                                     {"cpu_op", "aten::mm", 10, 5, 1, 1, R"("Sequence number":5)"},
                                     {"cpu_op", "AddmmBackward0", 20, 10, 1, 1, backward(5)},
                                     {"cpu_op", "torch::autograd::AccumulateGrad", 40, 5}};
  REQUIRE(file.put(trace_of(1, [&](std::int64_t) { return events; })));
  const auto loaded = profile::load(file.path());
  REQUIRE(loaded.has_value());
  CHECK(fuzz::broken_promise(**loaded).value_or("") == "");
}

TEST_CASE("memory events of a step with as many root calls cost no more than their number") {
  constexpr std::int64_t kCount = 7'500 * kScale;
  std::string text(kHead);
  text += json({.category = "user_annotation", .name = "ProfilerStep#1", .start = 0, .duration = 20 * kCount});
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::string name = fmt::format("nn.Module: L_{}", i % 10);
    text += "," + json({.category = "python_function", .name = name, .start = i * 10, .duration = 9, .arguments = frame(i, -1)});
    text += fmt::format(
        R"(,{{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":{},"args":{{"Bytes":64,"Addr":{},"Device Id":-1,"Device Type":0}}}})",
        i * 10 + 1, i + 1);
  }
  const fuzz::MemoryFile file;
  REQUIRE(file.put(text + "]}"));
  const Stopwatch watch;
  const auto loaded = profile::load(file.path());
  CHECK(watch.seconds() < kMostSeconds);
  REQUIRE(loaded.has_value());
  REQUIRE((*loaded)->modules.size() == 10);
  for (const profile::Module& module : (*loaded)->modules) CHECK(module.memory.activations == Bytes{64 * kCount / 10});
}

TEST_CASE("a table of steps by modules that would not fit is shown from its beginning, and that is said") {
  constexpr std::int64_t kCount = 3000;
  std::string name;
  const fuzz::MemoryFile file;
  REQUIRE(file.put(trace_of(2 * kCount, [&](std::int64_t i) {
    name = i % 2 == 0 ? fmt::format("ProfilerStep#{}", i / 2) : fmt::format("nn.Module: L_{}", i / 2);
    return std::vector{Event{i % 2 == 0 ? "user_annotation" : "python_function", name, i / 2 * 10 + i % 2, 10 - 2 * (i % 2)}};
  })));
  const auto loaded = profile::load(file.path());
  REQUIRE(loaded.has_value());
  CHECK((*loaded)->modules.size() == kCount);
  CHECK((*loaded)->steps.size() < kCount);
  CHECK((*loaded)->steps.size() > 1000);
  CHECK(std::ranges::count((*loaded)->warnings, std::string("more-steps"), &Issue::code) == 1);
  CHECK(fuzz::broken_promise(**loaded).value_or("") == "");
}
