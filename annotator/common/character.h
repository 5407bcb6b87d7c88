// Kinds of ASCII characters, whatever the locale.
#pragma once

namespace hotlens {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_newline(char c) {
  return c == '\n' || c == '\r';
}

// A small letter.
constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

}  // namespace hotlens
