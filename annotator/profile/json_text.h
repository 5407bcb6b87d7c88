// Small pieces of JSON for writers that stream: a string escaped, with what is no UTF-8 replaced.
#pragma once

#include <string>
#include <string_view>

namespace hotlens::profile {

// With its quotes.
std::string json_string(std::string_view text);

}  // namespace hotlens::profile
