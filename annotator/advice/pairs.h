// Whether a change made a script faster, from runs of the script before and after it, in pairs.
//
// Each pair is two fresh processes, one after the other, in an order that alternates; a machine that becomes slower meanwhile disturbs both
// orders alike. The interval is of the mean logarithm of the pairs' ratios: Student's t at 99.8 %, because the pairs are looked at several
// times before the last one, and each look is a chance to be wrong. A change below one percent is called none; once it is sure that the
// gain is below two percent, which nobody is advised to take, no further pair runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/common/units.h"

namespace hotlens::advice {

struct Pair {
  Ns before{}, after{};  // step times of the two runs
};

struct Measured {
  std::size_t pairs = 0;
  double ratio = 1, low = 1, high = 1;  // of step times, after to before
  double half_width() const { return (high - low) / 2; }
  bool faster() const;
  bool slower() const;
};

constexpr std::size_t kLeastPairs = 4, kMostPairs = 20;

// Nullopt of fewer than two, and of times that are none.
std::optional<Measured> measured(const std::vector<Pair>& pairs);
// Whether no further pair is needed; asked after some numbers of pairs only.
bool enough(const std::vector<Pair>& pairs);

// Losses of a change that must not alter them.
enum class Losses : std::uint8_t { unknown, equal, close, differ };
std::string_view name(Losses losses);
Losses losses_named(std::string_view name);  // unknown for everything else
// `before`: of runs of the unchanged script. Unknown where those differ among themselves (no seed), or there are none.
Losses compared(const std::vector<std::vector<double>>& before, const std::vector<double>& after, double tolerance);

}  // namespace hotlens::advice
