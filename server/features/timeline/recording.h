// The whole recording on one time axis: where its steps are and what lies between them, what the main thread did, when each device worked.
//
// Coarser than a level (level.h): of a step its stages, of everything outside the steps that operators run. Made once for a trace;
// a look at it costs one pass over the window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/profile/build/annotated.h"
#include "server/features/timeline/painter.h"

namespace hotlens::features {

// What a stretch of the recording is of.
struct Portion {
  enum class Kind : std::uint8_t { step, stage, waiting, communication, exposed, hidden, earlier, outside, before, between, after };
  Kind kind = Kind::step;
  attribution::Stage stage = attribution::Stage::other;
  std::uint32_t step = attribution::kNothing;  // position in Account::steps; kNothing outside all

  friend auto operator<=>(const Portion&, const Portion&) = default;
};

struct Stretch {
  Ns start{}, end{};       // after the recording's start
  std::uint32_t part = 0;  // into Recording::parts
};

struct RecordingTrack {
  enum class Kind : std::uint8_t { steps, host, device, communication, overlap };
  Kind kind = Kind::steps;
  std::string id, name;
  std::vector<Stretch> stretches;  // by start, not overlapping
};

struct Recording {
  Ns start{};                          // of the first event that is shown, after trace.base
  Ns length{};                         // to the end of the last
  std::vector<Portion> parts;          // each once
  std::vector<RecordingTrack> tracks;  // the steps, the main thread, the devices, their communication, what of it is exposed
};

// Cost: one pass over the host nodes of the main thread, the pieces of the steps and the device work.
Recording recording_of(const profile::Annotated& annotated);

struct RecordingView {
  Ns from{}, to{};  // what is seen
  Ns pixel{};       // what is finer is drawn together
  struct Track {
    std::size_t track = 0;  // into Recording::tracks
    Ns busy{};
    std::vector<Rectangle> rectangles;  // of positions in Recording::parts
  };
  std::vector<Track> tracks;
};

// `from`, `to`: absent for the whole recording, else clamped to it. `width`: pixels.
RecordingView look(const Recording& recording, std::optional<Ns> from, std::optional<Ns> to, std::uint32_t width);

}  // namespace hotlens::features
