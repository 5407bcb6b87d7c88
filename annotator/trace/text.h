// Tokens of JSON as they stand in the file, and the text they mean.
#pragma once

#include <string>
#include <string_view>

namespace hotlens::trace {

// A token without the white space after it and without its quotes.
std::string_view bare(std::string_view token);

// The text of a JSON string token with its quotes, unescaped; broken escapes become U+FFFD. Cut at 64 KiB: nobody reads longer names, and
// they may be hostile.
std::string unescaped(std::string_view token);

// Length of the valid UTF-8 sequence at the front of `text`, 0 where it is not valid.
std::size_t utf8_length(std::string_view text);

}  // namespace hotlens::trace
