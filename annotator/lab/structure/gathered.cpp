#include "annotator/lab/structure/gathered.h"

#include <algorithm>

#include "annotator/lab/structure/releases.h"

namespace hotlens::lab {
namespace {

constexpr const char* kNotTogether = "what it gives is not taken together with what the others give";

std::ptrdiff_t offset(std::size_t place) {
  return static_cast<std::ptrdiff_t>(place);
}

// In an operator's lists.
Values* list_with(Operator& op, TensorId id) {
  for (Value& value : op.args) {
    auto* list = std::get_if<Values>(&value.is);
    if (list != nullptr && std::ranges::find(*list, Value{TensorRef{id}}) != list->end()) return list;
  }
  return nullptr;
}

struct Gatherer {
  std::size_t place = 0;
  TensorId given = kNoTensor;
};

// The one operator that takes what a call gives.
std::expected<Gatherer, std::string> gatherer_of(Draft& draft, const Call& call) {
  const auto given = passing(draft, call).out;
  if (given.size() != 1) return std::unexpected("it gives more than one tensor, or none that is used");
  Gatherer found{.place = 0, .given = given.front()};
  auto& operators = draft.program.operators;
  for (std::size_t place = call.end; place < operators.size(); ++place) {
    if (operators[place].kind == OperatorKind::free || !uses(operators[place], found.given)) continue;
    if (found.place != 0) return std::unexpected(kNotTogether);
    found.place = place;
  }
  if (found.place == 0 || list_with(operators[found.place], found.given) == nullptr) return std::unexpected(kNotTogether);
  return found;
}

}  // namespace

std::expected<void, std::string> remove_gathered(Draft& draft, const Call& call) {
  const auto gatherer = gatherer_of(draft, call);
  if (!gatherer) return std::unexpected(gatherer.error());
  auto& operators = draft.program.operators;
  Values& list = *list_with(operators[gatherer->place], gatherer->given);
  if (list.size() < 2) return std::unexpected("what is done without any is not known");
  std::erase(list, Value{TensorRef{gatherer->given}});
  const auto end = std::remove_if(operators.begin() + offset(call.begin), operators.begin() + offset(call.end),
                                  [](const Operator& op) { return op.kind != OperatorKind::free; });
  operators.erase(end, operators.begin() + offset(call.end));
  return {};
}

std::expected<void, std::string> insert_gathered(Draft& draft, const Call& beside, Called made) {
  const auto gatherer = gatherer_of(draft, beside);
  if (!gatherer) return std::unexpected(gatherer.error());
  auto& operators = draft.program.operators;
  Values& list = *list_with(operators[gatherer->place], gatherer->given);
  list.insert(std::ranges::find(list, Value{TensorRef{gatherer->given}}) + 1, Value{TensorRef{made.out}});
  draft.made.insert(made.out);
  draft.goes_with[made.out] = gatherer->given;
  operators.insert(operators.begin() + offset(after_releases(draft.program, beside.end)), made.operators.begin(), made.operators.end());
  return {};
}

}  // namespace hotlens::lab
