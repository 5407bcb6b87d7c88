// How sure a median is, and how far two samples lie apart.
//
// The scale of a sample is its median absolute deviation, made comparable with a standard deviation and corrected for few values (Croux and
// Rousseeuw, "Time-efficient algorithms for two highly robust estimators of scale", 1992, table of b_n); one slow step moves it little. The
// standard error of a median is 1.2533 · scale / √n. Where every value of one sample lies beyond every value of the other, and by the exact
// rank test (Mann and Whitney 1947) chance does that rarely, the gap between them is no chance: so a run that became slow and unsteady is
// not excused by being unsteady. A sample knows only the steps of its run; what lies between runs is added in run_noise.h.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "annotator/common/units.h"

namespace hotlens::profile {

// Times of traces up to torch 2.3 are whole microseconds: no difference below that means anything.
constexpr Ns kResolution{1000};
// Standard errors to either side of an estimate that hold 95 % of what chance does.
constexpr double kTwoSigma = 2;

struct Sample {
  Ns median{};
  Ns least{}, most{};
  Ns quick{};             // a quarter of the values are below
  double variance = 0;    // of the median, ns²
  std::size_t count = 0;  // values
};
Sample sample(const std::vector<Ns>& values);

// How far all values of one sample lie beyond all of the other; absent where they overlap, or where chance separates two samples of these
// sizes more often than `error` (two-sided).
std::optional<Ns> gap(const Sample& before, const Sample& after, double error);

}  // namespace hotlens::profile
