// Over steps: medians and spread, the representative step, outliers and what made them differ.
#pragma once

#include <optional>
#include <vector>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

// The middle value, or the mean of the two middle ones; 0 for none.
Ns median(std::vector<Ns> values);
// The middle count, of two the larger: one that occurred; 0 for none.
std::int64_t usual(std::vector<std::int64_t> counts);

// Percentiles by linear interpolation between the sorted values (the usual default of numpy), rounded down to whole nanoseconds.
struct Spread {
  Ns p10{}, median{}, p90{};
};
Spread spread(std::vector<Ns> values);

// The wall times of the steps, in their order.
std::vector<Ns> walls(const std::vector<Step>& steps);

// How far a step may lie from another by chance: three times the usual distance of a value from the median, which is what an outlier lies
// beyond. At least a microsecond, the clock of traces up to torch 2.3; absent for fewer than three values.
std::optional<Ns> noise_of_steps(const std::vector<Ns>& values);

// Marks steps that took clearly longer or shorter than the others, or held twice their communication: those wait for another rank.
void mark_outliers(std::vector<Step>& steps);

// The step to show: of those that are no outliers the one whose buckets (wall and device time) and stages together lie nearest to the
// medians of each. The wall time alone would do with a step in which one stage happened to wait and another to be quick.
std::size_t representative(const Profile& profile);

// What most of an outlier's excess over the median step consists of: the buckets that make up four fifths of it, then the innermost module
// that holds half of it. Medians are found once, so that a run with many outliers costs no more than one with many steps.
class Differences {
 public:
  // `profile` must outlive this.
  explicit Differences(const Profile& profile);
  std::vector<Difference> of(std::size_t step);

 private:
  void add_communication(std::size_t step, std::vector<Difference>& found) const;
  void add_buckets(std::size_t step, Ns whole, std::vector<Difference>& found) const;
  void add_module(std::size_t step, Ns whole, std::vector<Difference>& found);
  Ns module_excess(std::uint32_t module, std::size_t step);

  const Profile& profile_;
  Ns wall_, communication_;                 // medians
  std::vector<Ns> buckets_;                 // medians, as Profile::buckets
  std::vector<std::optional<Ns>> modules_;  // medians of host time, as Profile::modules, where known
};

}  // namespace hotlens::profile
