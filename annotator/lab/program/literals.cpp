#include "annotator/lab/program/literals.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace hotlens::lab {

std::int64_t product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

Whole* whole_at(Operator& op, std::size_t at) {
  return at < op.args.size() ? std::get_if<Whole>(&op.args[at].is) : nullptr;
}

std::optional<Sizes> list_at(const Operator& op, std::size_t at) {
  const auto* values = at < op.args.size() ? std::get_if<Values>(&op.args[at].is) : nullptr;
  if (values == nullptr) return std::nullopt;
  Sizes sizes;
  for (const Value& value : *values) {
    const auto* one = std::get_if<Whole>(&value.is);
    if (one == nullptr || !one->is_fixed()) return std::nullopt;
    sizes.push_back(one->offset);
  }
  return sizes;
}

void set_list(Operator& op, std::size_t at, const Sizes& sizes) {
  Values values;
  for (const std::int64_t size : sizes) values.emplace_back().is = Whole{.offset = size};
  op.args[at].is = std::move(values);
}

std::set<std::int64_t> held(std::int64_t literal, const Numbers& numbers) {
  std::set<std::int64_t> found;
  for (const auto& [was, is] : numbers) {
    if (was == literal) found.insert(is);
  }
  return found;
}

std::optional<std::int64_t> only(const std::set<std::int64_t>& found) {
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

bool moves(std::int64_t literal, const Numbers& numbers) {
  return std::ranges::any_of(numbers, [&](const auto& one) { return one.first == literal && one.second != literal; });
}

std::int64_t by_what_is_around(std::int64_t literal, const Around& around, bool first) {
  if (literal <= 1) return literal;
  std::set<std::int64_t> found = held(literal, around.sizes);
  if (const auto known = only(held(literal, around.leading)); first && known && found.size() > 1) return *known;
  if (const auto known = only(held(literal, around.numbers))) found.insert(*known);
  if (found.size() > 1) throw UnknownSize{"which size " + std::to_string(literal) + " is cannot be known"};
  return found.empty() ? literal : *found.begin();
}

}  // namespace hotlens::lab
