// `x.unbind(dim)` before a loop that takes `x[t]` in each of its steps: the backward pass of each `x[t]` fills a tensor as large as the
// whole sequence, that of `unbind` writes it once (BPPSA, MLSys 2020, on what makes loops over time quadratic).
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "annotator/lab/whatif/dataflow.h"
#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kFewest = 4;  // steps of a loop over time; fewer are parts of something else

struct Step {
  std::size_t at = 0;
  std::int64_t index = 0;
};

// All `x[t]` of one sequence as one operator left it.
struct Sequence {
  TensorId id = kNoTensor;
  std::size_t maker = kNowhere, dim = 0;
  std::int64_t length = 0;
  std::vector<Step> steps;  // in order
};

std::optional<std::int64_t> whole(const Value* value) {
  const auto* found = value == nullptr ? nullptr : std::get_if<Whole>(&value->is);
  return found == nullptr || !found->is_fixed() ? std::nullopt : found->at(0);
}

// Nullopt: the operator takes no step of a sequence of known length.
std::optional<Sequence> step_of(const Program& program, const Dataflow& flow, std::size_t at) {
  const Operator& op = program.operators[at];
  if (op.name != "aten::select" || op.overload != "int" || !op.grad || op.out.size() != 1 || op.out[0] == kNoTensor) return std::nullopt;
  const TensorId id = tensor_of(argument(op, 0, "self"));
  const auto dim = whole(argument(op, 1, "dim")), index = whole(argument(op, 2, "index"));
  const auto* shape = flow.shape(id, at);
  if (!dim || !index || shape == nullptr || !flow.is_differentiated(id)) return std::nullopt;
  const std::int64_t place = *dim < 0 ? *dim + static_cast<std::int64_t>(shape->size()) : *dim;
  if (place < 0 || static_cast<std::size_t>(place) >= shape->size()) return std::nullopt;
  const Whole& size = (*shape)[static_cast<std::size_t>(place)];
  const auto length = size.is_fixed() ? size.at(0) : std::nullopt;
  if (!length || *length < 1 || *index >= *length || *index < -*length) return std::nullopt;
  return Sequence{.id = id,
                  .maker = flow.maker(id, at),
                  .dim = static_cast<std::size_t>(place),
                  .length = *length,
                  .steps = {{.at = at, .index = *index < 0 ? *index + *length : *index}}};
}

std::vector<Sequence> sequences(const Program& program, const Dataflow& flow) {
  std::map<std::tuple<TensorId, std::size_t, std::size_t>, Sequence> found;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    auto one = step_of(program, flow, at);
    if (!one) continue;
    const auto [known, fresh] = found.try_emplace({one->id, one->maker, one->dim}, *one);
    if (!fresh) known->second.steps.push_back(one->steps.front());
  }
  std::vector<Sequence> all;
  for (auto& [key, one] : found) {
    std::set<std::int64_t> different;
    for (const Step& step : one.steps) different.insert(step.index);
    if (different.size() >= kFewest && 2 * different.size() > static_cast<std::size_t>(one.length)) all.push_back(std::move(one));
  }
  return all;
}

// A step that is written to: what `unbind` gives must not be.
std::optional<std::size_t> writer(const Program& program, const Dataflow& flow, const Sequence& sequence) {
  for (const Step& step : sequence.steps) {
    const std::vector<std::size_t>& makers = flow.makers(program.operators[step.at].out[0]);
    if (makers.size() > 1) return makers[1];
  }
  return std::nullopt;
}

// The first of equal steps stands for all; a list holds them until the last one was let go.
void take_apart(Program& program, const Sequence& sequence, std::vector<Replacement>& replacements) {
  Operator unbind = program.operators[sequence.steps.front().at];
  unbind.name = "aten::unbind";
  unbind.args = {{TensorRef{sequence.id}}, {Whole{static_cast<std::int64_t>(sequence.dim)}}};
  unbind.kwargs.clear();
  unbind.shapes.clear();
  unbind.out.assign(static_cast<std::size_t>(sequence.length), kNoTensor);
  std::map<TensorId, TensorId> same;
  for (const Step& step : sequence.steps) {
    TensorId& kept = unbind.out[static_cast<std::size_t>(step.index)];
    const TensorId made = program.operators[step.at].out[0];
    if (kept == kNoTensor) kept = made;
    same[made] = kept;
  }
  std::size_t last = 0;
  for (std::size_t at = sequence.steps.front().at; at < program.operators.size(); ++at) {
    Operator& op = program.operators[at];
    bool holds = false;
    for_each_tensor(op, [&](TensorId id) { holds = holds || same.contains(id); });
    if (!holds) continue;
    last = at;
    if (op.kind == OperatorKind::free) {
      std::erase_if(op.args, [&](const Value& value) { return same.contains(tensor_of(&value)); });
      continue;
    }
    for (const auto& [was, is] : same) {
      if (was != is) replace_tensor(op, was, is);
    }
  }
  Operator& release = program.operators[last];
  if (release.kind == OperatorKind::free) {
    for (const TensorId id : unbind.out) {
      if (id != kNoTensor) release.args.emplace_back().is = TensorRef{id};
    }
  }
  for (const Step& step : sequence.steps) replacements.push_back({.begin = step.at, .end = step.at + 1, .operators = {}});
  std::ranges::find(replacements, sequence.steps.front().at, &Replacement::begin)->operators.push_back(std::move(unbind));
}

}  // namespace

Edited unbind_time(Program program) {
  const Dataflow flow(program);
  std::vector<Replacement> replacements;
  std::vector<std::string> modules;
  std::optional<NotHere> first;
  std::size_t apart = 0, steps = 0;
  for (const Sequence& sequence : sequences(program, flow)) {
    if (const auto at = writer(program, flow, sequence)) {
      if (!first)
        first =
            not_here_at(program, program.operators[*at], "a step of the sequence is changed in place, which what unbind gives cannot be");
      continue;
    }
    ++apart;
    steps += sequence.steps.size();
    add_module(modules, program, program.operators[sequence.steps.front().at]);
    take_apart(program, sequence, replacements);
  }
  if (apart == 0) {
    return std::unexpected(first.value_or(NotHere{.reason = "no sequence that is differentiated is taken apart by x[t], step by step"}));
  }
  std::ranges::sort(replacements, {}, &Replacement::begin);
  replace_operators(program, std::move(replacements));
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = "x[t] is taken " + counted(steps, "time", "times") + " from " + counted(apart, "sequence", "sequences") +
                          ", each time with a gradient as large as the whole",
              .modules = std::move(modules)};
}

}  // namespace hotlens::lab
