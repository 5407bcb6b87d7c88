#include "annotator/trace/scan.h"

#include <algorithm>
#include <string>

namespace hotlens::trace {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The last position before `at` that is no white space.
std::size_t before(std::string_view text, std::size_t at) {
  return at == 0 ? kNowhere : text.find_last_not_of(kSpace, at - 1);
}

// The comma before the `{` at `open`, if that is the start of an object in a list. In valid JSON a quote before a letter opens a string,
// so the bracket before it is no part of one.
std::size_t boundary_at(std::string_view text, std::size_t open) {
  const std::size_t quote = skip_space(text, open + 1);
  if (quote + 1 >= text.size() || text[quote] != '"' || !is_letter(text[quote + 1])) return kNowhere;
  const std::size_t comma = before(text, open);
  if (comma == kNowhere || text[comma] != ',') return kNowhere;
  const std::size_t close = before(text, comma);
  return close != kNowhere && text[close] == '}' ? comma : kNowhere;
}

constexpr std::size_t kSkimmed = 4096;  // bytes of an object that are searched for its phase

// Whether the object at the front of `text` may be an event: it has a phase among its own keys, as the objects in arguments do not, or it
// is damaged before it could tell.
bool may_be_event(std::string_view text) {
  for (std::size_t key = skip_space(text, 1); key < text.size();) {
    if (text[key] != '"') return true;
    const std::size_t key_end = end_of_string(text, key);
    if (key_end == kNowhere) return false;
    if (text.substr(key, key_end - key) == "\"ph\"") return true;
    const std::size_t colon = skip_space(text, key_end);
    if (colon >= text.size()) return false;
    if (text[colon] != ':') return true;
    const std::size_t value_end = end_of_value(text, skip_space(text, colon + 1));
    if (value_end == kNowhere) return false;
    const std::size_t comma = skip_space(text, value_end);
    if (comma >= text.size() || text[comma] == '}') return false;
    if (text[comma] != ',') return true;
    key = skip_space(text, comma + 1);
  }
  return false;
}

}  // namespace

std::size_t skip_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kSpace, at), text.size());
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return kNowhere;
}

std::size_t end_of_brackets(std::string_view text, std::size_t at) {
  std::string open;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.back() != c) return kNowhere;
      open.pop_back();
      if (open.empty()) return at + 1;
    }
    ++at;
  }
  return kNowhere;
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return kNowhere;
  if (text[at] == '"') return end_of_string(text, at);
  if (text[at] == '{' || text[at] == '[') return end_of_brackets(text, at);
  return text.find_first_of(",}] \t\r\n", at);
}

std::size_t last_boundary(std::string_view text) {
  for (std::size_t open = text.rfind('{'); open != kNowhere && open > 0; open = text.rfind('{', open - 1)) {
    const std::size_t comma = boundary_at(text, open);
    if (comma != kNowhere) return comma;
  }
  return kNowhere;
}

std::size_t next_event(std::string_view text, std::size_t from, bool phase_first) {
  if (phase_first) {
    for (std::size_t phase = text.find("\"ph\"", from); phase != kNowhere; phase = text.find("\"ph\"", phase + 1)) {
      const std::size_t open = before(text, phase);
      if (open != kNowhere && open >= from && text[open] == '{') return open;
    }
    return kNowhere;
  }
  for (std::size_t open = text.find('{', from); open != kNowhere; open = text.find('{', open + 1)) {
    if (boundary_at(text, open) != kNowhere && may_be_event(text.substr(open, kSkimmed))) return open;
  }
  return kNowhere;
}

bool begins_with_phase(std::string_view text) {
  return text.substr(skip_space(text, 1)).starts_with("\"ph\"");
}

}  // namespace hotlens::trace
