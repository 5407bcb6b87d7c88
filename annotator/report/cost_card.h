// What a step's arithmetic and bytes amount to: rates, and how far from the measured peaks of its device (profile/costs.h, devices/roof.h).
//
// What is not certain is left out, with a sentence that says why: rates against peaks where no measurement of the device is given or an
// operator is faster than its roof allows, the utilization where too much of the time is of unknown shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotator/advice/devices/row.h"
#include "annotator/costs/launches.h"
#include "annotator/profile/profile.h"

namespace hotlens::report {

// What a report knows beside the profile.
struct Beside {
  std::optional<costs::Launches> launches;  // of the shown step
  std::optional<devices::Row> peaks;        // of the profile's device: measured, else published
  std::string device;                       // whose measurement is missing; empty where it has one or no name
};

// Operators of one kind of work and one type together.
struct CostRow {
  kernels::Work work = kernels::Work::move;
  std::string type;  // "f32"; empty of moves
  profile::FlopsAndBytes sum;
  std::int64_t calls = 0;
  std::optional<double> peak;     // in operations or, of moves, bytes a second
  std::optional<double> of_peak;  // share; not of moves from which some are faster than memory: they lay in a cache

  double flops_per_s() const;
  std::optional<double> bytes_per_s() const;  // of operators whose bytes are known
};

// Operators of one name, equal shapes and types: what they reach. `of_roof`: the least time that the device needs for them, by arithmetic
// or by bytes, as a share of what they took; absent where they are faster, since their data lay in a cache.
struct Reached {
  double flops_per_s = 0;
  std::optional<double> bytes_per_s, of_roof;
};
// `peaks` may be null.
Reached reached_by(const kernels::Cost& each, std::int64_t calls, Ns time, const devices::Row* peaks);

// What a module would win if each of its operators took as long as its roof allows.
struct Headroom {
  profile::ModuleId module;
  double times = 1;  // faster, at most
  Ns saved{};
};

struct CostCard {
  double coverage = 0;
  profile::FlopsAndBytes sum;
  std::vector<CostRow> rows;       // by time; of arithmetic first
  std::optional<double> mfu;       // share of the peak, over the step as it runs without a profiler; what checkpoints run again left out
  std::string why_no_mfu;          // a sentence where there is none, and peaks are given
  std::vector<Reached> reached;    // by StepCosts::operators
  std::string misfit;              // a sentence: an operator is above its roof. Then nothing is held against peaks
  std::vector<Headroom> headroom;  // of modules whose shapes are known, most to win first
};

// Shares of the time whose shapes must be known, of the step and of a module.
constexpr double kLeastCoverage = 0.9;

// Of those that the profile names, the one that its times are of; null where it names none such.
const profile::Device* working_device(const profile::Profile& profile);

// Nothing where no operator's shapes are known.
std::optional<CostCard> cost_card(const profile::Profile& profile, const devices::Row* peaks);

// Nothing where `profile` has neither costs nor launches. Aligned text, one block each.
std::string costs_text(const profile::Profile& profile, const Beside& beside, std::string_view bold, std::string_view off);

}  // namespace hotlens::report
