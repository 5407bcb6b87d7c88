#include "annotator/lab/structure/values.h"

#include "annotator/lab/layers/python/torch_layers.h"

namespace hotlens::layers {

using Kind = Value::Kind;

std::optional<std::int64_t> whole_of(const Ref& value) {
  if (!value || (value->kind != Kind::integer && value->kind != Kind::boolean)) return std::nullopt;
  return value->integer;
}

lab::Value number(std::int64_t value) {
  return {lab::Whole{.offset = value}};
}

std::optional<lab::Value> list_of(const Ref& value, std::size_t dimensions, std::int64_t otherwise) {
  lab::Values all;
  if (!value || whole_of(value)) {
    for (std::size_t at = 0; at < dimensions; ++at) all.push_back(number(value ? *whole_of(value) : otherwise));
    return lab::Value{all};
  }
  if (value->kind != Kind::tuple && value->kind != Kind::list) return std::nullopt;
  for (const Ref& item : value->items) {
    if (!whole_of(item)) return std::nullopt;
    all.push_back(number(item->integer));
  }
  return lab::Value{all};
}

std::optional<lab::Value> plain_of(const Ref& value) {
  switch (value->kind) {
    case Kind::none:
      return lab::Value{lab::Nothing{}};
    case Kind::boolean:
      return lab::Value{value->integer != 0};
    case Kind::integer:
      return number(value->integer);
    case Kind::real:
      return lab::Value{value->real};
    case Kind::text:
      return lab::Value{value->text};
    default:
      return std::nullopt;
  }
}

std::optional<bool> is_on(const Value& layer, std::string_view name, bool otherwise) {
  const Ref value = argument(layer, name);
  if (!value) return otherwise;
  return value->kind == Value::Kind::boolean ? std::optional(value->integer != 0) : std::nullopt;
}

}  // namespace hotlens::layers
