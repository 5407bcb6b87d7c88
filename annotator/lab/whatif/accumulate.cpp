// The same batch in two halves: forward and backward of each, gradients added up, one update. What a half takes is known from programs of
// two batch sizes (program/join.h), so every number is that of half the size.
#include <algorithm>
#include <map>
#include <set>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

bool follows_batch(const Whole& number) {
  return !number.is_fixed();
}

bool follows_batch(const Value& value) {
  if (const auto* whole = std::get_if<Whole>(&value.is)) return follows_batch(*whole);
  const auto* values = std::get_if<Values>(&value.is);
  return values != nullptr && std::ranges::any_of(*values, [](const Value& one) { return follows_batch(one); });
}

Operator release(TensorId id) {
  return {.kind = OperatorKind::free, .name = "hotlens::free", .overload = {}, .args = {{TensorRef{id}}}, .kwargs = {}, .out = {}};
}

// A part of the batch that comes in.
struct Input {
  TensorId id = kNoTensor;
  std::size_t dim = 0;
  TensorId first = kNoTensor, second = kNoTensor;  // its halves
};

class Halves {
 public:
  explicit Halves(Program program) : program_(std::move(program)) {}

  Edited edit() && {
    if (auto wrong = find_pass()) return std::unexpected(std::move(*wrong));
    if (auto wrong = find_inputs()) return std::unexpected(std::move(*wrong));
    if (auto wrong = look_behind()) return std::unexpected(std::move(*wrong));
    for (std::size_t at = 0; at < end_; ++at) once(at);
    for (const bool second : {false, true}) {
      for (std::size_t at = 0; at < end_; ++at) half(at, second);
    }
    for (const Input& input : inputs_) {
      operators_.push_back(release(input.first));
      operators_.push_back(release(input.second));
    }
    if (!late_.args.empty()) operators_.push_back(std::move(late_));
    std::ranges::move(program_.operators.begin() + static_cast<std::ptrdiff_t>(end_), program_.operators.end(),
                      std::back_inserter(operators_));
    program_.operators = std::move(operators_);
    if (huge_) return std::unexpected(NotHere{.reason = "a number of the recorded step is out of all bounds"});
    std::string evidence = counted(calls_, "operator runs", "operators run") + " forward and backward once, with the whole batch";
    return Edit{.program = std::move(program_), .evidence = std::move(evidence), .modules = {}};
  }

 private:
  using Wrong = std::optional<NotHere>;

  bool is_listed(TensorId id) const { return id >= 0 && static_cast<std::size_t>(id) < program_.tensors.size(); }

  // An operator that has nothing to do gives back its argument.
  bool is_given(TensorId id) const {
    return is_listed(id) || std::ranges::any_of(inputs_, [&](const Input& input) { return id == input.first || id == input.second; });
  }

  // The backward pass, and what is let go right after it.
  Wrong find_pass() {
    const auto is_pass = [](const Operator& op) { return op.kind == OperatorKind::backward || op.kind == OperatorKind::grad; };
    const auto pass = std::ranges::find_if(program_.operators, is_pass);
    if (pass == program_.operators.end() || std::ranges::count_if(program_.operators, is_pass) != 1 || pass->kind == OperatorKind::grad)
      return NotHere{.reason = "the step has not exactly one backward pass"};
    if (pass->args.empty() || tensor_of(pass->args.data()) == kNoTensor) return NotHere{.reason = "the backward pass has several roots"};
    backward_ = static_cast<std::size_t>(pass - program_.operators.begin());
    end_ = backward_ + 1;
    if (end_ < program_.operators.size() && program_.operators[end_].kind == OperatorKind::free) ++end_;
    for (std::size_t at = 0; at < backward_; ++at) {
      const Operator& op = program_.operators[at];
      if (op.stage == Stage::optimizer && computes(op)) return not_here_at(program_, op, "the update comes before the backward pass");
      calls_ += computes(op) && op.stage != Stage::zero_grad ? 1 : 0;
    }
    return std::nullopt;
  }

  bool is_used(TensorId id) const {
    return std::ranges::any_of(program_.operators, [&](const Operator& op) {
      bool uses = false;
      if (computes(op)) for_each_tensor(op, [&](TensorId one) { uses = uses || one == id; });
      return uses;
    });
  }

