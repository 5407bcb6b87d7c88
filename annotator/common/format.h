// How the text report writes numbers and hostile names.
#pragma once

#include <string>
#include <string_view>

#include "annotator/common/units.h"

namespace hotlens::format {

std::string readable(Ns time);                // three significant digits and a unit
std::string readable(Bytes size);             // decimal units
std::string percent(Ns part, Ns whole);       // "12.3 %"
std::string harmless(std::string_view name);  // control characters as '?'
std::string shortened(std::string_view name, std::size_t columns = 60);

// What makes a terminal write in color; all empty without.
struct Style {
  std::string_view bold, dim, slower, faster, off;
};
Style style(bool color);

std::size_t width(std::string_view text);  // in terminal columns
// Padded to a number of terminal columns.
std::string left(const std::string& text, std::size_t columns);
std::string right(const std::string& text, std::size_t columns);

}  // namespace hotlens::format
