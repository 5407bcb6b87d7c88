// Time to target: how long a training took until its loss or accuracy was good enough, from its own log; what is left; and what a change
// that makes a step faster would make of both, if the number of steps stays. No comparison with anybody else's figures.
//
// A log is hostile: lines have a limit, what cannot be read is counted, and text of it reaches a person without control characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/common/units.h"
#include "annotator/report/target/pattern.h"

namespace hotlens::target {

constexpr std::size_t kMostLog = std::size_t{256} << 20, kMostLine = 4096, kMostPoints = 1'000'000;

enum class Unit : std::uint8_t { steps, samples, epochs };

struct Point {
  double at = 0;           // in units; of a log that does not tell the step: how many points came before
  double value = 0;        // of what is to reach the target
  std::optional<Ns> time;  // since the epoch
};

struct Log {
  bool mlperf = false;
  std::string metric;  // "eval_accuracy"; empty: what the pattern finds
  Unit unit = Unit::steps;
  bool counted = false;  // the log does not tell steps: each point counts as one
  std::vector<Point> points;
  std::optional<Ns> started, last;  // of an MLPerf log
  std::optional<double> target;     // where the log tells it
  std::string status;               // of an MLPerf run that has ended: "success", "aborted"
  std::int64_t unreadable = 0;      // lines that look like points and are none
  std::int64_t too_long = 0;        // lines that were left out
};

// `:::MLLOG` lines. `metric`: whose values count; empty: eval_accuracy, eval_loss, eval_error, whichever the log has.
Result<Log> read_mllog(std::string_view text, const std::string& metric);
// One group: the value; two: the step and the value.
Result<Log> read_pattern(std::string_view text, const Pattern& pattern);

// A change with its ratio of step times, as the ledger has it.
struct Change {
  std::string kind, how;  // "replay" or "verified"
  double ratio = 1, low = 1, high = 1;
};

struct Asked {
  std::optional<double> target;  // else the log's
  std::optional<double> total;   // units until the target; else the trend tells
  std::string profile;           // its id; empty: there is none
  std::optional<Ns> step;        // of the profile
  std::optional<std::int64_t> samples_per_step;
  std::vector<Change> changes;
};

struct Answer {
  double target = 0;
  bool reached = false;
  Point first, now;            // `now`: the first that reaches the target, else the last
  std::optional<Ns> took;      // from the start to `now`, by the log's clock
  std::optional<Ns> each;      // of one unit
  bool by_profile = false;     // `each`: of the profile, else of the log's clock
  std::optional<double> left;  // units
  bool by_trend = false;       // `left`
  std::string profile;         // that `each` and `changes` are of; empty: of none
  std::string no_rest;         // why `left` or `each` is not known
  std::optional<Ns> rest() const;
  std::optional<Ns> all() const;  // a whole run to the target
  std::vector<Change> changes;
};
Result<Answer> answer(const Log& log, const Asked& asked);

std::string as_text(const Log& log, const Answer& answer, const std::string& file, bool color);
std::string as_json(const Log& log, const Answer& answer, const std::string& file);  // hotlens.target/1

}  // namespace hotlens::target
