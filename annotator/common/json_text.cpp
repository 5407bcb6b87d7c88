#include "annotator/common/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace hotlens {
namespace {

bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

// As most names are: nothing in them needs to be escaped.
void append_string(std::string& out, std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) {
    out.append("\"").append(text).append("\"");
  } else {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

void JsonText::member(std::string_view name, std::string_view value) {
  key(name);
  follows_ = false;
  append_string(out_, value);
}

void JsonText::element(std::string_view value) {
  separate();
  append_string(out_, value);
}

void JsonText::member(std::string_view name, double value) {
  literal(name, nlohmann::json(value).dump());
}

void JsonText::literal(std::string_view name, std::string_view text) {
  key(name);
  follows_ = false;
  out_ += text;
}

void JsonText::number(std::string_view name, std::int64_t value) {
  std::array<char, 24> text;
  const auto [end, error] = std::to_chars(text.begin(), text.end(), value);
  literal(name, {text.begin(), end});
}

void JsonText::separate() {
  if (std::exchange(follows_, false) || depth_ == 0) return;
  out_ += std::exchange(first_, false) ? "\n" : ",\n";
  out_.append(2 * depth_, ' ');
}

void JsonText::key(std::string_view name) {
  separate();
  out_.append("\"").append(name).append("\": ");
  follows_ = true;
}

void JsonText::open(char bracket) {
  separate();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonText::close(char bracket) {
  --depth_;
  if (!std::exchange(first_, false)) out_.append("\n").append(2 * depth_, ' ');
  out_ += bracket;
}

}  // namespace hotlens
