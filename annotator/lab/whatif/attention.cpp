#include "annotator/lab/whatif/attention.h"

#include <algorithm>
#include <limits>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kLongest = 32;  // operators between the products; those of libraries are at most ten
constexpr double kMasks = -1e4;       // scores of this and less have no weight after the softmax

bool is_product(const Operator& op) {
  return op.name == "aten::matmul" || op.name == "aten::bmm" || op.name == "aten::baddbmm";
}

bool only_converts(const Operator& op) {
  const std::string_view name = base_name(op);
  return name == "to" || name == "_to_copy" || name == "contiguous" || name == "alias";
}

// What of a call is handed to the next operator of the formula.
TensorId carried(const Operator& op) {
  const std::string_view name = base_name(op);
  if (name == "where") return tensor_of(argument(op, 1, "self"));
  const bool plain = only_converts(op) || name == "mul" || name == "div" || name == "masked_fill" || name == "add" || name == "dropout";
  return plain ? tensor_of(argument(op, 0, "self")) : kNoTensor;
}

// Operators from the first product on, in order; the last is the softmax.
using Chain = std::vector<std::size_t>;

class AttentionReader {
 public:
  AttentionReader(Program& program, const Dataflow& flow, std::size_t softmax) : program_(program), flow_(flow), softmax_(softmax) {
    found_.softmax = softmax;
  }

  // Nullopt where the softmax is of no attention.
  std::optional<std::expected<Attention, NotHere>> read() {
    const auto chain = chain_to(softmax_);
    if (!chain || !follow_weights()) return std::nullopt;
    if (!last_) return std::unexpected(*wrong_);
    start(chain->front());
    for (std::size_t at = 1; at + 1 < chain->size() && !wrong_; ++at) step((*chain)[at]);
    for (std::size_t at = 0; at + 1 < chain->size() && !wrong_; ++at) check_readers((*chain)[at], (*chain)[at + 1]);
    if (!wrong_ && !over_the_last_dimension()) wrong(op(softmax_), "the softmax is not over the last dimension");
    if (wrong_) return std::unexpected(*wrong_);
    found_.replaced.insert(found_.replaced.begin(), chain->begin(), chain->end());
    std::ranges::sort(found_.replaced);
    finish();
    return std::move(found_);
  }

 private:
  const Operator& op(std::size_t at) const { return program_.operators[at]; }

  void wrong(const Operator& where, std::string reason) {
    if (!wrong_) wrong_ = not_here_at(program_, where, std::move(reason));
  }

  // Back from an operator to the product that its scores come from.
  std::optional<Chain> chain_to(std::size_t at) const {
    Chain chain{at};
    for (TensorId id = tensor_of(argument(op(at), 0, "self")); id != kNoTensor;) {
      const std::size_t made = flow_.maker(id, chain.back());
      if (made == kNowhere || chain.size() > kLongest) return std::nullopt;
      chain.push_back(made);
      if (is_product(op(made))) return Chain(chain.rbegin(), chain.rend());
      id = carried(op(made));
    }
    return std::nullopt;
  }

  // From the softmax to the second product. False: there is none.
  bool follow_weights() {
    std::size_t at = softmax_;
    TensorId id = op(at).out.empty() ? kNoTensor : op(at).out[0];
    while (id != kNoTensor) {
      const std::vector<std::size_t> readers = flow_.readers(id, at);
      const auto takes_up = [&](std::size_t reader) { return weighs(op(reader), id) || carried(op(reader)) == id; };
      const auto next = std::ranges::find_if(readers, takes_up);
      if (next == readers.end()) return false;
      const Operator& reader = op(*next);
      if (readers.size() > 1) {
        const auto other = std::ranges::find_if(readers, [&](std::size_t one) { return one != *next; });
        wrong(op(*other),
              "the weights of the attention are read by something else too (nn.MultiheadAttention does so without need_weights=False)");
      }
      if (weighs(reader, id)) {
        if (!wrong_) last_ = *next;
        return true;
      }
      if (base_name(reader) != "dropout" && !only_converts(reader)) return false;
      if (base_name(reader) == "dropout" && is_true(argument(reader, 2, "train"))) {
        const double p = number(argument(reader, 1, "p")).value_or(0);
        if (p > 0 && dropout_ > 0) wrong(reader, "dropout is applied twice");
        dropout_ = std::max(dropout_, p);
      }
      found_.replaced.push_back(*next);
      at = *next;
      id = reader.out.empty() ? kNoTensor : reader.out[0];
    }
    return false;
  }

