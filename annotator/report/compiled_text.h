// What torch.compile made of the script, as people read it: how much of the step ran compiled, where graphs break, what was compiled again.
#pragma once

#include <string>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/profile/profile.h"

namespace hotlens::report {

// A section, each line ended; empty where nothing was compiled.
std::string compiled_text(const profile::Profile& profile, const format::Style& style);

// The members of the report's `compiled`. The profile must have it.
void compiled_json(const profile::Profile& profile, JsonText& json);

}  // namespace hotlens::report
