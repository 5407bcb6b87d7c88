#include "annotator/trace/text.h"

#include <algorithm>
#include <cstdint>

namespace hotlens::trace {
namespace {

constexpr std::size_t kNameLimit = 64 * 1024;  // bytes
constexpr std::uint32_t kReplacement = 0xfffd;

constexpr bool is_high_surrogate(std::uint32_t code) {
  return code >= 0xd800 && code < 0xdc00;
}
constexpr bool is_low_surrogate(std::uint32_t code) {
  return code >= 0xdc00 && code < 0xe000;
}

// Cut at the limit, before a character that would be halved.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kNameLimit) return text;
  std::size_t end = kNameLimit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// Four hexadecimal digits at the front of `text`.
std::uint32_t code_unit(std::string_view text) {
  if (text.size() < 4) return kReplacement;
  std::uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    const bool digit = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) return kReplacement;
    value = value * 16 + static_cast<std::uint32_t>(digit ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto continuation = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    continuation(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    continuation(6);
    continuation(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

// Appends what the escape `\uXXXX` (or a pair of them) at `at` means, `at` being its `u`; returns the escape's last position.
std::size_t append_escaped_code(std::string& text, std::string_view raw, std::size_t at) {
  std::uint32_t code = code_unit(raw.substr(at + 1));
  std::size_t last = std::min(at + 4, raw.size() - 1);
  if (is_high_surrogate(code) && raw.substr(last + 1).starts_with("\\u")) {
    const std::uint32_t low = code_unit(raw.substr(last + 3));
    if (is_low_surrogate(low)) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      last += 6;
    }
  }
  append_utf8(text, is_high_surrogate(code) || is_low_surrogate(code) ? kReplacement : code);
  return last;
}

}  // namespace

std::string_view bare(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  return token;
}

std::string unescaped(std::string_view token) {
  const std::string_view raw = shortened(bare(token));
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n':
        text += '\n';
        break;
      case 't':
        text += '\t';
        break;
      case 'r':
        text += '\r';
        break;
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'u':
        i = append_escaped_code(text, raw, i);
        break;
      default:
        if (raw[i] != '"' && raw[i] != '\\' && raw[i] != '/') text += '\\';  // no escape: an old writer's Windows path
        text += raw[i];
    }
  }
  return text;
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (length == 3 && ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0))) return 0;
  if (length == 4 && ((lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90))) return 0;
  return length;
}

}  // namespace hotlens::trace
