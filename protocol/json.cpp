#include "protocol/json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace hotlens::protocol {
namespace {

int nesting_depth(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// The code unit of a `\uXXXX` escape at `at`, if there is one.
std::optional<std::uint32_t> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : text.substr(at + 2, 4)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
    if (digit == std::string_view::npos) return std::nullopt;
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  return unit;
}

bool is_high(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

std::string without_lone_surrogates(std::string_view text) {
  std::string mended;
  mended.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      mended += text[i++];
      continue;
    }
    const auto unit = escaped_unit(text, i);
    if (!unit) {
      mended += text.substr(i, 2);
      i += 2;
      continue;
    }
    const auto second = is_high(*unit) ? escaped_unit(text, i + 6) : std::nullopt;
    const bool pair = second && is_low(*second);
    const std::size_t size = pair ? 12 : 6;
    mended += !pair && (is_high(*unit) || is_low(*unit)) ? std::string_view("\\ufffd") : text.substr(i, size);
    i += size;
  }
  return mended;
}

}  // namespace

std::expected<Json, std::string> parse_json(std::string_view text) {
  if (nesting_depth(text) > kMaxJsonDepth) {
    return std::unexpected("the message nests deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  }
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded() && text.contains("\\u")) value = Json::parse(without_lone_surrogates(text), nullptr, false);
  if (value.is_discarded()) return std::unexpected("the message is not valid JSON");
  return value;
}

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hotlens::protocol
