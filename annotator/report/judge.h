// How the rows of a diff are compared: all runs of both sides, by one rule.
#pragma once

#include <span>
#include <vector>

#include "annotator/profile/run_noise.h"
#include "annotator/report/diff.h"

namespace hotlens::report {

using Values = std::vector<Ns>;    // per step
using Runs = std::vector<Values>;  // by run; empty where no run has it

// How often a row that stands for itself (the step, a stage) may be called changed by chance, and all modules of a diff together.
constexpr double kRowError = 0.01;
constexpr double kModulesError = 0.05;

class Judge {
 public:
  Judge(std::span<const Side> before, std::span<const Side> after);
  // `common`: what the machine alone may have done to it, as a share (after / before - 1); it adds to the noise of a difference that way.
  Change compare(const Runs& before, const Runs& after, double error = kRowError, double common = 0) const;

 private:
  profile::Prior before_, after_;
};

// Of a change, as a share of what was; 0 where that is not known.
double noise_share(const Change& change);

// How modules are compared, and what is made of them: lines of source.
class ModuleJudge {
 public:
  // Matches the modules of all runs.
  ModuleJudge(std::span<const Side> before, std::span<const Side> after);
  Change compare(const Runs& before, const Runs& after) const { return judge_.compare(before, after, error_, common_); }

 private:
  Judge judge_;
  double error_ = kModulesError;  // of one row
  double common_ = 0;
};

std::vector<ModuleRow> module_rows(std::span<const Side> before, std::span<const Side> after);

// Per step, of the measured ones.
Values step_walls(const profile::Profile& profile);

}  // namespace hotlens::report
