#include "annotator/lab/whatif/update.h"

#include <algorithm>
#include <map>
#include <optional>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

enum class Role : std::uint8_t { parameter, exp_avg, exp_avg_sq, max_exp_avg_sq, step, momentum_buffer, gradient, temporary, unknown };

constexpr std::array<std::pair<std::string_view, Role>, 5> kStates{{{"exp_avg", Role::exp_avg},
                                                                    {"exp_avg_sq", Role::exp_avg_sq},
                                                                    {"max_exp_avg_sq", Role::max_exp_avg_sq},
                                                                    {"step", Role::step},
                                                                    {"momentum_buffer", Role::momentum_buffer}}};
// Operators that say nothing about the rule: of temporaries, and of the number of steps.
constexpr std::array<std::string_view, 9> kSilent{"sqrt", "div", "div_", "item", "empty", "to", "lift_fresh", "detach_", "addcmul_"};

constexpr const char* kOther = "it is neither Adam, AdamW nor SGD as torch.optim writes them";

struct Known {
  Role role = Role::unknown;
  TensorId parameter = kNoTensor;
};

// What a program's tensors are to its optimizers, by the names that the recorder gave them: `exp_avg of layer.weight`.
std::map<TensorId, Known> roles(const Program& program) {
  std::map<std::string, TensorId> parameters;
  std::map<TensorId, Known> found;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind != TensorKind::parameter) continue;
    found[static_cast<TensorId>(id)] = {Role::parameter, static_cast<TensorId>(id)};
    const bool again = !tensor.name.empty() && !parameters.emplace(tensor.name, id).second;
    if (again) parameters[tensor.name] = kNoTensor;
  }
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind != TensorKind::state) continue;
    const std::size_t of = tensor.name.find(" of ");
    const auto* state = std::ranges::find(kStates, tensor.name.substr(0, of), &std::pair<std::string_view, Role>::first);
    const auto owner = of == std::string::npos ? parameters.end() : parameters.find(tensor.name.substr(of + 4));
    const bool known = state != kStates.end() && owner != parameters.end() && owner->second != kNoTensor;
    found[static_cast<TensorId>(id)] = known ? Known{state->second, owner->second} : Known{};
  }
  return found;
}

class UpdateReader {
 public:
  UpdateReader(const Program& program, Update update) : program_(program), known_(roles(program)), update_(std::move(update)) {}

  std::expected<Update, NotHere> run() {
    for (std::size_t at = update_.begin; at < update_.end && !reason_; ++at) {
      const Operator& op = program_.operators[at];
      if (op.name.starts_with("aten::_fused_")) {
        update_.form = Form::fused;
        read_fused(op);
        continue;
      }
      if (op.kind == OperatorKind::library) read(op);
      if (op.kind != OperatorKind::library && op.kind != OperatorKind::free) refuse(op, kOther);
    }
    if (!reason_) check();
    if (reason_ && update_.form == Form::fused) {
      update_.parameters.clear();
      return std::move(update_);
    }
    if (reason_) return std::unexpected(*reason_);
    return std::move(update_);
  }

 private:
  void refuse(const Operator& op, std::string reason) {
    if (!reason_) reason_ = not_here_at(program_, op, std::move(reason));
  }

  // `_fused_adamw_(parameters, gradients, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, …)`, `_fused_sgd_(parameters, gradients, buffers,
  // …)`. Their states are found by name.
  void read_fused(const Operator& op) {
    const bool sgd = op.name == "aten::_fused_sgd_", adam = op.name == "aten::_fused_adam_" || op.name == "aten::_fused_adamw_";
    const auto* list = op.args.empty() ? nullptr : std::get_if<Values>(&op.args[0].is);
    if ((!sgd && !adam) || list == nullptr) return refuse(op, kOther);
    const auto named = [&](std::string_view name) { return number(argument(op, op.args.size(), name)).value_or(0); };
    const auto is = [&](std::string_view name) { return is_true(argument(op, op.args.size(), name)); };
    for (const Value& value : *list) {
      const Known self = known(&value);
      if (self.role != Role::parameter) return refuse(op, kOther);
      rule(self) = {.rate = named("lr"),
                    .beta1 = named("beta1"),
                    .beta2 = named("beta2"),
                    .epsilon = named("eps"),
                    .weight_decay = named("weight_decay"),
                    .momentum = named("momentum"),
                    .dampening = named("dampening"),
                    .decoupled = op.name == "aten::_fused_adamw_",
                    .nesterov = is("nesterov"),
                    .maximize = is("maximize")};
      update_.family = sgd ? OptimizerFamily::sgd : OptimizerFamily::adam;
      update_.parameters.push_back({.parameter = self.parameter, .rule = rule(self)});
    }
  }

