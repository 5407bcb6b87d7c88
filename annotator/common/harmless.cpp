#include "annotator/common/harmless.h"

#include <algorithm>
#include <array>

namespace hotlens {
namespace {

// What our own text is styled with: off, bold, dim, red, green, and the line of progress that is written over; colors_at has the rest.
constexpr std::array<std::string_view, 6> kStyles{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\r\x1b[K"};

// The length of a background and a text color out of 256 ("\x1b[48;5;74;38;5;233m") that `text` begins with; 0 where it does not.
std::size_t colors_at(std::string_view text) {
  std::size_t at = 0;
  const auto number = [&](std::string_view before, char after) {
    if (!text.substr(at).starts_with(before)) return false;
    std::size_t digits = 0;
    for (at += before.size(); at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) ++digits;
    return digits > 0 && digits <= 3 && at < text.size() && text[at] == after;
  };
  return number("\x1b[48;5;", ';') && number(";38;5;", 'm') ? at + 1 : 0;
}

constexpr std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// The code of a sequence whose length is known and whose bytes all continue it.
constexpr std::uint32_t code_of(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence.front());
  std::uint32_t code = sequence.size() == 1 ? lead : lead & (0xffU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

constexpr bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

// Controls of direction, line and paragraph separators, and the tags of Unicode, which show nothing.
constexpr bool is_hidden(std::uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0xfeff || (code >= 0xe0000 && code <= 0xe007f);
}

constexpr bool is_surrogate_or_overlong(std::uint32_t code, std::size_t length) {
  return (code >= 0xd800 && code < 0xe000) || code > 0x10ffff || (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
}

// The front of `text` that needs no look at single characters.
std::size_t plain_front(std::string_view text) {
  const auto odd = std::ranges::find_if(text, [](char c) { return c < ' ' || c > '~'; });
  return static_cast<std::size_t>(odd - text.begin());
}

// Copies `text`; `other` puts what is not printable ASCII at its front into the copy and says how long that was.
template <class Other>
std::string copied(std::string_view text, Other other) {
  std::string copy;
  copy.reserve(text.size());
  while (!text.empty()) {
    const std::size_t front = plain_front(text);
    copy.append(text.substr(0, front));
    text.remove_prefix(front);
    if (!text.empty()) text.remove_prefix(other(text, copy));
  }
  return copy;
}

std::size_t put_harmless(std::string_view text, std::string& copy) {
  const Seen seen = character_at(text);
  seen.harmless ? copy.append(text.substr(0, seen.length)) : copy.append("?");
  return seen.length;
}

void put_escape(std::uint32_t code, std::string& copy) {
  copy += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) copy += "0123456789abcdef"[code >> shift & 15];
}

}  // namespace

Seen character_at(std::string_view text) {
  const std::size_t length = length_of(static_cast<unsigned char>(text.front()));
  const std::string_view sequence = text.substr(0, length);
  const bool whole = length > 0 && sequence.size() == length &&
                     std::ranges::all_of(sequence.substr(1), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
  if (!whole) return {};
  const std::uint32_t code = code_of(sequence);
  if (is_surrogate_or_overlong(code, length)) return {};
  return {length, code, !is_control(code) && !is_hidden(code)};
}

std::string harmless(std::string_view text) {
  return copied(text, put_harmless);
}

std::string harmless_lines(std::string_view text, bool styled) {
  return copied(text, [styled](std::string_view rest, std::string& copy) {
    std::size_t pass = rest.front() == '\n' || rest.front() == '\t' ? 1 : rest.starts_with("\r\n") ? 2 : 0;
    for (const std::string_view style : kStyles) pass = styled && rest.starts_with(style) ? style.size() : pass;
    if (styled && pass == 0) pass = colors_at(rest);
    if (pass == 0) return put_harmless(rest, copy);
    copy.append(rest.substr(0, pass));
    return pass;
  });
}

std::string harmless_json(std::string_view json) {
  return copied(json, [](std::string_view rest, std::string& copy) {
    if (rest.front() == '\n' || rest.front() == '\t' || rest.front() == '\r') return copy += rest.front(), std::size_t{1};
    const Seen seen = character_at(rest);
    if (seen.harmless) {
      copy.append(rest.substr(0, seen.length));
    } else if (seen.code < 0x10000) {
      put_escape(seen.code, copy);
    } else {
      put_escape(0xd7c0 + (seen.code >> 10), copy);
      put_escape(0xdc00 + (seen.code & 0x3ff), copy);
    }
    return seen.length;
  });
}

}  // namespace hotlens
