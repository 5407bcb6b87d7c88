// Intervals of predictions, learned from what became of earlier ones of the same kind in this workspace.
//
// With the outcomes of eight profiles the interval is no longer the usual one of the kind: it is as wide as 85 % of those outcomes were
// off, counted as split conformal prediction counts (Lei and others, "Distribution-free predictive inference for regression", 2018): of n
// outcomes that of rank ⌈0.85 (n + 1)⌉, the worst where there is none such. So it holds 85 % of the past or more. It may be wider or
// narrower than the usual one. What was said to be unsure (page faults) teaches nothing. Of one profile the last outcome counts: to verify
// a prediction again tells little that is new.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "annotator/advice/track_record.h"

namespace hotlens::advice {

constexpr std::size_t kLeastOutcomes = 8;
constexpr double kHeld = 0.85;  // of the past outcomes

struct Learned {
  std::size_t outcomes = 0, inside = 0;  // `inside`: of those, what an interval of this width would have held
  double error = 0;                      // |log(measured / predicted)|
};
// Of predictions of this kind and method; nullopt of fewer than eight.
std::optional<Learned> learned(const Ledger& ledger, std::string_view kind, std::string_view method);

// A prediction with its own noise as its interval, as wide as was learned.
lab::Ratio with_learned(const lab::Ratio& noise, const Learned& learned);

// "as 12 such changes turned out here: 11 of them within 4.1 %"
std::string sentence(const Learned& learned);

}  // namespace hotlens::advice
