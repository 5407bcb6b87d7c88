// Max-pooling before the ReLU in front of it: the largest of what is not negative is the largest, made not negative. Results and gradients
// are equal, and the ReLU has a part of the numbers to look at.
#include <algorithm>
#include <optional>

#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/relu.h"

namespace hotlens::lab {
namespace {

bool is_max_pool(const Operator& op) {
  const std::string_view name = base_name(op);
  return op.out.size() == 1 && (name == "max_pool1d" || name == "max_pool2d" || name == "max_pool3d");
}

// The one reader of the ReLU's result, where that is a pool.
std::optional<std::size_t> pool_behind(const Program& program, const Dataflow& flow, std::size_t relu) {
  if (!is_relu(program.operators[relu]) || program.operators[relu].out.size() != 1) return std::nullopt;
  const TensorId out = program.operators[relu].out[0];
  const std::vector<std::size_t> readers = flow.readers(out, relu);
  if (out == kNoTensor || readers.size() != 1 || !is_max_pool(program.operators[readers[0]])) return std::nullopt;
  return readers[0];
}

Operator release_of(TensorId id, const Operator& beside) {
  Operator op = release({id});
  op.stage = beside.stage;
  return op;
}

// The two in the other order, each as the layer's that it was.
std::vector<Operator> turned(Program& program, const Operator& relu, const Operator& pool) {
  Operator first = pool, second = relu;
  const bool in_place = relu.name.ends_with('_');
  const TensorId between = in_place ? pool.out[0] : static_cast<TensorId>(program.ids++);
  *argument(first, 0, "self") = {TensorRef{tensor_of(argument(relu, 0, "self"))}};
  first.out = {between};
  *argument(second, 0, "self") = {TensorRef{between}};
  second.out = pool.out;
  second.shapes = pool.shapes;
  std::vector<Operator> made{std::move(first), std::move(second)};
  if (!in_place) made.push_back(release_of(between, pool));
  return made;
}

}  // namespace

Edited pool_before_relu(Program program) {
  const Dataflow flow(program);
  std::vector<Replacement> replacements;
  std::vector<std::string> modules;
  std::size_t pairs = 0;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    const auto pool = pool_behind(program, flow, at);
    if (!pool) continue;
    const TensorId input = tensor_of(argument(program.operators[at], 0, "self"));
    std::vector<Operator> now = turned(program, program.operators[at], program.operators[*pool]);
    std::vector<Operator> held;
    hold(program, {input}, at, *pool, held);
    now.insert(now.begin() + 1, held.begin(), held.end());
    add_module(modules, program, program.operators[at]);
    add_module(modules, program, program.operators[*pool]);
    replacements.push_back({.begin = at, .end = at + 1, .operators = {}});
    replacements.push_back({.begin = *pool, .end = *pool + 1, .operators = std::move(now)});
    ++pairs;
  }
  if (pairs == 0) return std::unexpected(NotHere{.reason = "no max-pool is all that reads the result of a ReLU"});
  std::ranges::sort(replacements, {}, &Replacement::begin);
  replace_operators(program, std::move(replacements));
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = counted(pairs, "max-pool follows", "max-pools follow") + " a ReLU whose result nothing else reads",
              .modules = std::move(modules)};
}

}  // namespace hotlens::lab