  static bool weighs(const Operator& reader, TensorId weights) {
    return (reader.name == "aten::matmul" || reader.name == "aten::bmm") && tensor_of(argument(reader, 0, "self")) == weights;
  }

  void start(std::size_t product) {
    const Operator& first = op(product);
    const bool adds = first.name == "aten::baddbmm";
    query_ = tensor_of(argument(first, adds ? 1 : 0, adds ? "batch1" : "self"));
    turned_ = tensor_of(argument(first, adds ? 2 : 1, first.name == "aten::matmul" ? "other" : adds ? "batch2" : "mat2"));
    product_ = product;
    if (!adds) return;
    const Value* beta = argument(first, 3, "beta");
    const Value* alpha = argument(first, 4, "alpha");
    const double share = beta == nullptr ? 1 : number(beta).value_or(-1);
    if (share != 0 && share != 1) return wrong(first, "the mask is scaled with the scores");
    scale_ = alpha == nullptr ? 1 : number(alpha).value_or(1);
    if (share == 1) additive_ = tensor_of(argument(first, 0, "self"));
  }

  // What is between the product and the softmax.
  void step(std::size_t at) {
    const Operator& one = op(at);
    const std::string_view name = base_name(one);
    if (only_converts(one)) return;
    if (name == "mul" || name == "div") return scale(at, name == "div");
    if (name == "add") return add(at);
    if (name == "masked_fill") return mask(at, argument(one, 1, "mask"), argument(one, 2, "value"), false);
    if (name == "where") return mask(at, argument(one, 0, "condition"), argument(one, 2, "other"), true);
    const bool drops = is_true(argument(one, 2, "train")) && number(argument(one, 1, "p")).value_or(1) > 0;
    if (drops) wrong(one, "dropout stands before the softmax");
  }

  void scale(std::size_t at, bool divides) {
    const auto factor = flow_.constant(argument(op(at), 1, "other"), at);
    if (!factor || *factor <= 0) return wrong(op(at), "the scores are scaled by a tensor, where a number is expected");
    if (additive_ != kNoTensor) return wrong(op(at), "the scores are scaled after the mask was added");
    scale_ *= divides ? 1 / *factor : *factor;
  }

  void add(std::size_t at) {
    const TensorId bias = tensor_of(argument(op(at), 1, "other"));
    const Value* alpha = argument(op(at), 2, "alpha");
    if (bias == kNoTensor || (alpha != nullptr && number(alpha) != 1.0)) return wrong(op(at), "what is added to the scores is no mask");
    if (kept_ != kNoTensor) return wrong(op(at), "a mask is added after another one was filled in");
    if (additive_ == kNoTensor) {
      additive_ = bias;
      return;
    }
    additive_ = made(one_of("aten::add", "Tensor", {{TensorRef{additive_}}, {TensorRef{bias}}}));
  }

  void mask(std::size_t at, const Value* of, const Value* fill, bool keeps) {
    const auto number = flow_.constant(fill, at);
    const TensorId which = tensor_of(of);
    if (!number || *number > kMasks || which == kNoTensor)
      return wrong(op(at), "the scores are filled with something else than a mask does");
    if (kept_ != kNoTensor) return wrong(op(at), "two masks are filled in");
    const TensorId turned = keeps && additive_ == kNoTensor ? which
                            : keeps                         ? made(one_of("aten::logical_not", "", {{TensorRef{which}}}))
                                                            : which;
    if (additive_ != kNoTensor) {
      additive_ = made(one_of("aten::masked_fill", "Scalar", {{TensorRef{additive_}}, {TensorRef{turned}}, {-kInfinite}}));
    } else {
      kept_ = keeps ? which : made(one_of("aten::logical_not", "", {{TensorRef{which}}}));
    }
  }

  void check_readers(std::size_t made, std::size_t next) {
    for (const std::size_t reader : flow_.readers(op(made).out[0], made)) {
      if (reader != next) return wrong(op(reader), "the scores of the attention are read by something else too");
    }
  }

