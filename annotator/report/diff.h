// What changed between two sides, of one or several runs each: the step, its stages and buckets, and every module by path; where no modules
// are known, operators and kernels by name.
//
// Each row compares the means over the runs of the medians over their measured steps. A difference inside the noise between runs
// (run_noise.h) is no change; with one run of a single step on one side the noise is not known and every difference counts. Modules are
// compared by what their label shows: device time where the profile has a device, else host time. They share one chance of a false row
// among them, and what most of the time of all modules agrees on, within the noise of the step, is the machine's and no module's. What a
// module is made of (make.h) is compared too: where that differs it has changed, whatever the clock says. Cost: one pass over each profile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/profile.h"
#include "annotator/ranks/together.h"
#include "annotator/report/match.h"
#include "annotator/report/operators.h"

namespace hotlens::report {

// One run: its profile, and what ran by name.
struct Side {
  std::shared_ptr<const profile::Profile> profile;
  std::vector<Ns> plain_steps;  // timed without a profiler; empty for a bare trace
  std::vector<NamedTimes> operators, kernels;
  std::optional<ranks::RankSet> ranks;  // that the profile is one of
};

// Blocks on I/O.
Result<Side> read_side(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> rank = std::nullopt);

enum class Outcome : std::uint8_t { same, faster, slower, added, removed };
std::string_view name(Outcome outcome);

struct Change {
  std::optional<Ns> before, after;  // absent on the side that does not have it
  std::optional<Ns> noise;          // absent where it is not known, and for added and removed
  Outcome outcome = Outcome::same;

  Ns difference() const { return after.value_or(Ns{}) - before.value_or(Ns{}); }
};

struct Row {
  std::string name;
  Change time;
  std::optional<std::int64_t> before_calls, after_calls;  // per step
};

struct ModuleRow {
  profile::ModuleId before, after;  // invalid where the profile does not have it
  bool backward_known = true;       // on both sides; else forward alone is compared
  std::string path;                 // in `after`, or in `before` where it was removed
  Change time;                      // forward and backward, by the label's measure
  Change forward, backward;
  Change forward_host, backward_host;
  std::vector<std::string> made;  // what it is made of otherwise: "512 → 576" (make.h); then it has changed, whatever `time` says
  bool explains = false;          // it changed, and neither a single child nor (added, removed) its parent says it already
};

struct Diff {
  std::vector<std::string> before_runs, after_runs;  // their profiles; the first is the one that is shown
  Change step;                                       // plain steps where both sides timed them, else the measured steps
  bool step_plain = false;
  std::vector<Row> totals;           // "step", "plain_step", "host", "device": what both or one of the sides know
  std::vector<Row> stages, buckets;  // host clock of the main thread
  std::vector<Row> stages_device;
  std::vector<ModuleRow> modules;  // in the order of `after`, removed ones last
  std::vector<Row> operators, kernels;
  std::vector<Row> families;  // kernels by family: what stays comparable from one device to another
};

// Runs of the same script on each side, at least one. Modules and names are those of the first.
Diff diff(std::span<const Side> before, std::span<const Side> after);
Diff diff(const Side& before, const Side& after);

// Moves the run to the front whose step is in the middle of all: the one to show.
void typical_first(std::vector<Side>& runs);

// The gate of CI: what got slower by more than `threshold` (a share: 0.05) and beyond the noise.
struct Gate {
  double threshold = 0;
  std::string modules;                              // a glob over module paths; empty: the step
  std::vector<std::string> crossed, unknown_noise;  // names of rows
  std::vector<std::string> noisier;                 // whose noise is more than the threshold: a slowdown within it crosses nothing
  std::size_t compared = 0;
  double noise = 0;  // of the step where it is looked at, else of the noisiest module: a share
};
Gate gate(const Diff& diff, double threshold, std::string modules);

// Schema hotlens.diff/1; FORMATS.md names every key.
std::string diff_json(const Diff& diff, const Side& before, const Side& after, const std::optional<Gate>& gate);

// One sentence, then tables with the biggest differences first; `color` adds terminal colours.
std::string diff_text(const Diff& diff, const Side& before, const Side& after, bool color);

}  // namespace hotlens::report