  Wrong find_inputs() {
    for (std::size_t at = 0; at < program_.tensors.size(); ++at) {
      Tensor& tensor = program_.tensors[at];
      const auto id = static_cast<TensorId>(at);
      const auto first = std::ranges::find_if(tensor.shape, [](const Whole& one) { return follows_batch(one); });
      if (first == tensor.shape.end()) continue;
      const bool used = is_used(id);
      const bool one = std::ranges::count_if(tensor.shape, [](const Whole& size) { return follows_batch(size); }) == 1;
      if (tensor.kind == TensorKind::input && used && one && first->offset == 0) {
        const auto half = static_cast<TensorId>(program_.ids);
        program_.ids += 2;
        inputs_.push_back({id, static_cast<std::size_t>(first - tensor.shape.begin()), half, half + 1});
      } else if (used || tensor.kind == TensorKind::parameter || tensor.kind == TensorKind::state) {
        return NotHere{.reason = "a tensor" + (tensor.name.empty() ? "" : " (" + tensor.name + ")") +
                                 " that is there before the step depends on the batch size, and is no batch that can be halved"};
      } else if (!is_old_batch(tensor)) {
        shrink(tensor);
      }
    }
    if (inputs_.empty()) return NotHere{.reason = "no input of the step grows with the batch size"};
    return std::nullopt;
  }

  // The script holds a whole batch until the next comes; of all else that it holds a half.
  bool is_old_batch(const Tensor& tensor) const {
    return std::ranges::any_of(program_.tensors, [&](const Tensor& one) {
      return one.kind == TensorKind::input && one.shape == tensor.shape && one.dtype == tensor.dtype;
    });
  }

  // The number at half the batch size.
  void halve(Whole& number) {
    if (!follows_batch(number)) return;
    const bool offset = __builtin_mul_overflow(number.offset, std::int64_t{2}, &number.offset);
    const bool denominator = __builtin_mul_overflow(number.denominator, std::int64_t{2}, &number.denominator);
    huge_ = huge_ || offset || denominator;
  }

  void halve(Value& value) {
    if (auto* whole = std::get_if<Whole>(&value.is)) halve(*whole);
    if (auto* values = std::get_if<Values>(&value.is)) {
      for (Value& one : *values) halve(one);
    }
  }

  void shrink(Tensor& tensor) {
    for (Whole& size : tensor.shape) halve(size);
    for (Whole& stride : tensor.stride) halve(stride);
    halve(tensor.offset);
    halve(tensor.storage_bytes);
  }

  // What follows the pass happens once, so the whole batch must not be needed for it.
  Wrong look_behind() const {
    for (std::size_t at = end_; at < program_.operators.size(); ++at) {
      const Operator& op = program_.operators[at];
      if (!computes(op)) continue;
      bool needs = std::ranges::any_of(op.args, [](const Value& value) { return follows_batch(value); });
      for_each_tensor(op, [&](TensorId id) { needs = needs || std::ranges::find(inputs_, id, &Input::id) != inputs_.end(); });
      if (needs) return not_here_at(program_, op, "after the backward pass something still takes the whole batch");
    }
    return std::nullopt;
  }

  void split(const Input& input) {
    operators_.push_back({.name = "aten::chunk",
                          .overload = {},
                          .args = {{TensorRef{input.id}}, {Whole{2}}, {Whole{static_cast<std::int64_t>(input.dim)}}},
                          .kwargs = {},
                          .out = {input.first, input.second}});
  }

  bool happens_once(const Operator& op) const {
    bool before_the_step = true;
    for_each_tensor(op, [&](TensorId id) { before_the_step = before_the_step && is_listed(id); });
    return op.kind == OperatorKind::input || op.stage == Stage::zero_grad || (op.kind == OperatorKind::requires_grad && before_the_step);
  }

  // Gradients are cleared and the batch comes in before the first half.
  void once(std::size_t at) {
    const Operator& op = program_.operators[at];
    if (at == 0) {
      for (const Input& input : inputs_) {
        if (!arrives(input.id)) split(input);
      }
    }
    if (!happens_once(op) || op.kind == OperatorKind::free) return;
    operators_.push_back(op);
    if (op.kind != OperatorKind::input) return;
    for_each_tensor(op, [&](TensorId id) {
      const auto input = std::ranges::find(inputs_, id, &Input::id);
      if (input != inputs_.end()) split(*input);
    });
  }

