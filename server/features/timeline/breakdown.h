// Where the time or the memory of one step goes, by module: the rows directly below a module, each with its parts, that add up to the row
// they stand below.
//
// Time: every nanosecond of the step is in one row. On a run with a device it is the device's time (where streams overlap, the work that
// began first counts) and a row for its idle time; else the main thread's. Memory: what was held at the moment
// when the step held most; what no module holds is in rows too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/profile/build/annotated.h"

namespace hotlens::features {

struct Part {
  std::string_view what;  // forward, backward, recompute, optimizer, …; weights, gradients, optimizer, activations, workspace, data
  std::int64_t value = 0;
};

struct BreakdownRow {
  enum class Kind : std::uint8_t { module, stage, own, idle, waiting, earlier, unattributed };
  Kind kind = Kind::module;
  std::string label;
  profile::ModuleId module;  // of a module
  profile::Stage stage = profile::Stage::other;
  std::int64_t value = 0;  // nanoseconds or bytes
  std::vector<Part> parts;
  std::size_t children = 0;  // modules directly below it
};

// Largest first. `module` invalid: the roots and what belongs to no module.
std::vector<BreakdownRow> time_below(const profile::Annotated& annotated, const profile::Profile& profile, std::size_t step,
                                     profile::ModuleId module);
// A row of two steps beside each other.
struct StepsRow {
  BreakdownRow row;                           // of `after`, or of `before` where that is all there is; `value` is of the same
  std::optional<std::int64_t> before, after;  // nanoseconds
};
// Each side adds up as time_below() does. Largest difference first.
std::vector<StepsRow> steps_beside(const profile::Annotated& annotated, const profile::Profile& profile, std::size_t before,
                                   std::size_t after, profile::ModuleId module);
// Empty where the profile knows nothing of memory.
std::vector<BreakdownRow> memory_below(const profile::Profile& profile, profile::ModuleId module);

std::string_view name(BreakdownRow::Kind kind);

}  // namespace hotlens::features
