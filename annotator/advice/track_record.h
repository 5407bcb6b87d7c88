// What became of predictions: each change that was verified, or seen in a later profile, beside what was predicted of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/advice/ledger.h"

namespace hotlens::advice {

// A change that was measured, beside the last prediction made of it before. A profile that has it stands beside the last verification.
struct Outcome {
  std::optional<Record> verified, seen;  // one of them at least
  std::optional<Record> predicted;
  std::optional<double> error;  // predicted to measured ratio, less 1
  bool inside = false;          // the measured ratio in the predicted interval

  const Record& measured() const { return verified ? *verified : *seen; }  // runs in pairs tell more than two profiles
};
std::vector<Outcome> outcomes(const Ledger& ledger);

// What predictions of one kind, made in one way, were worth.
struct KindRecord {
  std::string kind, method;
  std::size_t outcomes = 0, inside = 0;
  std::optional<double> mean_error;  // absent of bounds: they foretell no number
};
std::vector<KindRecord> by_kind(const std::vector<Outcome>& outcomes);

// "−12.9 % (−15.0 %…−10.8 %)"
std::string change_in_words(const lab::Ratio& ratio);

std::string as_json(const Ledger& ledger);
std::string as_text(const Ledger& ledger, bool color);

}  // namespace hotlens::advice