  bool arrives(TensorId id) const {
    return std::ranges::any_of(program_.operators, [&](const Operator& op) {
      bool brings = false;
      if (op.kind == OperatorKind::input) for_each_tensor(op, [&](TensorId one) { brings = brings || one == id; });
      return brings;
    });
  }

  void half(std::size_t at, bool second) {
    if (at == before_backward()) divide(second);
    Operator op = program_.operators[at];
    if (op.kind == OperatorKind::free) return let_go(std::move(op), second);
    if (happens_once(op)) return;
    for_each_inside(op, [&](Operator& one) {
      for (Value& value : one.args) halve(value);
      for (auto& [name, value] : one.kwargs) halve(value);
    });
    for (const Input& input : inputs_) replace_tensor(op, input.id, second ? input.second : input.first);
    std::vector<TensorId> known;  // this half's own, and what the first one left under their names
    for (const TensorId id : op.out) {
      if (id == kNoTensor || is_given(id)) continue;
      if (second && left_.erase(id) > 0) known.push_back(own_.at(id));
      if (second || !own_.try_emplace(id, static_cast<TensorId>(program_.ids)).second) continue;
      ++program_.ids;
      left_.insert(id);
    }
    if (!second) rename(op);
    if (op.kind == OperatorKind::backward) op.args[0] = {TensorRef{share_}};
    operators_.push_back(std::move(op));
    if (at == backward_) operators_.push_back(release(share_));
    for (const TensorId id : known) operators_.push_back(release(id));
  }

  void rename(Operator& op) const {
    std::set<TensorId> used(op.out.begin(), op.out.end());
    for_each_tensor(op, [&](TensorId id) { used.insert(id); });
    for (const TensorId id : used) {
      if (const auto copy = own_.find(id); copy != own_.end()) replace_tensor(op, id, copy->second);
    }
  }

  // Names of the script are bound anew by the second half; the batch is there until its end.
  void let_go(Operator op, bool second) {
    std::erase_if(op.args, [&](const Value& value) {
      const TensorId id = tensor_of(&value);
      if (!is_listed(id)) return false;
      const bool batch = std::ranges::find(inputs_, id, &Input::id) != inputs_.end();
      if (batch && second) late_.args.push_back(value);
      return batch || second;
    });
    for (const Value& value : op.args) {
      if (!second) left_.erase(tensor_of(&value));
    }
    if (!second) rename(op);
    if (!op.args.empty()) operators_.push_back(std::move(op));
  }

  std::size_t before_backward() const {
    const bool free = backward_ > 0 && program_.operators[backward_ - 1].kind == OperatorKind::free;
    return free ? backward_ - 1 : backward_;
  }

  // loss / 2
  void divide(bool second) {
    const Operator& pass = program_.operators[backward_];
    const TensorId loss = tensor_of(pass.args.data());
    const auto copy = own_.find(loss);
    share_ = static_cast<TensorId>(program_.ids++);
    operators_.push_back({.name = "aten::div",
                          .overload = "Tensor",
                          .args = {{TensorRef{!second && copy != own_.end() ? copy->second : loss}}, {Whole{2}}},
                          .kwargs = {},
                          .out = {share_},
                          .stage = Stage::loss});
  }

  Program program_;
  std::size_t backward_ = 0, end_ = 0, calls_ = 0;
  std::vector<Input> inputs_;
  std::map<TensorId, TensorId> own_;  // of the first half: as recorded, and its own
  std::set<TensorId> left_;           // as recorded, what the first half still holds
  TensorId share_ = kNoTensor;
  bool huge_ = false;
  Operator late_{.kind = OperatorKind::free, .name = "hotlens::free", .overload = {}, .args = {}, .kwargs = {}, .out = {}};
  std::vector<Operator> operators_;
};

}  // namespace

Edited accumulate(Program program) {
  if (!program.batch || program.batch->numerator == 0) {
    return std::unexpected(NotHere{.reason = "the step is known at one batch size alone"});
  }
  return Halves(std::move(program)).edit();
}

}  // namespace hotlens::lab
