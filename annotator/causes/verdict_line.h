// The line of the user's code where what holds the step up happens, as far as the recording tells: a wrong line is worse than none.
//
// - `data`: the line of the loop that gets the batch, where it has most of that stage's time.
// - `sync`: the innermost line during which the host waits for most of what it waits for the device.
// - `launch`, `copy`, `communication`: the innermost line that most of the time with this cause lies in.
// Nothing for what a line can hardly change (`compute`, `memory`), for guessed lines, where no line of the workspace has most of it, and
// where most of an update is rare work: then the step is the lesser part.
#pragma once

#include <cstdint>
#include <optional>

#include "annotator/profile/profile.h"

namespace hotlens::causes {

struct VerdictLine {
  profile::FileId file;
  std::uint32_t line = 0;  // from 0, in the text that ran
  Ns time{}, whole{};      // of the shown step: on this line, and in all; both with the verdict's cause
};

std::optional<VerdictLine> line_of_verdict(const profile::Profile& profile);

// The innermost line of the user's own files that holds more than half of what the step spends on a cause.
std::optional<VerdictLine> line_of_cause(const profile::Profile& profile, profile::Cause cause);

}  // namespace hotlens::causes
