// What ran by name, per step: operators with their host time, kernels with their device time. The view of a trace that knows no modules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotator/profile/build/annotated.h"

namespace hotlens::report {

struct NamedTimes {
  std::string name;
  std::vector<Ns> time;             // per measured step; all threads and streams added, so it may exceed the step
  std::vector<std::int64_t> calls;  // per measured step
};

// Host time of each operator without the operators inside it, by the step in which it began. In order of first sight.
std::vector<NamedTimes> operators_of(const profile::Annotated& annotated);

// Duration of each kernel, copy and fill, by the step that launched it. In order of time.
std::vector<NamedTimes> kernels_of(const profile::Annotated& annotated);

// Rows of one family (kernel_name.h) added up, under the family's name.
std::vector<NamedTimes> by_family(const std::vector<NamedTimes>& kernels);

}  // namespace hotlens::report
