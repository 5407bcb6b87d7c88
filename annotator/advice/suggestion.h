// A change that the ledger predicts to help, or that the recording alone gives evidence for, at the line of the text that ran where its
// edit begins; and which of them are worth a place.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/whatif/outcome.h"
#include "annotator/source/outline/tree.h"

namespace hotlens::advice {

// A line by its text, so that it is found again after edits elsewhere.
struct LineMark {
  std::string text;         // without blanks at both ends
  std::size_t nth = 0;      // of the lines that read the same, from 0
  std::size_t of = 1;       // how many there are
  std::uint32_t first = 0;  // where it stood, from 0
};
std::optional<LineMark> mark_of(std::string_view text, std::uint32_t line);
// What it covers in a text now; nullopt where it was edited, or nothing tells which one it is.
std::optional<source::Range> range_now(const LineMark& mark, std::string_view text);

// How long all runs of a verification take, from the fewest to the most pairs.
struct Duration {
  Ns least{}, most{};
};

struct Suggestion {
  lab::WhatIf change;                  // with its time as it was predicted, and how it was verified last
  bool by_rule = false;                // its evidence is of the recording alone (annotator/advice/rules), and nothing was replayed
  std::optional<double> at_best = {};  // then: the least ratio of step times, where `change` has no time
  std::filesystem::path bundle, file;
  LineMark at;
  std::expected<Duration, std::string> verification = Duration{};  // or why it cannot be verified
  std::vector<lab::WhatIf> instead = {};                           // other changes of the same lines, of which only runs tell
};

// A rule's evidence that tells no gain.
bool only_runs_tell(const Suggestion& suggestion);

// It, and each change that can be made instead as one of its own.
std::vector<Suggestion> with_instead(const Suggestion& suggestion);

constexpr double kLeastGain = 0.02;   // of the step
constexpr double kLeastFreed = 0.05;  // of the peak
constexpr std::size_t kMostShown = 3;

// Whether a prediction promises something: its interval excludes no gain, and the gain is not too small to show.
bool promises(const lab::Ratio& time);
// As a replay had it: by enough of it to show; and for no longer step than may be noise.
bool lowers_peak(const lab::WhatIf& change);
bool frees_memory(const lab::WhatIf& change);

// Of step times, changed to unchanged: as it was predicted, else at best, else as it was verified; 1 where nothing is known.
double ratio_told(const Suggestion& suggestion);

// The largest gains first, behind them what only runs tell of, no more than may be shown; of the forms of one optimizer only the best;
// nothing that somebody silenced, or that was verified and is no gain.
std::vector<Suggestion> worth_showing(std::vector<Suggestion> all);

}  // namespace hotlens::advice
