#include "annotator/lab/structure/handover.h"

#include <algorithm>

#include "annotator/lab/structure/releases.h"

namespace hotlens::lab {
namespace {

bool is_released(const Draft& draft, TensorId id, std::size_t from) {
  const auto& operators = draft.program.operators;
  return std::any_of(operators.begin() + static_cast<std::ptrdiff_t>(from), operators.end(),
                     [&](const Operator& op) { return op.kind == OperatorKind::free && uses(op, id); });
}

void never_release(Draft& draft, TensorId id) {
  draft.made.erase(id);
  for (Operator& op : draft.program.operators) {
    if (op.kind == OperatorKind::free) keep_only(op, [&](TensorId one) { return one != id; });
  }
}

}  // namespace

void hand_over(Draft& draft, TensorId was, TensorId is, std::size_t from) {
  if (was == is) return;
  const bool brought = draft.listed(was) != nullptr;
  if (draft.listed(is) != nullptr) never_release(draft, was);
  if (!brought && !is_released(draft, was, from)) never_release(draft, is);
  if (!brought) draft.recorded[is] = now(draft.recorded, was);  // literal sizes are of what it was
  for (std::size_t place = from; place < draft.program.operators.size(); ++place) {
    Operator& op = draft.program.operators[place];
    if (!brought || op.kind != OperatorKind::free) rename(op, {{was, is}});
  }
}

}  // namespace hotlens::lab
