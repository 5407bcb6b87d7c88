// The update of the weights, read back from its operators: which parameters, which state, by which rule. Adam, AdamW and SGD as torch.optim
// writes them, one parameter after the other or in lists (foreach).
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "annotator/lab/whatif/kinds.h"

namespace hotlens::lab {

enum class OptimizerFamily : std::uint8_t { adam, sgd };
enum class Form : std::uint8_t { loop, foreach, fused };

// The numbers are those of the recorded step: a rate may have its bias correction in it. Neither time nor memory depends on them.
struct Rule {
  double rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0, momentum = 0, dampening = 0;
  bool decoupled = false, nesterov = false, maximize = false;
  bool operator==(const Rule&) const = default;
};

// `first` is Adam's exp_avg or SGD's momentum_buffer, `second` exp_avg_sq, `largest` max_exp_avg_sq; kNoTensor where there is none.
struct Updated {
  TensorId parameter = kNoTensor, first = kNoTensor, second = kNoTensor, largest = kNoTensor, step = kNoTensor;
  Rule rule;
};

// One call of an optimizer's step(): operators [begin, end), from its first to its last.
struct Update {
  std::size_t begin = 0, end = 0;
  OptimizerFamily family = OptimizerFamily::sgd;
  Form form = Form::loop;
  std::vector<Updated> parameters;  // in the order of their update; empty: one that is fused in another way
};

// Of every step() in the program; the reason where one of them is something else.
std::expected<std::vector<Update>, NotHere> read_updates(const Program& program);

// Those that one call in lists takes together: neighbours with the same rule, then of one device and dtype.
std::vector<std::vector<Updated>> groups(const Program& program, const Update& update);

// Arguments of such a call.
Values parameters_of(const std::vector<Updated>& group);
Values gradients_of(const std::vector<Updated>& group);
Values states_of(const std::vector<Updated>& group, TensorId Updated::* which);

// An operator of the update.
Operator update_operator(std::string name, std::string overload, Values args, std::vector<std::pair<std::string, Value>> kwargs = {},
                         std::vector<TensorId> out = {});

// The update of parameters that go together, as torch.optim writes it in each form: one after the other (_single_tensor_adam,
// _single_tensor_sgd), in lists (_multi_tensor_adam, _multi_tensor_sgd), or by one operator. `fresh` gives ids for temporaries.
using Fresh = std::function<TensorId()>;
std::vector<Operator> update_in_turn(const Fresh& fresh, OptimizerFamily family, const std::vector<Updated>& group);
std::vector<Operator> update_in_lists(const Fresh& fresh, OptimizerFamily family, const std::vector<Updated>& group);
std::vector<Operator> update_at_once(OptimizerFamily family, const std::vector<Updated>& group);

// Each step() that is not in one of the forms `already` gives way to what `write` makes of each of its groups; `refusal` where none is
// left.
using WriteGroup = std::function<std::vector<Operator>(Program&, OptimizerFamily, const std::vector<Updated>&)>;
Edited replace_updates(Program program, const std::vector<Form>& already, const std::string& refusal, const WriteGroup& write);

}  // namespace hotlens::lab
