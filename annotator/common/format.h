// How numbers and hostile names reach a person: the one place that spells times, sizes and shares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "annotator/common/harmless.h"
#include "annotator/common/units.h"

namespace hotlens::format {

// Three significant digits: "87.4 µs", "3.21 ms", "1.04 s"; "0 ns" only for an exact zero.
std::string readable(Ns time);
// For people who wait: "47 min", "2 h 05 min", "3 d 4 h"; below two minutes as `readable`.
std::string long_time(Ns time);
std::string readable(Bytes size);                                                         // "144 kB", "25.7 MB": decimal units
std::string percent(Ns part, Ns whole);                                                   // "12.3 %", for tables
std::string share(double part);                                                           // "24%", "<1%", for labels; `part` is a fraction
std::string counted(std::int64_t count, std::string_view one, std::string_view several);  // "1 copy", "3 copies"
using hotlens::harmless;
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
