#include "annotator/lab/program/positions.h"

#include <algorithm>
#include <string>

namespace hotlens::lab {
namespace {

using nlohmann::json;

std::optional<std::int64_t> whole(const json& args, std::size_t at) {
  if (!args.is_array() || at >= args.size() || !args[at].is_number_integer()) return std::nullopt;
  return args[at].get<std::int64_t>();
}

bool is_given(const json& args, std::size_t at) {
  return args.is_array() && at < args.size() && !args[at].is_null();
}

// A part of a dimension, in elements.
struct PartOf {
  std::int64_t of = 0, start = 0, length = 0;
};

std::optional<PartOf> part_of(const json& args, const Shapes& shapes, std::int64_t start, std::int64_t length) {
  const auto dimension = whole(args, 1);
  const auto of = dimension ? shapes.size(args[0], *dimension) : std::nullopt;
  return of ? std::optional(PartOf{*of, start, length}) : std::nullopt;
}

std::optional<PartOf> sliced(const json& args, const Shapes& shapes) {
  const auto part = part_of(args, shapes, 0, 0);
  if (!part || (is_given(args, 4) && whole(args, 4) != 1)) return std::nullopt;
  if ((is_given(args, 2) && !whole(args, 2)) || (is_given(args, 3) && !whole(args, 3))) return std::nullopt;
  const auto bound = [&](std::int64_t given) { return std::clamp<std::int64_t>(given < 0 ? given + part->of : given, 0, part->of); };
  const std::int64_t start = bound(whole(args, 2).value_or(0)), end = bound(whole(args, 3).value_or(part->of));
  return PartOf{part->of, start, std::max<std::int64_t>(end - start, 0)};
}

std::optional<PartOf> narrowed(const json& args, const Shapes& shapes) {
  const auto start = whole(args, 2), length = whole(args, 3);
  return start && length ? part_of(args, shapes, *start, *length) : std::nullopt;
}

std::optional<PartOf> selected(const json& args, const Shapes& shapes) {
  const auto index = whole(args, 2);
  return index ? part_of(args, shapes, *index, 1) : std::nullopt;
}

std::optional<PartOf> read_part(const json& op, const Shapes& shapes) {
  const auto name = op.find("op"), args = op.find("args");
  if (name == op.end() || args == op.end() || !args->is_array() || args->empty()) return std::nullopt;
  if (*name == "aten::slice") return sliced(*args, shapes);
  if (*name == "aten::narrow") return narrowed(*args, shapes);
  if (*name == "aten::select") return selected(*args, shapes);
  return std::nullopt;
}

json moved(json op, std::int64_t start, std::int64_t length) {
  json& args = op["args"];
  if (op["op"] == "aten::slice") {
    while (args.size() < 4) args.push_back(nullptr);
    args[3] = start + length;
  }
  args[2] = start;
  return op;
}

}  // namespace

Shapes::Shapes(const json& document) {
  const auto tensors = document.find("tensors");
  if (tensors == document.end() || !tensors->is_array()) return;
  std::int64_t number = 0;
  for (const json& tensor : *tensors) {
    if (tensor.is_object() && tensor.contains("shape")) shapes_[number] = tensor["shape"];
    ++number;
  }
}

void Shapes::add(const json& op) {
  if (!op.is_object()) return;
  const auto out = op.find("out"), shapes = op.find("shapes");
  if (out != op.end() && shapes != op.end() && out->is_number_integer()) shapes_[out->get<std::int64_t>()] = *shapes;
}

std::optional<std::int64_t> Shapes::size(const json& tensor, std::int64_t dimension) const {
  const auto number = tensor.is_object() ? tensor.find("t") : tensor.end();
  if (!tensor.is_object() || number == tensor.end() || !number->is_number_integer()) return std::nullopt;
  const auto found = shapes_.find(number->get<std::int64_t>());
  if (found == shapes_.end() || !found->second.is_array()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(found->second.size());
  if (dimension < -rank || dimension >= rank) return std::nullopt;
  return whole(found->second, static_cast<std::size_t>(dimension < 0 ? dimension + rank : dimension));
}

std::optional<std::pair<json, json>> at_one_place(const json& a, const Shapes& shapes_a, const json& b, const Shapes& shapes_b) {
  const auto one = read_part(a, shapes_a), other = read_part(b, shapes_b);
  if (!one || !other || one->of != other->of || one->start == other->start) return std::nullopt;
  // A longer part than the recorded one has room at the beginning, and perhaps nowhere else.
  const std::int64_t start = one->length == other->length ? one->start : 0;
  return std::pair(moved(a, start, one->length), moved(b, start, other->length));
}

}  // namespace hotlens::lab
