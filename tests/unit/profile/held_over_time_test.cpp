#include "annotator/profile/build/held_over_time.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/profile/random_trace.h"

using namespace hotlens;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;

namespace {

struct Event {
  std::int64_t time = 0, bytes = 0, total = 0;
  std::int8_t kind = 0;  // of device; 0: the host
  std::int32_t number = 0;
};

trace::MemoryEvents memory(std::initializer_list<Event> events) {
  trace::MemoryEvents memory;
  for (const Event& event : events) {
    memory.thread.push_back(trace::ThreadId{0});
    memory.time.push_back(us(event.time));
    memory.address.push_back(trace::kNone);
    memory.bytes.push_back(event.bytes);
    memory.device_type.push_back(event.kind);
    memory.device.push_back(event.number);
    memory.total_allocated.push_back(event.total);
    memory.total_reserved.push_back(0);
  }
  return memory;
}

attribution::StepSpan span(std::int64_t start, std::int64_t end) {
  attribution::StepSpan step;
  step.start = us(start);
  step.end = us(end);
  return step;
}

Annotated step_of(Script script) {
  return *annotated_of(script);
}

}  // namespace

TEST_CASE("memory over time is that of the device that holds most, from the step's start on") {
  const HeldOverTime held = held_in(
      memory({{5, 10, 99, 1}, {10, 4, 104, 1}, {20, 90, 900, 0}, {30, 50, 70, 1, 1}, {40, -4, 100, 1}, {120, 9, 500, 1}}), span(8, 100));
  CHECK(held.time == std::vector{us(2), us(32)});
  CHECK(held.bytes == std::vector<std::int64_t>{104, 100});
  CHECK(held.before == 100);
  CHECK(held.device == 0);
}

TEST_CASE("without totals or events nothing is told") {
  CHECK(held_in(memory({{10, 4, trace::kNone, 1}}), span(0, 100)).empty());
  CHECK(held_in(memory({}), span(0, 100)).empty());
}

TEST_CASE("what the allocator did not count is held throughout") {
  Annotated annotated = step_of(Script().range("ProfilerStep#0", 0, 100).op("aten::mm", 10, 20));
  annotated.trace.memory = memory({{12, 40, 40}, {25, -40, 0}});
  const HeldOverTime held = held_over_time(annotated, 0, Bytes{1000});
  CHECK(held.before == 1000);
  CHECK(held.bytes == std::vector<std::int64_t>{1040, 1000});
  CHECK(held.device < 0);
  CHECK_FALSE(held.of_map);
}

TEST_CASE("a map step's memory stands where its operators ran in the measured step, in proportion between them") {
  // The map step's operators are at 100 to 200 and 300 to 400 of 500, the measured step's at 10 to 20 and 60 to 80 of 100.
  Annotated annotated = step_of(Script().range("ProfilerStep#0", 0, 100).op("aten::mm", 10, 10).op("aten::add", 60, 20));
  annotated.map_held = MapHeld{.held = held_in(memory({{150, 8, 8}, {250, 8, 16}, {400, -8, 8}, {450, -8, 0}}), span(0, 500)),
                               .step = span(0, 500),
                               .start = {us(100), us(300)},
                               .duration = {us(100), us(100)}};
  std::vector<std::uint32_t> twin(annotated.forest.size(), attribution::kNoNode);
  for (std::uint32_t node = 0; node < annotated.forest.size(); ++node) {
    if (annotated.forest.start[node] == us(10)) twin[node] = 0;
    if (annotated.forest.start[node] == us(60)) twin[node] = 1;
  }
  annotated.map_inputs = MapInputs{.inputs = {}, .text = {}, .twin = twin};
  const HeldOverTime held = held_over_time(annotated, 0, Bytes{});
  CHECK(held.of_map);
  CHECK(held.time == std::vector{us(15), us(40), us(80), us(90)});
  CHECK(held.bytes == std::vector<std::int64_t>{8, 16, 8, 0});
}

TEST_CASE("operators that run in another order than in the map step do not turn its memory's order around") {
  Annotated annotated =
      step_of(Script().range("ProfilerStep#0", 0, 100).op("aten::mm", 10, 10).op("aten::add", 30, 10).op("aten::mul", 90, 5));
  annotated.map_held = MapHeld{.held = held_in(memory({{110, 1, 1}, {210, 1, 2}, {310, 1, 3}, {420, 1, 4}}), span(0, 500)),
                               .step = span(0, 500),
                               .start = {us(300), us(100), us(200)},
                               .duration = {us(50), us(50), us(50)}};
  std::vector<std::uint32_t> twin(annotated.forest.size(), attribution::kNoNode);
  for (std::uint32_t node = 0; node < annotated.forest.size(); ++node) {
    if (annotated.forest.start[node] == us(10)) twin[node] = 0;  // ran last in the map step
    if (annotated.forest.start[node] == us(30)) twin[node] = 1;
    if (annotated.forest.start[node] == us(90)) twin[node] = 2;
  }
  annotated.map_inputs = MapInputs{.inputs = {}, .text = {}, .twin = twin};
  const HeldOverTime held = held_over_time(annotated, 0, Bytes{});
  CHECK(std::ranges::is_sorted(held.time));
  CHECK(held.time.front() == us(32));
  CHECK(held.time.back() <= us(100));
}
