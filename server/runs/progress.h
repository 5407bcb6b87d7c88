// The recorder's progress lines (annotator/recorder/FORMAT.md, "Progress").
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotlens::runs {

// The child sees the progress pipe under this number.
constexpr int kProgressFd = 3;

enum class Phase : std::uint8_t { start, warmup, plain, measured, map, program, write, done, failed };
std::string_view name(Phase phase);

struct Frame {
  std::filesystem::path file;
  std::uint32_t line = 0;  // 0-based
  std::uint32_t cell = 0;  // of a notebook, from 1, its line counted in it; 0: of no notebook
};

struct Failure {
  std::string type, message;          // the Python exception
  std::filesystem::path file;         // empty where it has no place in a file
  std::optional<std::uint32_t> line;  // 0-based
  std::uint32_t cell = 0;             // as in Frame
  std::string traceback;
  std::string sentence;  // what the recorder says to people; may be empty
};

struct Progress {
  Phase phase = Phase::start;
  std::int64_t step = 0, of = 0;  // of == 0: not known
  std::string message;
  std::optional<std::filesystem::path> bundle;  // with Phase::done
  std::optional<Failure> failure;               // with Phase::failed
};

// A place of a traceback: "/x/train.ipynb cell 3" is a cell, as the recorder calls it. `line` from 0.
Frame frame_of(std::string_view file, std::uint32_t line);

// The places a Python traceback names, outermost first.
std::vector<Frame> frames_of(std::string_view traceback);

// Nullopt for a line that is not one of the recorder's: it is ignored.
std::optional<Progress> parse_progress(std::string_view line);

}  // namespace hotlens::runs
