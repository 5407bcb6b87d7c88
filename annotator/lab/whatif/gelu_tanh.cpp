// `F.gelu(x, approximate="tanh")` where the script writes the formula: 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), however it is
// spelled. The operators are computed for a few numbers and compared with the function itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "annotator/lab/whatif/dataflow.h"
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/gelu.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kLongestChain = 10;  // operators from x to tanh, one after the other
constexpr std::size_t kMostBehind = 4;     // operators from tanh to the result
constexpr std::size_t kMostInputs = 32;
constexpr std::size_t kMostWork = 64;  // operators computed for one number; the longest spelling has about 20

// A tensor as one operator left it.
struct Version {
  TensorId id = kNoTensor;
  std::size_t maker = kNowhere;
  auto operator<=>(const Version&) const = default;
};

bool is_arithmetic(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>({"mul", "div", "add", "sub", "pow", "tanh", "neg", "square"});
  return std::ranges::find(kNames, name) != kNames.end();
}

class Formula {
 public:
  Formula(const Program& program, const Dataflow& flow) : program_(program), flow_(flow) {}

  // What `x` may be, going back from the operator, the nearest first.
  std::vector<Version> inputs_of(std::size_t at) const {
    std::vector<Version> found, wave = read_by(at);
    for (std::size_t depth = 0; depth < kLongestChain && found.size() < kMostInputs; ++depth) {
      std::vector<Version> next;
      for (const Version& one : wave) {
        if (std::ranges::find(found, one) != found.end()) continue;
        found.push_back(one);
        if (computes(one)) std::ranges::copy(read_by(one.maker), std::back_inserter(next));
      }
      wave = std::move(next);
    }
    return found;
  }

  // Whether the operator's result is GELU of x; `used`: the operators that compute it.
  bool is_gelu(std::size_t result, const Version& x, std::set<std::size_t>& used) const {
    return computes_gelu([&](double sample) {
      Trial trial{.x = x, .sample = sample, .used = used};
      return computed({program_.operators[result].out[0], result}, trial);
    });
  }

  bool is_arithmetic_at(std::size_t at) const {
    const Operator& op = program_.operators[at];
    return op.kind == OperatorKind::library && op.out.size() == 1 && is_arithmetic(base_name(op));
  }

 private:
  bool computes(const Version& one) const { return one.maker != kNowhere && is_arithmetic_at(one.maker); }

  std::vector<Version> read_by(std::size_t at) const {
    std::vector<Version> found;
    for_each_tensor(program_.operators[at], [&](TensorId id) { found.push_back({id, flow_.maker(id, at)}); });
    return found;
  }

  // The formula for one number in the place of x.
  struct Trial {
    Version x;
    double sample = 0;
    std::set<std::size_t>& used;
    std::size_t left = kMostWork;
  };

  std::optional<double> operand(std::size_t at, std::size_t place, std::string_view name, Trial& trial) const {
    const Value* value = argument(program_.operators[at], place, name);
    if (const auto constant = flow_.constant(value, at)) return constant;
    const TensorId id = tensor_of(value);
    return id == kNoTensor ? std::nullopt : computed({id, flow_.maker(id, at)}, trial);
  }

  std::optional<double> computed(const Version& what, Trial& trial) const {
    if (what == trial.x) return trial.sample;
    if (!computes(what) || trial.left-- == 0) return std::nullopt;
    const Operator& op = program_.operators[what.maker];
    const std::string_view name = base_name(op);
    trial.used.insert(what.maker);
    const auto first = operand(what.maker, 0, "self", trial);
    if (!first) return std::nullopt;
    if (name == "tanh") return std::tanh(*first);
    if (name == "neg") return -*first;
    if (name == "square") return *first * *first;
    const auto second = operand(what.maker, 1, name == "pow" ? "exponent" : "other", trial);
    return second ? of_two(op, name, *first, *second) : std::nullopt;
  }

  static std::optional<double> of_two(const Operator& op, std::string_view name, double first, double second) {
    if (name == "mul") return first * second;
    if (name == "div") return argument(op, 2, "rounding_mode") == nullptr ? std::optional(first / second) : std::nullopt;
    if (name == "pow") return std::pow(first, second);
    const Value* alpha = argument(op, 2, "alpha");
    const double factor = alpha == nullptr ? 1 : number(alpha).value_or(0);
    return first + (name == "add" ? factor : -factor) * second;
  }

  const Program& program_;
  const Dataflow& flow_;
};

struct Gelu {
  std::size_t result = 0;
  Version x;
  std::set<std::size_t> used;
};

// From tanh on to the result, one operator after the other.
std::optional<Gelu> gelu_around(const Program& program, const Dataflow& flow, std::size_t tanh) {
  const Formula formula(program, flow);
  const std::vector<Version> inputs = formula.inputs_of(tanh);
  std::size_t at = tanh;
  for (std::size_t behind = 0; behind < kMostBehind; ++behind) {
    const std::vector<std::size_t> readers = flow.readers(program.operators[at].out[0], at);
    if (readers.empty() || !formula.is_arithmetic_at(readers[0])) return std::nullopt;
    at = readers[0];
    for (const Version& x : inputs) {
      std::set<std::size_t> used;
      if (formula.is_gelu(at, x, used)) return Gelu{.result = at, .x = x, .used = std::move(used)};
    }
  }
  return std::nullopt;
}

// An operator that reads a part of the formula, and is none.
std::optional<std::size_t> other_reader(const Program& program, const Dataflow& flow, const Gelu& gelu) {
  for (const std::size_t at : gelu.used) {
    if (at == gelu.result) continue;
    for (const std::size_t reader : flow.readers(program.operators[at].out[0], at)) {
      if (!gelu.used.contains(reader)) return reader;
    }
  }
  return std::nullopt;
}

Operator fused(const Program& program, const Gelu& gelu) {
  Operator op = program.operators[gelu.result];
  op.name = "aten::gelu";
  op.overload.clear();
  op.args = {{TensorRef{gelu.x.id}}};
  op.kwargs = {{"approximate", {std::string("tanh")}}};
  return op;
}

}  // namespace

Edited gelu_tanh(Program program) {
  const Dataflow flow(program);
  std::vector<Replacement> replacements;
  std::vector<std::string> modules;
  std::optional<NotHere> first;
  std::size_t formulas = 0, operators = 0;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    if (base_name(program.operators[at]) != "tanh") continue;
    const auto gelu = gelu_around(program, flow, at);
    if (!gelu) continue;
    if (const auto reader = other_reader(program, flow, *gelu)) {
      if (!first) first = not_here_at(program, program.operators[*reader], "a part of the formula is read by something else too");
      continue;
    }
    Operator op = fused(program, *gelu);
    std::vector<Operator> now{std::move(op)};
    hold(program, {gelu->x.id}, *gelu->used.begin(), gelu->result, now);
    for (const std::size_t one : gelu->used) replacements.push_back({.begin = one, .end = one + 1, .operators = {}});
    replacements.back().operators = std::move(now);
    add_module(modules, program, program.operators[at]);
    ++formulas;
    operators += gelu->used.size();
  }
  if (formulas == 0) return std::unexpected(first.value_or(NotHere{.reason = "no operators compute GELU's tanh formula"}));
  std::ranges::sort(replacements, {}, &Replacement::begin);
  replace_operators(program, std::move(replacements));
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = counted(operators, "operator computes", "operators compute") + " " + counted(formulas, "GELU", "GELUs") +
                          " by its formula",
              .modules = std::move(modules)};
}

}  // namespace hotlens::lab
