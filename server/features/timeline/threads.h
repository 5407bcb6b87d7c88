// Every thread of the host in one step, as a flame graph: Python functions, ranges, operators and calls of the device's runtime, each
// inside what called it. What a level (level.h) leaves out, because it is nobody's module or stage, is here.
//
// Rows are kept at a few finenesses, made when a thread is first looked at: a window costs what is drawn of it, however many events lie in
// it. Functions that run throughout the step (what started the script) are named apart and drawn nowhere.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "annotator/blocks/blocks.h"

namespace hotlens::features {

constexpr std::size_t kMaxThreads = 32;    // told of one step
constexpr std::size_t kMaxFlameRows = 48;  // of one thread
constexpr std::size_t kMaxBars = 3000;     // of one answer: about 130 kB as JSON

// Neighbours inside one pixel are one bar, with the name of the longest.
struct Bar {
  Ns start{}, duration{};
  std::uint32_t event = 0;  // into the trace's events
  std::uint32_t count = 1;
};

struct FlameRow {
  struct Fineness {
    Ns pixel{};  // 0: every event a bar of its own
    std::vector<Bar> bars;
  };
  std::vector<Fineness> finenesses;  // the finest first
};

struct Flame {
  std::vector<std::uint32_t> outer;  // events around everything, the outermost first
  std::vector<FlameRow> rows;        // callers above what they call
  std::size_t deeper = 0;            // events that lie below the last row
};

struct HostThread {
  std::string id, name;                // of a thread that has a track of blocks, that track's
  std::size_t frames = 0, others = 0;  // Python functions; operators, ranges and calls of the runtime
  std::shared_future<Flame> flame;     // made by the first who asks
};

// The main thread first, then those with most events.
struct HostThreads {
  std::vector<HostThread> threads;
  std::size_t more = 0;  // left out
};

// Threads without an event in the step are left out. Cost: one pass over the trace's events.
HostThreads threads_of(const std::shared_ptr<const blocks::Blocks>& blocks);

struct FlameView {
  std::vector<std::vector<Bar>> rows;  // what reaches into the window
  std::size_t deeper = 0;
};

// Several threads in one window, at most kMaxBars in all. `pixel`: what may be drawn together; taken wider where there is too much.
std::vector<FlameView> look(const std::vector<const Flame*>& flames, Ns from, Ns to, Ns pixel);

}  // namespace hotlens::features
