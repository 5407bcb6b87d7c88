// Lists as JSON writes them, on one line: the raw text of a trace may be spread over many.
#pragma once

#include <string>
#include <string_view>

namespace hotlens {

// A blank behind each comma, and no other. For lists of numbers and names without blanks.
inline std::string compact_list(std::string_view list) {
  std::string text;
  for (const char c : list) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

}  // namespace hotlens
