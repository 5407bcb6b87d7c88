// The Python functions that the host was in while it held the step up, of a trace with stacks.
#pragma once

#include <string>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/profile/profile.h"

namespace hotlens::report {

// A section, each line ended, of the functions with most time of their own; empty where none is worth a row.
std::string functions_text(const profile::Profile& profile, const format::Style& style);

// The elements of the report's `host_functions`.
void functions_json(const profile::Profile& profile, JsonText& json);

}  // namespace hotlens::report
