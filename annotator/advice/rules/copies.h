// Copies from the host to the device, as two rules look at them.
#pragma once

#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {

struct Copies {
  Marks launches;          // of all steps: the operators that asked for them, with all that they ran
  std::int64_t count = 0;  // of the representative step, as all that follows
  Ns device{}, waiting{};
  std::int64_t bytes = 0;  // 0 where the trace does not tell
};

Copies copies_to_device(const Recording& recording, const std::function<bool(const attribution::Work&)>& is);
std::vector<profile::Verdict::Evidence> evidence_of(const Copies& copies, std::string_view one, std::string_view several);

}  // namespace hotlens::rules
