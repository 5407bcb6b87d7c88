// Which part of a stage's time belongs to which of the lines that enter it: of the two backward passes of a GAN each has a line.
//
// A piece of a stage's time belongs to the innermost line on its chain (Owners::lines) that enters the stage. Time between two operators of
// one stage, on no line of its own, counts with the operator before it. Time of a stage on any other line of the program is that line's,
// and of no place.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

struct Place {
  Stage stage = Stage::other;
  std::uint32_t line = kNothing;  // value of a link of Owners::lines
};

// Where the program enters its stages; no stage has a line twice.
using Places = std::vector<Place>;

// What a piece of time belongs to. Asked for the pieces of one thread and step in order of time.
class PlaceFinder {
 public:
  // `lines` must outlive this.
  PlaceFinder(const Places& places, const Chains& lines);

  void begin_thread();

  // Into the places; kNothing where the time is of none. `gap`: nothing ran, so it is not missed that no line is known.
  std::uint32_t of(const Owner& owner, bool gap);

  // Whether the last answer follows from what ran before, although something ran of which the line is not known.
  bool guessed() const { return guessed_; }

 private:
  std::uint32_t on_chain(Stage stage, std::uint32_t line) const;

  struct Last {
    std::uint32_t place = kNothing, line = kNothing;
  };

  const Chains& lines_;
  std::vector<std::vector<Place>> by_line_;  // Place::line holds the place's number
  std::array<Last, kStages> last_;
  std::pair<Stage, std::uint32_t> asked_{Stage::other, kNothing};  // the last lookup and its answer
  std::uint32_t answer_ = kNothing;
  bool guessed_ = false;
};

}  // namespace hotlens::attribution
