// What each cause is and what people read of it, once. usage.cpp decides by these rules; a test computes each a second way.
//
// Every instant of the representative step has one cause. While its device works, what runs tells it; while it idles, what the host does,
// or that work is queued. A host that waits while the device works is no cause of idleness: it has a row of its own in the verdict.
#pragma once

#include <array>
#include <string_view>

#include "annotator/profile/profile.h"

namespace hotlens::causes {

struct CauseRow {
  profile::Cause cause;
  std::string_view with_device, alone;  // what the verdict says: of a run with device work, of one without
  std::string_view definition;          // of a run with device work; FORMATS.md has the same
};

extern const std::array<CauseRow, profile::kCauses> kCauseTable;  // by Cause

std::string_view words_of(profile::Cause cause, bool has_device);
// Of a run with a device: an exchange that a step waits for is on its critical path also while other work hides it, and what the host does
// also while the device works.
std::string_view words_on_path(profile::Cause cause);

}  // namespace hotlens::causes
