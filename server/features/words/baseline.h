// What became slower or faster than in a baseline, line by line: another profile, bound to the same text.
//
// A line of the text as it is now has facts of both profiles, wherever each found it; their per-step times are compared as `hotlens diff`
// compares modules (annotator/report/judge.h), and only what lies beyond noise is told. Lines of the watched loop are left out: one mean
// over all updates has no noise that is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotator/report/judge.h"
#include "server/features/lines/line_summary.h"

namespace hotlens::features {

// How lines of `now` are compared with those of `then`. Takes its time: off the main strand.
report::ModuleJudge line_judge(const std::shared_ptr<const profile::Profile>& then, const std::shared_ptr<const profile::Profile>& now);

struct Baseline {
  FileView view;
  report::ModuleJudge judge;
};

struct Delta {
  std::uint32_t line = 0;
  source::Range range;  // of the line's first fact
  source::State state = source::State::fresh;
  Ns value{};                   // as the hint shows it
  Ns before{}, now{}, noise{};  // medians over the steps
  bool of_module = false;       // the line makes layers
  std::string subject;          // the first of them; empty for another line

  Ns change() const { return now - before; }
};

// Sorted by line; only lines that changed beyond noise. Empty where both views show the same profile.
std::vector<Delta> deltas(const FileView& view, const Baseline& baseline, LineRange lines);

// "▲1.1", "▼0.3", in the unit of the value.
std::string spelled(const Delta& delta);
// "▲ 1.10 ms (10 %): 11.3 ms -> 12.4 ms, noise ±210 µs, against 20261123T204415Z-8dc3b3."
std::string sentence(const Delta& delta, const profile::Profile& baseline);
// A tooltip or hover with the sentence at its end.
std::string with_sentence(std::string words, const Delta& delta, const profile::Profile& baseline);

}  // namespace hotlens::features
