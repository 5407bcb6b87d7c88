// How far two sides, of one or several runs each, may lie apart by chance.
//
// Steps of one run know only what differs from step to step. Another process of the same script has its memory elsewhere, meets other load
// and other page faults, and all of its steps shift together: the spread between runs. Of one run that spread cannot be seen, so it is
// assumed (`Prior`); of several it is estimated, the assumption counting as `Prior::freedom` further runs. With m_i the medians of a side's
// n runs, w the mean variance of such a median from the spread of its steps (spread.h) and τ the assumed share of g, the geometric mean of
// both sides,
//   variance of one run  s² = (ν₀·(w + τ²·g²) + Σ(m_i − m)²) / (ν₀ + n − 1),   m = the mean of m_i,
// and a side's mean has s²/n: a normal prior for the mean and an inverse chi-squared one for the variance (Gelman and others, "Bayesian
// Data Analysis", 2013, section 3.3). Two sides differ beyond noise where their distance exceeds Student's t at the wanted error times the
// root of both added; its degrees of freedom are Welch's, of w (one less than steps), τ² (ν₀) and the runs (n − 1). Of one run a side,
// where all steps of one lie beyond all of the other (spread.h), their own spread excuses no more than what the gap between
// them leaves, and what is assumed no more than itself.
//
// Where others want the processors, a slice of their time lands in a step now and then and makes it longer by more than a short layer
// takes; in a run of few steps it may hit the middle one. The quick steps know nothing of it: where the quickest quarter of the steps does
// not tell at least a third of the difference, all of it may be chance.
#pragma once

#include <optional>
#include <vector>

#include "annotator/profile/loop.h"
#include "annotator/profile/spread.h"

namespace hotlens::profile {

// What is assumed of the spread between runs where too few tell it.
struct Prior {
  double share = 0;    // standard deviation of a run's median, over the median
  double freedom = 0;  // what the assumption weighs, in runs
};
// Of a run beside which others had this share of the processors (share_of_others); absent: none worth a word, or not known.
Prior prior_of(std::optional<double> others);

// One thing in the runs of one side.
struct RunSamples {
  std::vector<Sample> runs;  // of its steps; never empty
  Prior prior;

  Ns level() const;  // mean of the runs' medians
  Ns quick() const;  // mean of their quickest quarters
};

// How often a row may be called changed where nothing changed: `all` rows together, of which each gets its part.
double error_of_each(double all, std::size_t rows);

// How much of the difference of the levels may be chance, at this two-sided error; absent where a side is a single run of a single step. At
// least kResolution.
std::optional<Ns> noise(const RunSamples& before, const RunSamples& after, double error);

// By how much a machine was slower in one run than in the other: the share that most of the time agrees on, as a ratio less 1.
struct Weighed {
  double change = 0, weight = 0;  // after / before - 1; time
};
// The weighted median, of two middle ones that which is nearer to none; 0 for none.
double common_change(std::vector<Weighed> changes);

}  // namespace hotlens::profile
