// Tracks and levels written down as blocks; times in nanoseconds.
#pragma once

#include <string>
#include <vector>

#include "server/text/levels.h"

namespace hotlens::text {

struct Piece {
  std::int64_t start = 0, duration = 0;
  std::string label;
  std::string_view kind = "module", stage = "forward";
};

inline features::ShownTrack track_of(const std::string& name, const std::vector<Piece>& pieces, std::string_view kind = "host") {
  features::ShownTrack track{.id = name, .name = name, .kind = kind};
  for (const Piece& piece : pieces) {
    const Ns duration(piece.duration);
    track.blocks.push_back({.start = Ns(piece.start),
                            .duration = duration,
                            .label = static_cast<std::uint32_t>(track.labels.size()),
                            .kind = piece.kind,
                            .stage = piece.stage,
                            .busy = duration,
                            .whole = duration,
                            .segment = piece.kind == "idle" ? "" : piece.label,
                            .open = true});
    track.labels.push_back(piece.label);
  }
  return track;
}

inline ShownLevel level_with(std::vector<features::ShownTrack> tracks, Moments extent, std::size_t width) {
  Axis axis = axis_of(tracks, extent, width);
  return {.title = "title", .extent = extent, .axis = axis, .tracks = std::move(tracks)};
}

// A device that works on a block long after its host.
inline ShownLevel late_level() {
  return level_with({track_of("cpu", {{0, 100'000, "conv1"}}),
                     track_of("gpu", {{0, 100, "", "idle", "idle"}, {900'000, 100'000, "gemm", "kernel"}}, "device")},
                    {Ns(0), Ns(1'000'000)}, 90);
}

}  // namespace hotlens::text
