#include "annotator/lab/structure/releases.h"

#include <set>
#include <utility>

namespace hotlens::lab {

Operator release(const std::vector<TensorId>& ids) {
  Operator op{.kind = OperatorKind::free, .name = "hotlens::free", .overload = {}, .args = {}, .kwargs = {}, .out = {}};
  for (const TensorId id : ids) op.args.emplace_back().is = TensorRef{id};
  return op;
}

std::size_t after_releases(const Program& program, std::size_t place) {
  while (place < program.operators.size() && program.operators[place].kind == OperatorKind::free) ++place;
  return place;
}

void postpone_others(Program& program, std::size_t begin, std::size_t end, std::size_t place, std::size_t more) {
  std::set<TensorId> own;
  for (std::size_t at = begin; at < end; ++at) {
    for_each_tensor(program.operators[at], [&](TensorId id) { own.insert(id); });
    own.insert(program.operators[at].out.begin(), program.operators[at].out.end());
  }
  std::vector<TensorId> later;
  for (std::size_t at = end; at < place; ++at) {
    if (program.operators[at].kind != OperatorKind::free) continue;
    for_each_tensor(program.operators[at], [&](TensorId id) {
      if (!own.contains(id)) later.push_back(id);
    });
    keep_only(program.operators[at], [&](TensorId id) { return own.contains(id); });
  }
  if (!later.empty()) program.operators.insert(program.operators.begin() + static_cast<std::ptrdiff_t>(place + more), release(later));
}

void release_after_last_use(Program& program) {
  std::vector<std::size_t> last(program.ids, 0);
  std::vector<std::vector<TensorId>> after(program.operators.size());
  std::size_t releases = program.operators.size();  // the last free, while only backward may follow
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    Operator& op = program.operators[at];
    if (op.kind == OperatorKind::free) {
      releases = at;
      continue;
    }
    if (op.kind == OperatorKind::backward && releases + 1 == at) {
      keep_only(program.operators[releases], [&](TensorId id) {
        const bool made = id >= static_cast<TensorId>(program.tensors.size());
        if (made) after[last[static_cast<std::size_t>(id)]].push_back(id);
        return !made;
      });
    }
    const auto use = [&](TensorId id) {
      if (id != kNoTensor) last[static_cast<std::size_t>(id)] = at;
    };
    for_each_tensor(op, use);
    std::ranges::for_each(op.out, use);
    std::ranges::for_each(std::exchange(op.last_named, {}), use);
  }
  std::vector<Operator> kept;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    const bool empty = program.operators[at].kind == OperatorKind::free && program.operators[at].args.empty();
    if (!empty) kept.push_back(std::move(program.operators[at]));
    if (!after[at].empty()) kept.push_back(release(after[at]));
  }
  program.operators = std::move(kept);
}

}  // namespace hotlens::lab