  bool over_the_last_dimension() const {
    const auto dim = number(argument(op(softmax_), 1, "dim"));
    const auto* shape = flow_.shape(tensor_of(argument(op(softmax_), 0, "self")), softmax_);
    return dim && (*dim == -1 || (shape != nullptr && *dim + 1 == static_cast<double>(shape->size())));
  }

  // The keys as they were before the first product turned them.
  TensorId keys() {
    const std::size_t turned = flow_.maker(turned_, product_);
    if (turned != kNowhere && turns(turned) && flow_.readers(turned_, turned).size() == 1) {
      found_.replaced.insert(found_.replaced.begin(), turned);
      return tensor_of(argument(op(turned), 0, "self"));
    }
    found_.used.push_back(turned_);
    return made(one_of("aten::transpose", "int", {{TensorRef{turned_}}, {Whole{-2}}, {Whole{-1}}}));
  }

  bool turns(std::size_t at) const {
    const Operator& one = op(at);
    if (one.name == "aten::mT" || one.name == "aten::adjoint") return true;
    if (one.name != "aten::transpose") return false;
    const auto* shape = flow_.shape(one.out[0], at + 1);
    const auto place = [&](const Value* value) {
      const double dim = number(value).value_or(0);
      return dim >= 0 && shape != nullptr ? dim - static_cast<double>(shape->size()) : dim;
    };
    const double first = place(argument(one, 1, "dim0")), second = place(argument(one, 2, "dim1"));
    return std::min(first, second) == -2 && std::max(first, second) == -1;
  }

  void finish() {
    const TensorId key = keys(), value = tensor_of(argument(op(*last_), 1, op(*last_).name == "aten::matmul" ? "other" : "mat2"));
    const TensorId given = kept_ != kNoTensor ? kept_ : additive_;
    Operator fused = one_of("aten::scaled_dot_product_attention", "", {{TensorRef{query_}}, {TensorRef{key}}, {TensorRef{value}}});
    if (given != kNoTensor) fused.kwargs.emplace_back("attn_mask", Value{}).second.is = TensorRef{given};
    fused.kwargs.emplace_back("dropout_p", Value{}).second.is = dropout_;
    fused.kwargs.emplace_back("scale", Value{}).second.is = scale_;
    fused.out = op(*last_).out;
    fused.shapes = op(*last_).shapes;
    found_.operators.push_back(std::move(fused));
    for (const TensorId id : {query_, key, value, given}) found_.used.push_back(id);
    found_.drops = dropout_ > 0;
    found_.replaced.push_back(*last_);
    if (temporaries_.empty()) return;
    Operator release = one_of("hotlens::free", "", temporaries_);
    release.kind = OperatorKind::free;
    found_.operators.push_back(std::move(release));
  }

  // Where the second product stands.
  Operator one_of(std::string name, std::string overload, Values args) const {
    Operator made = op(*last_);
    made.name = std::move(name);
    made.overload = std::move(overload);
    made.args = std::move(args);
    made.kwargs.clear();
    made.out.clear();
    made.shapes.clear();
    return made;
  }

  TensorId made(Operator one) {
    for_each_tensor(one, [&](TensorId id) { found_.used.push_back(id); });
    const auto id = static_cast<TensorId>(program_.ids++);
    one.out = {id};
    found_.operators.push_back(std::move(one));
    temporaries_.emplace_back().is = TensorRef{id};
    return id;
  }

  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  Program& program_;
  const Dataflow& flow_;
  std::size_t softmax_, product_ = 0;
  std::optional<std::size_t> last_;
  TensorId query_ = kNoTensor, turned_ = kNoTensor, additive_ = kNoTensor, kept_ = kNoTensor;  // kept: true where a score counts
  double scale_ = 1, dropout_ = 0;
  Values temporaries_;
  Attention found_;
  std::optional<NotHere> wrong_;
};

}  // namespace

std::optional<std::expected<Attention, NotHere>> attention_around(Program& program, const Dataflow& flow, std::size_t softmax) {
  return AttentionReader(program, flow, softmax).read();
}

}  // namespace hotlens::lab
