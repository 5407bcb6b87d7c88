// Steps, stages, modules and kernels as nested spans on tracks: the shape that timeline tools read.
//
// A span lasts from the first piece of time that lies inside it to the last without one between them that does not. Spans of a track nest:
// none crosses the end of the one around it.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/profile/build/annotated.h"
#include "annotator/profile/build/module_name.h"

namespace hotlens::profile {

struct Frame {
  enum class Layer : std::uint8_t { step, stage, module, kernel };
  Layer layer = Layer::step;
  std::uint32_t id = 0;  // position of the step, Stage, module (names_of_modules), or NameId of a kernel
  Direction direction = Direction::forward;
  std::uint32_t call = attribution::kNothing;  // tells two calls of one module apart

  friend bool operator==(const Frame&, const Frame&) = default;
};

struct Span {
  Frame frame;
  Ns start{}, end{};
  std::uint32_t depth = 0;  // spans around it
};

struct Track {
  trace::ThreadId thread;
  bool device = false;
  std::vector<Span> spans;  // by start, outer ones first
};

// The main thread first, other threads with work of a step, then streams. Host tracks hold step, stage and modules; device tracks stage,
// modules and kernel.
std::vector<Track> tracks_of(const Annotated& annotated);

}  // namespace hotlens::profile
