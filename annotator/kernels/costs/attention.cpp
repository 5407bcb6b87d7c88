#include <algorithm>

#include "annotator/kernels/costs/rules.h"

namespace hotlens::kernels {
namespace {

struct Heads {
  double count = 0;                   // of queries, in all sequences
  double scores = 0;                  // of one head: pairs of a query and a key that is not masked
  double width = 0, value_width = 0;  // of a query and key, of a value
  double queries = 0;
};

// Causal: query i sees the keys up to i.
double visible(double queries, double keys, bool causal) {
  if (!causal) return queries * keys;
  const double square = std::min(queries, keys);
  return square * (square + 1) / 2 + (queries - square) * keys;
}

std::optional<Heads> heads(const Shape* query, const Shape* key, const Shape* value, std::optional<bool> causal) {
  if (!query || !key || !value || !causal || query->size() < 3 || key->size() != query->size() || value->size() != query->size()) return {};
  const std::size_t last = query->size() - 1;
  const auto all = elements(*query), all_keys = elements(*key), all_values = elements(*value);
  if ((*query)[last] != (*key)[last] || (*key)[last - 1] != (*value)[last - 1] || !all || !all_keys || !all_values || *all <= 0) return {};
  const auto number = [](std::int64_t size) { return static_cast<double>(size); };
  const double queries = number((*query)[last - 1]), width = number((*query)[last]);
  return Heads{.count = *all / queries / width,
               .scores = visible(queries, number((*key)[last - 1]), *causal),
               .width = width,
               .value_width = number((*value)[last]),
               .queries = queries};
}

}  // namespace

// Scores, and their sum over the values.
RuleResult attention(const Arguments& given, std::size_t causal) {
  const auto of = heads(given.tensor(0), given.tensor(1), given.tensor(2), given.truth(causal));
  if (!of) return std::nullopt;
  ByteSum bytes;
  bytes.add(given, 0).add(given, 1).add(given, 2).add(of->count * of->queries * of->value_width, given.at(0)->element_bytes);
  return Amount{2 * of->count * of->scores * (of->width + of->value_width), bytes.sum()};
}

// (grad_out, query, key, value, …): scores again and the gradients of query and key, of the width of a query; those of the weights and of
// the values, of the width of a value.
RuleResult attention_backward(const Arguments& given, std::size_t causal) {
  const auto of = heads(given.tensor(1), given.tensor(2), given.tensor(3), given.truth(causal));
  if (!of) return std::nullopt;
  ByteSum bytes;
  bytes.add(given, 0).add(of->count * of->queries * of->value_width, given.at(0)->element_bytes);  // its gradient and the result
  for (const std::size_t at : {1, 2, 3}) bytes.add(given, at).add(given, at);
  return Amount{2 * of->count * of->scores * (3 * of->width + 2 * of->value_width), bytes.sum()};
}

}  // namespace hotlens::kernels