  // An operator on lists is as many on their elements.
  void read(const Operator& op) {
    constexpr std::string_view kForeach = "aten::_foreach_", kPlain = "aten::";
    const bool lists = op.name.starts_with(kForeach);
    if (lists) update_.form = Form::foreach;
    if (!op.name.starts_with(kPlain)) return refuse(op, kOther);
    const std::string_view name = std::string_view(op.name).substr(lists ? kForeach.size() : kPlain.size());
    const auto* elements = lists && !op.args.empty() ? std::get_if<Values>(&op.args[0].is) : nullptr;
    if (elements == nullptr) return read(op, name, op, op.out);
    for (std::size_t at = 0; at < elements->size(); ++at) {
      Operator one{.name = op.name, .overload = {}, .args = {}, .kwargs = op.kwargs, .out = {}};
      for (const Value& value : op.args) {
        const auto* list = std::get_if<Values>(&value.is);
        one.args.push_back(list == nullptr ? value : at < list->size() ? (*list)[at] : Value{});
      }
      read(op, name, one, at < op.out.size() ? std::vector{op.out[at]} : std::vector<TensorId>{});
    }
  }

  Known known(const Value* value) const {
    if (value == nullptr) return {};
    if (const auto* gradient = std::get_if<GradientRef>(&value->is)) return {Role::gradient, gradient->of};
    const auto found = known_.find(tensor_of(value));
    return found == known_.end() ? Known{} : found->second;
  }

  void read(const Operator& whole, std::string_view name, const Operator& op, const std::vector<TensorId>& out) {
    const Known self = known(argument(op, 0, "self")), other = known(argument(op, 1, "other"));
    for (const TensorId id : out) known_.try_emplace(id, Known{Role::temporary, self.parameter});
    for (const Value& value : op.args) {
      const TensorId id = tensor_of(&value);
      if (id != kNoTensor && known(&value).role == Role::unknown) refuse(whole, kOther);
    }
    const bool told = self.parameter != kNoTensor && tells(name, self, other, op);
    if (!told && std::ranges::find(kSilent, name) == kSilent.end()) refuse(whole, kOther);
  }

  Rule& rule(const Known& of) { return rules_[of.parameter]; }

  // Whether the operator belongs to a rule that is known, and what it says of it.
  bool tells(std::string_view name, const Known& self, const Known& other, const Operator& op) {
    const auto factor = number(argument(op, 1, "other"));
    const double alpha = number(argument(op, 2, "alpha")).value_or(1);
    if (name == "neg") return rule(self).maximize = true;
    if (name == "maximum" || name == "maximum_") return self.role == Role::max_exp_avg_sq || self.role == Role::exp_avg_sq;
    if (name == "lerp_" && self.role == Role::exp_avg) {
      rule(self).beta1 = 1 - number(argument(op, 2, "weight")).value_or(0.1);
      return true;
    }
    if (name == "addcdiv_" && self.role == Role::parameter) {
      return updated(self, OptimizerFamily::adam, -number(argument(op, 3, "value")).value_or(-1));
    }
    if (name == "mul_" && factor) return tells_factor(self, *factor);
    if (name == "add" || name == "add_") return tells_sum(name == "add_", self, other, factor, alpha);
    return false;
  }

  bool tells_factor(const Known& self, double factor) {
    if (self.role == Role::exp_avg_sq) rule(self).beta2 = factor;
    if (self.role == Role::momentum_buffer) rule(self).momentum = factor;
    if (self.role == Role::parameter) {
      rule(self).decoupled = true;
      rule(self).weight_decay = 1 - factor;
    }
    return self.role == Role::exp_avg_sq || self.role == Role::momentum_buffer || self.role == Role::parameter;
  }

  bool tells_sum(bool in_place, const Known& self, const Known& other, std::optional<double> added, double alpha) {
    if (in_place && self.role == Role::step) return true;
    if (in_place && self.role == Role::momentum_buffer) {
      rule(self).dampening = 1 - alpha;
      return true;
    }
    if (in_place && self.role == Role::parameter) return updated(self, OptimizerFamily::sgd, -alpha);
    if (in_place && self.role == Role::temporary && added) {
      rule(self).epsilon = *added;
      return true;
    }
    if (self.role != Role::gradient && self.role != Role::temporary) return false;
    if (other.role == Role::parameter) rule(self).weight_decay = alpha;
    if (other.role == Role::momentum_buffer) rule(self).nesterov = true;
    return other.role == Role::parameter || other.role == Role::momentum_buffer;
  }

  bool updated(const Known& self, OptimizerFamily family, double rate) {
    if (!update_.parameters.empty() && family != update_.family) return false;
    update_.family = family;
    Rule& found = rule(self);
    found.rate = rate;
    if (found.decoupled && rate != 0) found.weight_decay /= rate;
    update_.parameters.push_back({.parameter = self.parameter, .rule = found});
    return true;
  }

