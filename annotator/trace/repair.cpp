#include "annotator/trace/repair.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "annotator/trace/scan.h"
#include "annotator/trace/text.h"

namespace hotlens::trace {
namespace {

// Whether the quote at `at` ends its string: what follows must go on as JSON does.
bool closes(std::string_view text, std::size_t at, bool key) {
  const std::size_t next = skip_space(text, at + 1);
  if (next == text.size()) return true;
  if (key) return text[next] == ':';
  if (text[next] == ',') {
    const std::size_t after = skip_space(text, next + 1);
    return after == text.size() || std::string_view("\"{[}-0123456789").find(text[after]) != kNowhere;
  }
  if (text[next] != '}' && text[next] != ']') return false;
  const std::size_t after = skip_space(text, next + 1);
  return after == text.size() || std::string_view(",}]").find(text[after]) != kNowhere;
}

void append_character(std::string& out, std::string_view rest) {
  const auto byte = static_cast<unsigned char>(rest[0]);
  if (byte < 0x20) {
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte));
    out += escape.data();
  } else if (const std::size_t length = utf8_length(rest); length > 0) {
    out += rest.substr(0, length);
  } else {
    out += "\xef\xbf\xbd";
  }
}

// Copies the string that opens at `at` in valid form; returns one past its end.
std::size_t repair_string(std::string_view text, std::size_t at, bool key, std::string& out) {
  out += '"';
  for (++at; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      if (closes(text, at, key)) {
        out += '"';
        return at + 1;
      }
      out += "\\\"";
      ++at;
    } else if (c == '\\') {
      const bool valid = at + 1 < text.size() && std::string_view("\"\\/bfnrtu").find(text[at + 1]) != kNowhere;
      out += '\\';
      out += valid ? text[at + 1] : '\\';
      at += valid ? 2 : 1;
    } else {
      append_character(out, text.substr(at));
      at += std::max<std::size_t>(1, utf8_length(text.substr(at)));
    }
  }
  return at;
}

}  // namespace

std::string repaired(std::string_view event) {
  std::string out;
  out.reserve(event.size() + 64);
  char before = '{';  // the last character outside strings that is no space
  for (std::size_t at = 0; at < event.size();) {
    const char c = event[at];
    if (c == '"') {
      at = repair_string(event, at, before == '{' || before == ',', out);
      before = '"';
      continue;
    }
    if ((c == '}' || c == ']') && before == ',') out.erase(out.find_last_of(','), 1);
    if (kSpace.find(c) == kNowhere) before = c;
    out += c;
    ++at;
  }
  return out;
}

}  // namespace hotlens::trace
