// Arithmetic on times by cause.
#pragma once

#include <cstddef>
#include <numeric>

#include "annotator/profile/profile.h"

namespace hotlens::causes {

inline Ns sum(const profile::Causes& causes) {
  return std::accumulate(causes.begin(), causes.end(), Ns{});
}

inline void add(profile::Causes& sum, const profile::Causes& part) {
  for (std::size_t cause = 0; cause < profile::kCauses; ++cause) sum[cause] += part[cause];
}

}  // namespace hotlens::causes
