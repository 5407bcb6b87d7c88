#include "annotator/trace/decimal.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "annotator/common/character.h"

namespace hotlens::trace {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 62;  // twice this still fits, so ends of events cannot overflow

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() <= ' ' || text.back() == '"')) text.remove_suffix(1);
  while (!text.empty() && (text.front() <= ' ' || text.front() == '"')) text.remove_prefix(1);
  return text;
}

// The power of ten after `e`; nothing where the text is not an exponent or is beyond any time.
std::optional<int> exponent(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || text.size() > 3) return std::nullopt;
  int value = 0;
  for (char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

// The value of `text` times 10^scale, truncated towards zero.
std::optional<std::int64_t> scaled(std::string_view text, int scale) {
  text = trimmed(text);
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    const std::optional<int> power = exponent(text.substr(e + 1));
    if (!power) return std::nullopt;
    scale += *power;
    text = text.substr(0, e);
  }
  std::int64_t value = 0;
  bool fraction = false;
  bool any = false;
  for (char c : text) {
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(c)) return std::nullopt;
    any = true;
    if (fraction && scale <= 0) continue;
    if (value > kLimit / 10) return std::nullopt;
    value = value * 10 + (c - '0');
    if (fraction) --scale;
  }
  if (!any) return std::nullopt;
  for (; scale > 0 && value != 0; --scale) {
    if (value > kLimit / 10) return std::nullopt;
    value *= 10;
  }
  for (; scale < 0 && value != 0; ++scale) value /= 10;
  return negative ? -value : value;
}

// The value of the first eight digits, found in three multiplications (Lemire, "Quickly parsing eight digits", 2018); nothing where one is
// none.
std::optional<std::int64_t> eight_digits(std::string_view digits) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t text = 0;
  std::memcpy(&text, digits.data(), sizeof text);
  const std::uint64_t high = text & 0xf0f0f0f0f0f0f0f0;
  const std::uint64_t carried = (text + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0;
  if ((high | carried >> 4) != 0x3333333333333333) return std::nullopt;
  text = (text & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8;
  text = (text & 0x00ff00ff00ff00ff) * 6553601 >> 16;
  return static_cast<std::int64_t>((text & 0x0000ffff0000ffff) * 42949672960001 >> 32);
}

// Digits with at most one point: what torch writes. Nothing for what needs the general way.
std::optional<Ns> plain_microseconds(std::string_view text) {
  constexpr std::size_t kSafeDigits = 16;  // before the point
  std::int64_t value = 0;
  std::size_t at = 0;
  if (text.size() >= 8) {
    if (const std::optional<std::int64_t> front = eight_digits(text)) value = *front, at = 8;
  }
  for (; at < text.size() && is_digit(text[at]); ++at) {
    if (at == kSafeDigits) return std::nullopt;
    value = value * 10 + (text[at] - '0');
  }
  if (at == 0 || value > kLimit / 1000) return std::nullopt;
  int missing = 3;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) {
      if (missing == 0) continue;
      value = value * 10 + (text[at] - '0');
      --missing;
    }
  }
  if (at < text.size() && text[at] > ' ') return std::nullopt;
  for (; missing > 0; --missing) value *= 10;
  return Ns{value};
}

// Digits alone, or with white space behind them. Nothing for what needs the general way.
std::optional<std::int64_t> plain_integer(std::string_view text) {
  constexpr std::size_t kSafeDigits = 18;
  std::int64_t value = 0;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    if (at == kSafeDigits) return std::nullopt;
    value = value * 10 + (text[at] - '0');
  }
  if (at == 0 || std::ranges::any_of(text.substr(at), [](char c) { return c > ' '; })) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Ns> microseconds(std::string_view text) {
  if (const std::optional<Ns> plain = plain_microseconds(text)) return plain;
  const std::optional<std::int64_t> value = scaled(text, 3);
  if (!value) return std::nullopt;
  return Ns{*value};
}

std::optional<std::int64_t> integer(std::string_view text) {
  if (const std::optional<std::int64_t> plain = plain_integer(text)) return plain;
  return scaled(text, 0);
}

}  // namespace hotlens::trace