  // Every parameter once, with the state that its rule needs.
  void check() {
    const Operator& op = program_.operators[update_.begin];
    std::map<TensorId, Updated*> by_parameter;
    for (Updated& one : update_.parameters) {
      if (!by_parameter.emplace(one.parameter, &one).second) return refuse(op, "a parameter is updated twice in a row");
    }
    for (const auto& [id, known] : known_) {
      const auto owner = by_parameter.find(known.parameter);
      if (owner == by_parameter.end()) continue;
      Updated& one = *owner->second;
      if (known.role == Role::exp_avg || known.role == Role::momentum_buffer) one.first = id;
      if (known.role == Role::exp_avg_sq) one.second = id;
      if (known.role == Role::max_exp_avg_sq) one.largest = id;
      if (known.role == Role::step) one.step = id;
    }
    for (const Updated& one : update_.parameters) {
      const bool adam = one.first != kNoTensor && one.second != kNoTensor && one.step != kNoTensor;
      const bool complete = update_.family == OptimizerFamily::adam ? adam : one.second == kNoTensor;
      if (!complete) return refuse(op, kOther);
    }
    if (update_.parameters.size() != rules_.size() || update_.parameters.empty()) refuse(op, kOther);
  }

  const Program& program_;
  std::map<TensorId, Known> known_;
  std::map<TensorId, Rule> rules_;  // by parameter
  std::optional<NotHere> reason_;
  Update update_;
};

// Whether these operators are the optimizer's: from one library operator of it to the last before something else.
std::vector<Update> find_updates(const Program& program) {
  std::vector<Update> found;
  bool open = false;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    const Operator& op = program.operators[at];
    if (op.kind == OperatorKind::free) continue;
    if (op.stage != Stage::optimizer) {
      open = false;
      continue;
    }
    if (!open) found.push_back({.begin = at, .parameters = {}});
    found.back().end = at + 1;
    open = true;
  }
  return found;
}

}  // namespace

std::expected<std::vector<Update>, NotHere> read_updates(const Program& program) {
  std::vector<Update> found = find_updates(program);
  if (found.empty()) return std::unexpected(NotHere{.reason = "no optimizer of torch.optim steps in the recorded step"});
  for (Update& update : found) {
    auto read = UpdateReader(program, std::move(update)).run();
    if (!read) return std::unexpected(read.error());
    update = std::move(*read);
  }
  return found;
}

std::vector<std::vector<Updated>> groups(const Program& program, const Update& update) {
  std::vector<std::vector<Updated>> found;
  std::size_t first = 0;  // group of the present rule
  const auto alike = [&](const Updated& a, const Updated& b) {
    const Tensor& one = program.tensors[static_cast<std::size_t>(a.parameter)];
    const Tensor& other = program.tensors[static_cast<std::size_t>(b.parameter)];
    const bool same_state = (a.first == kNoTensor) == (b.first == kNoTensor) && (a.largest == kNoTensor) == (b.largest == kNoTensor);
    return one.device == other.device && one.dtype == other.dtype && same_state;
  };
  for (const Updated& one : update.parameters) {
    if (!found.empty() && found.back().back().rule != one.rule) first = found.size();
    const auto fits = std::find_if(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(),
                                   [&](const std::vector<Updated>& group) { return alike(group.front(), one); });
    if (fits == found.end()) {
      found.push_back({one});
    } else {
      fits->push_back(one);
    }
  }
  return found;
}

Values parameters_of(const std::vector<Updated>& group) {
  return states_of(group, &Updated::parameter);
}

Values gradients_of(const std::vector<Updated>& group) {
  Values values;
  for (const Updated& one : group) values.emplace_back().is = GradientRef{one.parameter};
  return values;
}

Values states_of(const std::vector<Updated>& group, TensorId Updated::* which) {
  Values values;
  for (const Updated& one : group) {
    if (one.*which != kNoTensor) values.emplace_back().is = TensorRef{one.*which};
  }
  return values;
}

Operator update_operator(std::string name, std::string overload, Values args, std::vector<std::pair<std::string, Value>> kwargs,
                         std::vector<TensorId> out) {
  return {.name = std::move(name),
          .overload = std::move(overload),
          .args = std::move(args),
          .kwargs = std::move(kwargs),
          .out = std::move(out),
          .grad = false,
          .stage = Stage::optimizer};
}

Edited replace_updates(Program program, const std::vector<Form>& already, const std::string& refusal, const WriteGroup& write) {
  const auto updates = read_updates(program);
  if (!updates) return std::unexpected(updates.error());
  std::vector<Replacement> replacements;
  std::size_t parameters = 0, replaced = 0;
  for (const Update& update : *updates) {
    if (std::ranges::find(already, update.form) != already.end()) continue;
    Replacement replacement{.begin = update.begin, .end = update.end, .operators = {}};
    for (const auto& group : groups(program, update)) {
      std::ranges::move(write(program, update.family, group), std::back_inserter(replacement.operators));
    }
    parameters += update.parameters.size();
    replaced += library_operators(program, replacement);
    replacements.push_back(std::move(replacement));
  }
  if (replacements.empty()) return std::unexpected(NotHere{.reason = refusal});
  replace_operators(program, std::move(replacements));
  return Edit{.program = std::move(program),
              .evidence = counted(replaced, "operator updates ", "operators update ") + counted(parameters, "parameter", "parameters"),
              .modules = {}};
}

}  // namespace hotlens::lab
