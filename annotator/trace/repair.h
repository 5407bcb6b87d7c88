// One event's text with the strings in it made valid: raw quotes, control characters and invalid UTF-8 escaped or replaced, commas before
// a closing bracket dropped. TRACES.md A.9 names the writers that make them.
#pragma once

#include <string>
#include <string_view>

namespace hotlens::trace {

std::string repaired(std::string_view event);

}  // namespace hotlens::trace
