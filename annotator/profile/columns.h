// Cells of a table on a terminal: times and shares in three significant digits, padding by what is seen, names that cannot move the cursor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "annotator/common/units.h"

namespace hotlens::profile {

// "1.23 ms", "45.6 µs", "789 ns"; a negative time keeps its sign.
std::string readable(Ns time);

// "12.3 %"; "0.0 %" where the whole is nothing.
std::string percent(Ns part, Ns whole);

// Columns on the terminal: bytes that do not continue a character.
std::size_t width(std::string_view text);

// Padded to `columns`; longer text stays as it is.
std::string right(std::string text, std::size_t columns);
std::string left(std::string text, std::size_t columns);

// No control characters: a name may hold terminal escapes. C1 controls (0xc2 0x80 to 0xc2 0x9f) are among them.
std::string harmless(std::string_view text);

// Harmless and at most `columns` wide, cut with an ellipsis.
std::string short_name(std::string_view text, std::size_t columns);

}  // namespace hotlens::profile
