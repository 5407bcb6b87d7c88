#include "annotator/lab/layers/python/value.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;
constexpr std::size_t kLongestList = 100'000;  // letters

}  // namespace

std::optional<double> real_of(const Value& value) {
  if (value.kind == Value::Kind::real) return value.real;
  return value.kind == Value::Kind::integer ? std::optional(static_cast<double>(value.integer)) : std::nullopt;
}

bool is_plain(const Value& value) {
  return value.kind == Kind::none || value.kind == Kind::boolean || value.kind == Kind::integer || value.kind == Kind::real ||
         value.kind == Kind::text;
}

std::string written(const Value& value, int depth) {
  if (depth > 6) return "…";
  const auto listed = [&](const std::vector<Ref>& items) {
    std::string all;
    for (const Ref& item : items) {
      if (all.size() > kLongestList) return all + "… of " + std::to_string(items.size());
      all += (all.empty() ? "" : ", ") + written(*item, depth + 1);
    }
    return all;
  };
  switch (value.kind) {
    case Kind::unknown:
      return value.text;
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.integer != 0 ? "True" : "False";
    case Kind::integer:
      return std::to_string(value.integer);
    case Kind::real: {
      std::array<char, 32> digits{};
      const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value.real);
      return {digits.data(), end};
    }
    case Kind::text:
      return "'" + value.text + "'";
    case Kind::list:
      return "[" + listed(value.items) + "]";
    case Kind::tuple:
      return "(" + listed(value.items) + ")";
    case Kind::mapping:
      return "{" + listed(value.items) + ": " + listed(value.values) + "}";
    case Kind::function:
      return value.node ? std::string(value.node.text()) : value.text;
    case Kind::external:
    case Kind::method:
    case Kind::type:
      return value.text;
    case Kind::object: {
      std::string all = (value.self ? value.self->text : "") + "(" + listed(value.given.positional);
      for (const auto& [name, one] : value.given.named) all += ", " + name + "=" + written(*one, depth + 1);
      for (const auto& [name, one] : value.attributes) all += "; " + name + "=" + written(*one, depth + 1);
      return all + ")";
    }
  }
  return {};
}

Ref attribute_of(const Value& object, std::string_view name) {
  const auto found = std::ranges::find(object.attributes, name, [](const auto& one) -> std::string_view { return one.first; });
  return found == object.attributes.end() ? nullptr : found->second;
}

std::optional<std::size_t> place_of(const Value& mapping, const Value& key) {
  const std::string wanted = written(key);
  const auto found = std::ranges::find_if(mapping.items, [&](const Ref& one) { return written(*one) == wanted; });
  return found == mapping.items.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - mapping.items.begin()));
}

std::string written_call(const std::string& callee, const Arguments& given) {
  std::string words = callee + "(";
  for (const Ref& one : given.positional) words += written(*one) + ", ";
  for (const auto& [name, value] : given.named) words += name + "=" + written(*value) + ", ";
  return words + ")";
}

Ref named(const Arguments& given, std::string_view name) {
  const auto found = std::ranges::find(given.named, name, [](const auto& one) -> std::string_view { return one.first; });
  return found == given.named.end() ? nullptr : found->second;
}

}  // namespace hotlens::layers
