#include "annotator/lab/whatif/edits.h"

#include <algorithm>
#include <set>

namespace hotlens::lab {
namespace {

const Value* named(const Operator& op, std::string_view name) {
  const auto found = std::ranges::find(op.kwargs, name, [](const auto& one) -> std::string_view { return one.first; });
  return found == op.kwargs.end() ? nullptr : &found->second;
}

void replace_tensor(Value& value, TensorId was, TensorId is) {
  if (auto* tensor = std::get_if<TensorRef>(&value.is); tensor != nullptr && tensor->id == was) tensor->id = is;
  if (auto* values = std::get_if<Values>(&value.is)) {
    for (Value& one : *values) replace_tensor(one, was, is);
  }
}

}  // namespace

const Value* argument(const Operator& op, std::size_t position, std::string_view name) {
  return position < op.args.size() ? &op.args[position] : named(op, name);
}

Value* argument(Operator& op, std::size_t position, std::string_view name) {
  return const_cast<Value*>(argument(std::as_const(op), position, name));
}

std::optional<double> number(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(&value->is)) return *real;
  if (const auto* whole = std::get_if<Whole>(&value->is); whole != nullptr && whole->is_fixed()) {
    return static_cast<double>(whole->offset) / static_cast<double>(whole->denominator);
  }
  return std::nullopt;
}

TensorId tensor_of(const Value* value) {
  const auto* tensor = value == nullptr ? nullptr : std::get_if<TensorRef>(&value->is);
  return tensor == nullptr ? kNoTensor : tensor->id;
}

bool is_true(const Value* value) {
  return value != nullptr && *value == Value{true};
}

void replace_tensor(Operator& op, TensorId was, TensorId is) {
  for (Value& value : op.args) replace_tensor(value, was, is);
  for (auto& [name, value] : op.kwargs) replace_tensor(value, was, is);
  std::ranges::replace(op.out, was, is);
  std::ranges::replace(op.last_named, was, is);
  for (Operator& one : op.forward) replace_tensor(one, was, is);
  for (Operator& one : op.backward) replace_tensor(one, was, is);
}

bool is_real(std::string_view dtype) {
  return dtype == "float32" || dtype == "float64" || dtype == "float16" || dtype == "bfloat16";
}

std::string module_of(const Program& program, const Operator& op) {
  return op.module == kNoModule ? std::string() : program.modules[op.module];
}

NotHere not_here_at(const Program& program, const Operator& op, std::string reason) {
  return {.reason = std::move(reason),
          .op = op.kind == OperatorKind::library ? op.name : std::string(),  // a name of our own tells nobody anything
          .module = module_of(program, op)};
}

void add_module(std::vector<std::string>& modules, const Program& program, const Operator& op) {
  if (op.module == kNoModule) return;
  const std::string& path = program.modules[op.module];
  if (std::ranges::find(modules, path) == modules.end()) modules.push_back(path);
}

std::size_t library_operators(const Program& program, const Replacement& replacement) {
  const auto begin = program.operators.begin() + static_cast<std::ptrdiff_t>(replacement.begin);
  const auto end = program.operators.begin() + static_cast<std::ptrdiff_t>(replacement.end);
  return static_cast<std::size_t>(std::ranges::count(begin, end, OperatorKind::library, &Operator::kind));
}

void replace_operators(Program& program, std::vector<Replacement> replacements) {
  std::set<TensorId> known, gone;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) known.insert(static_cast<TensorId>(id));
  std::vector<Operator> kept;
  auto next = replacements.begin();
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    if (next != replacements.end() && at == next->end) ++next;
    Operator& op = program.operators[at];
    const bool inside = next != replacements.end() && at >= next->begin;
    if (inside && at == next->begin) {
      for (const Operator& made : next->operators) known.insert(made.out.begin(), made.out.end());
      std::ranges::move(next->operators, std::back_inserter(kept));
    }
    for (const TensorId id : op.out) {
      if (inside && !known.contains(id)) gone.insert(id);
      if (!inside) known.insert(id);
    }
    if (op.kind == OperatorKind::free) {
      if (keep_only(op, [&](TensorId id) { return !gone.contains(id); })) kept.push_back(std::move(op));
    } else if (!inside) {
      kept.push_back(std::move(op));
    }
  }
  program.operators = std::move(kept);
}

}  // namespace hotlens::lab
