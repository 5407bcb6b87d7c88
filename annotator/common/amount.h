// Amounts of arithmetic and bytes, and rates of them, as people read them; format.cpp spells them like all other numbers.
#pragma once

#include <string>
#include <string_view>

namespace hotlens::format {

// Three significant digits: amount(1.23e12, "FLOP") is "1.23 TFLOP", amount(4.56e11, "B/s") is "456 GB/s".
std::string amount(double amount, std::string_view unit);

}  // namespace hotlens::format
