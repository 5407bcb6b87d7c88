#include "annotator/trace/salvage.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "annotator/trace/decimal.h"
#include "annotator/trace/text.h"

namespace hotlens::trace {
namespace {

constexpr std::size_t kEnd = std::string_view::npos;
constexpr std::string_view kSpace = " \t\r\n";

std::size_t skip_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kSpace, at), text.size());
}

// One past the bracket that closes the one at `at`; kEnd when the text ends before or brackets do not match. Brackets in strings do not
// count.
std::size_t end_of_object(std::string_view text, std::size_t at) {
  std::string open;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.back() != c) return kEnd;
      open.pop_back();
      if (open.empty()) return at + 1;
    }
  }
  return kEnd;
}

// The next `{` that opens an event as every torch writer opens one: with its phase.
std::size_t next_event(std::string_view text, std::size_t from) {
  for (std::size_t phase = text.find("\"ph\"", from); phase != kEnd; phase = text.find("\"ph\"", phase + 1)) {
    const std::size_t open = text.find_last_not_of(kSpace, phase - 1);
    if (open != kEnd && open >= from && text[open] == '{') return open;
  }
  return kEnd;
}

// Where the first element of traceEvents may stand; kEnd where there is no such list.
std::size_t first_element(std::string_view text) {
  const std::size_t first = skip_space(text, 0);
  if (first < text.size() && text[first] == '[') return first + 1;
  const std::size_t key = text.find("\"traceEvents\"");
  if (key == kEnd) return kEnd;
  const std::size_t open = text.find('[', key);
  return open == kEnd ? kEnd : open + 1;
}

std::optional<Ns> time_base(std::string_view text) {
  constexpr std::string_view kKey = "\"baseTimeNanoseconds\"";
  const std::size_t key = text.find(kKey);
  if (key == kEnd) return std::nullopt;
  const std::size_t value = text.find_first_of("0123456789", key + kKey.size());
  if (value == kEnd) return std::nullopt;
  const std::optional<std::int64_t> base = integer(text.substr(value, text.find_first_not_of("0123456789", value) - value));
  return base ? std::optional(Ns{*base}) : std::nullopt;
}

bool read_event(simdjson::ondemand::parser& parser, std::string_view text, std::size_t capacity, EventReader& reader) {
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser.iterate(simdjson::padded_string_view(text.data(), text.size(), capacity)).get(document)) return false;
  return !document.get_object().get(object) && !reader.read(object);
}

bool read_repaired(simdjson::ondemand::parser& parser, std::string_view text, EventReader& reader) {
  const simdjson::padded_string event(repaired(text));
  return read_event(parser, std::string_view(event.data(), event.size()), event.size() + simdjson::SIMDJSON_PADDING, reader);
}

// Whether the quote at `at` ends its string: what follows must go on as JSON does.
bool closes(std::string_view text, std::size_t at, bool key) {
  const std::size_t next = skip_space(text, at + 1);
  if (next == text.size()) return true;
  if (key) return text[next] == ':';
  if (text[next] == ',') {
    const std::size_t after = skip_space(text, next + 1);
    return after == text.size() || std::string_view("\"{[}-0123456789").find(text[after]) != kEnd;
  }
  if (text[next] != '}' && text[next] != ']') return false;
  const std::size_t after = skip_space(text, next + 1);
  return after == text.size() || std::string_view(",}]").find(text[after]) != kEnd;
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
      const bool valid = at + 1 < text.size() && std::string_view("\"\\/bfnrtu").find(text[at + 1]) != kEnd;
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
    if (kSpace.find(c) == kEnd) before = c;
    out += c;
    ++at;
  }
  return out;
}

bool salvage(const PaddedBytes& bytes, std::uint32_t already, Trace& trace, EventReader& reader, Issues& issues) {
  const std::string_view text = bytes.view();
  std::size_t at = first_element(text);
  if (at == kEnd) return false;
  simdjson::ondemand::parser parser;
  std::uint32_t element = 0;
  bool closed = false;
  std::size_t next = 0;  // start of the event after the current one
  while (at < text.size()) {
    at = text.find_first_of("{]", at);
    if (at == kEnd) break;
    if (text[at] == ']') {
      if (next <= at) next = next_event(text, at);
      closed = next == kEnd;
      if (closed) break;
      at = next;  // a stray bracket: events follow
    }
    if (element++ < already) {
      const std::size_t known = end_of_object(text, at);
      if (known != kEnd) {
        at = known;
        continue;
      }
    }
    if (next <= at) next = next_event(text, at + 1);
    // An object that reaches into the next event lacks a bracket or a quote, or has one too many.
    std::size_t end = end_of_object(text.substr(0, next), at);
    const bool overran = end == kEnd;
    if (overran && next == kEnd) break;
    if (overran) end = text.find_last_of('}', next) + 1;
    if (end <= at) {
      issues.add("broken-event", "an event in the trace is damaged and was left out");
      reader.skip();
      at = next;
      continue;
    }
    const std::string_view piece = text.substr(at, end - at);
    if (!read_event(parser, piece, bytes.size() + PaddedBytes::kPadding - at, reader)) {
      if (read_repaired(parser, piece, reader)) {
        issues.add("repaired-event", "an event in the trace is not valid JSON; it was repaired and kept");
      } else {
        issues.add("broken-event", "an event in the trace is damaged and was left out");
        reader.skip();
      }
    }
    at = overran ? next : end;
  }
  if (!closed) issues.add("truncated-trace", "the trace breaks off before its end; every whole event before that was kept");
  const std::size_t start = first_element(text);
  if (const auto base = time_base(text.substr(0, start))) trace.base = *base;
  if (closed) {
    if (const auto base = time_base(text.substr(at))) trace.base = *base;
  }
  return true;
}

}  // namespace hotlens::trace
