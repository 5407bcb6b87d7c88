#include "server/features/timeline/threads.h"

#include <algorithm>
#include <set>

#include "tests/unit/catch.h"
#include "tests/unit/profile/random_trace.h"

using namespace hotlens;
using namespace hotlens::features;
using namespace hotlens::profile;
using attribution::Script;
using attribution::us;

namespace {

struct Read {
  std::shared_ptr<const blocks::Blocks> blocks;
  HostThreads host;

  explicit Read(const Script& script) : blocks(blocks::blocks_of(annotated_of(script), 0)), host(threads_of(blocks)) {}

  std::string name(std::uint32_t event) const {
    const trace::Trace& trace = blocks->annotated->trace;
    return std::string(trace.names[trace.events.name[event]]);
  }
  std::vector<std::string> row(const Flame& flame, std::size_t at) const {
    std::vector<std::string> names;
    for (const Bar& bar : flame.rows.at(at).finenesses.front().bars) names.push_back(name(bar.event));
    return names;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a thread's functions and operators lie inside their callers, and what is around everything is named apart") {
  Script script;
  script.range("ProfilerStep#0", 0, 100);
  script.frame("main.py(1): <module>", -50, 500).frame("train.py(41): rollout", 5, 60).frame("<built-in method sleep>", 10, 20);
  script.op("aten::mm", 40, 20).launch(1, 45, 5).op("aten::add", 70, 10);
  const Read read(script);
  REQUIRE(read.host.threads.size() == 1);
  CHECK(read.host.threads.front().id == "main");
  CHECK(read.host.threads.front().name == "CPU main");
  CHECK(read.host.threads.front().frames == 3);
  const Flame& flame = read.host.threads.front().flame.get();
  REQUIRE(flame.outer.size() == 1);
  CHECK(read.name(flame.outer.front()) == "main.py(1): <module>");
  REQUIRE(flame.rows.size() == 3);
  CHECK(read.row(flame, 0) == Names{"train.py(41): rollout", "aten::add"});
  CHECK(read.row(flame, 1) == Names{"<built-in method sleep>", "aten::mm"});
  CHECK(read.row(flame, 2) == Names{"cudaLaunchKernel"});
}

TEST_CASE("the step's own range, which begins inside a function of the profiler, pushes nothing down") {
  Script script;
  script.range("ProfilerStep#0", 0, 100).frame("torch/profiler/profiler.py(811): step", -20, 25).op("aten::mm", 10, 20);
  const Read read(script);
  CHECK(read.row(read.host.threads.front().flame.get(), 0) == Names{"torch/profiler/profiler.py(811): step", "aten::mm"});
}

TEST_CASE("a range that outlasts the function it began in keeps its row until it ends") {
  Script script;
  script.range("ProfilerStep#0", 0, 100)
      .frame("a.py(1): enter", 10, 10)
      .range("mine", 15, 30)
      .op("aten::mm", 30, 10)
      .op("aten::add", 50, 5);
  const Read read(script);
  const Flame& flame = read.host.threads.front().flame.get();
  CHECK(read.row(flame, 0) == Names{"a.py(1): enter", "aten::add"});
  CHECK(read.row(flame, 1) == Names{"mine"});
  CHECK(read.row(flame, 2) == Names{"aten::mm"});
}

TEST_CASE("every thread with an event in the step is told, the main thread first, then the busiest") {
  Script script;
  script.range("ProfilerStep#0", 0, 100).op("aten::mm", 10, 20);
  script.frame("threading.py(1): run", 5, 50, {.thread = 1});
  for (int at = 0; at < 5; ++at) script.op("aten::add", 10 + at * 10, 5, {.thread = 2});
  script.op("aten::late", 200, 5, {.thread = 3});
  const Read read(script);
  Names ids;
  for (const HostThread& each : read.host.threads) ids.push_back(each.id);
  CHECK(ids == Names{"main", "t2", "t1"});
  CHECK(read.host.threads.at(2).frames == 1);
  CHECK(read.host.threads.at(1).others == 5);
}

TEST_CASE("random threads: rows hold bars that do not overlap, and every event is drawn at most a pixel away") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 30)));
  CAPTURE(seed);
  RandomTrace random(seed);
  const Read read(random.draw());
  const Ns wall = read.blocks->wall;
  const Ns from(random.between(0, wall.count() - 2)), to(random.between(from.count() + 1, wall.count()));
  const Ns pixel = std::max(Ns(1), (to - from) / random.between(1, 400));
  for (const HostThread& thread : read.host.threads) {
    const Flame& flame = thread.flame.get();
    const FlameView view = look({&flame}, from, to, pixel).front();
    REQUIRE(view.rows.size() == flame.rows.size());
    std::size_t events = flame.outer.size();
    for (std::size_t row = 0; row < view.rows.size(); ++row) {
      const std::vector<Bar>& bars = view.rows[row];
      for (std::size_t at = 1; at < bars.size(); ++at) CHECK(bars[at - 1].start + bars[at - 1].duration <= bars[at].start);
      for (const Bar& event : flame.rows[row].finenesses.front().bars) {
        ++events;
        if (event.start + event.duration <= from || event.start >= to) continue;
        CHECK(std::ranges::any_of(bars, [&](const Bar& bar) {
          return bar.start <= event.start && (bar.start + bar.duration >= event.start + event.duration ||
                                              (bar.count > 1 && event.start + event.duration - bar.start <= pixel));
        }));
      }
    }
    const bool has_step = thread.id == "main";
    CHECK(events == thread.frames + thread.others - (has_step ? 1 : 0));
  }
}

TEST_CASE("a thread of very many events answers with few bars at every zoom") {
  Script script;
  constexpr int kCount = 40'000;
  script.range("ProfilerStep#0", 0, kCount * 10);
  for (int at = 0; at < kCount; ++at) script.op("aten::op", at * 10, 8).op("aten::in", at * 10 + 1, 2).op("aten::in", at * 10 + 4, 2);
  const Read read(script);
  const Flame& flame = read.host.threads.front().flame.get();
  for (const std::int64_t part : {1, 10, 1000, 100'000}) {
    const Ns to = read.blocks->wall / part;
    const FlameView view = look({&flame}, Ns{}, to, std::max(Ns(1), to / 1400)).front();
    std::size_t bars = 0, events = 0;
    for (const std::vector<Bar>& row : view.rows) {
      bars += row.size();
      for (const Bar& bar : row) events += bar.count;
    }
    CHECK(bars <= kMaxBars);
    CHECK(events >= static_cast<std::size_t>(3 * kCount / part));
  }
}

TEST_CASE("what runs deeper than the last row is counted") {
  Script script;
  script.range("ProfilerStep#0", 0, 1000);
  for (int depth = 0; depth < 60; ++depth) script.frame("train.py(7): again", 10 + depth, 900 - 2 * depth);
  const Read read(script);
  const Flame& flame = read.host.threads.front().flame.get();
  CHECK(flame.rows.size() == kMaxFlameRows);
  CHECK(flame.deeper == 60 - kMaxFlameRows);
}
