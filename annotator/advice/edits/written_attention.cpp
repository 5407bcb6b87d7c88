#include "annotator/advice/edits/written_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace hotlens::advice {
namespace {

using Words = std::string_view;

TSNode bare(TSNode node) {
  while (type(node) == "parenthesized_expression" && ts_node_named_child_count(node) == 1) node = ts_node_named_child(node, 0);
  return node;
}

// `f(x, …)` and `x.f(…)` alike: the last word of its name, and its arguments with the object first.
struct Applied {
  std::string name;
  bool torch = false;  // by a name that an import gives
  std::vector<TSNode> given;
  std::map<Words, TSNode> named;

  const TSNode* argument(std::size_t place, Words keyword) const {
    if (place < given.size()) return &given[place];
    const auto found = named.find(keyword);
    return found == named.end() ? nullptr : &found->second;
  }
};

std::optional<Applied> applied(const PythonText& text, TSNode node) {
  if (type(node) != "call" || type(field(node, "arguments")) != "argument_list") return std::nullopt;
  const TSNode callee = field(node, "function");
  const bool dotted = text.at(callee).find_first_of("([ \n") == Words::npos;
  const std::string what = dotted ? text.resolved(text.at(callee)) : std::string();
  const bool own = type(callee) == "attribute" && text.at(field(callee, "object")) == "self";
  Applied found{.name = {}, .torch = what.starts_with("torch."), .given = {}, .named = {}};
  if (own || (type(callee) != "attribute" && !found.torch)) return std::nullopt;
  found.name = found.torch ? what.substr(what.rfind('.') + 1) : std::string(text.at(field(callee, "attribute")));
  if (!found.torch) found.given.push_back(field(callee, "object"));
  bool spreads = false;
  each_child(field(node, "arguments"), [&](TSNode child) {
    spreads = spreads || type(child) == "list_splat" || type(child) == "dictionary_splat";
    if (type(child) == "keyword_argument") found.named.emplace(text.at(field(child, "name")), field(child, "value"));
    if (type(child) != "keyword_argument" && type(child) != "comment") found.given.push_back(child);
  });
  if (const auto self = found.named.find("input"); found.given.empty() && self != found.named.end()) found.given.push_back(self->second);
  if (spreads || found.given.empty()) return std::nullopt;
  return found;
}

// `self.NAME(x)`: the name.
Words own_layer(const PythonText& text, TSNode call) {
  const TSNode callee = type(call) == "call" ? field(call, "function") : call;
  if (type(callee) != "attribute" || text.at(field(callee, "object")) != "self") return {};
  return text.at(field(callee, "attribute"));
}

struct Factors {
  TSNode left, right;
};

std::optional<Factors> factors(const PythonText& text, TSNode node) {
  if (type(node) == "binary_operator" && text.at(field(node, "operator")) == "@") return Factors{field(node, "left"), field(node, "right")};
  const auto call = applied(text, node);
  if (!call || (call->name != "matmul" && call->name != "bmm") || call->given.size() != 2) return std::nullopt;
  return Factors{call->given[0], call->given[1]};
}

// What only changes how numbers are kept.
bool converts(const Applied& call) {
  constexpr auto kNames = std::to_array<Words>({"to", "type_as", "float", "contiguous", "half", "bfloat16"});
  return !call.torch && std::ranges::find(kNames, call.name) != kNames.end();
}

std::optional<int> whole(const PythonText& text, TSNode node) {
  const Words digits = text.at(node);
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

// Scores of this and less have no weight: `float("-inf")`, `-1e9`, `torch.finfo(x.dtype).min`.
bool hides(const PythonText& text, TSNode node) {
  constexpr double kHidden = -1e4;
  const std::string words(text.at(bare(node)));
  if (words.ends_with(".min") && words.contains("finfo(")) return true;
  if (words == "float(\"-inf\")" || words == "float('-inf')" || words == "-float(\"inf\")" || words == "-float('inf')") return true;
  if (words == "-math.inf" || words == "-torch.inf" || words == "-np.inf") return true;
  double value = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), value);
  return error == std::errc{} && end == words.data() + words.size() && value <= kHidden;
}

// Whether an expression can be nothing but a number of Python's: no tensor.
bool is_number(const PythonText& text, TSNode node) {
  node = bare(node);
  const Words kind = type(node);
  if (kind == "integer" || kind == "float") return true;
  if (kind == "unary_operator") return is_number(text, field(node, "argument"));
  if (kind == "binary_operator") return is_number(text, field(node, "left")) && is_number(text, field(node, "right"));
  if (kind == "subscript") return text.at(field(node, "value")).ends_with(".shape");
  if (kind != "call") return false;
  const Words callee = text.at(field(node, "function"));
  return text.resolved(callee).starts_with("math.") || callee == "float" || callee == "int" || callee == "len" || callee.ends_with(".size");
}

// It needs no parentheses before `.name` or behind `~`.
bool is_simple(TSNode node) {
  return type(node) == "identifier" || type(node) == "attribute" || type(node) == "subscript" || type(node) == "call";
}

// `~mask`, or the other comparison.
std::string inverted(const PythonText& text, TSNode mask) {
  mask = bare(mask);
  const std::string words(text.at(mask));
  if (type(mask) == "comparison_operator" && ts_node_named_child_count(mask) == 2) {
    const std::uint32_t end = ts_node_end_byte(ts_node_named_child(mask, 0)), begin = ts_node_start_byte(ts_node_named_child(mask, 1));
    const std::string sign(text.at(Span{end, begin}));
    if (const std::size_t equal = sign.find("=="); equal != std::string::npos)
      return std::string(words).replace(end - span(mask).begin + equal, 2, "!=");
    if (const std::size_t other = sign.find("!="); other != std::string::npos)
      return std::string(words).replace(end - span(mask).begin + other, 2, "==");
  }
  if (type(mask) == "unary_operator" && words.starts_with('~')) return std::string(text.at(bare(field(mask, "argument"))));
  return is_simple(mask) ? "~" + words : "~(" + words + ")";
}

// `s = …`, `s += …`, also alone under an `if`.
struct Assigned {
  TSNode statement;  // of the block
  Words name, sign;  // "*" of `*=`
  TSNode value;
  std::optional<TSNode> condition = {};
};

std::optional<Assigned> assigned(const PythonText& text, TSNode statement) {
  if (type(statement) == "if_statement") {
    const TSNode body = field(statement, "consequence");
    if (!ts_node_is_null(field(statement, "alternative")) || ts_node_named_child_count(body) != 1) return std::nullopt;
    const TSNode only = ts_node_named_child(body, 0);
    auto inner = type(only) == "if_statement" ? std::nullopt : assigned(text, only);
    if (!inner) return std::nullopt;
    inner->statement = statement;
    inner->condition = field(statement, "condition");
    return inner;
  }
  if (type(statement) != "expression_statement" || ts_node_named_child_count(statement) != 1) return std::nullopt;
  const TSNode one = ts_node_named_child(statement, 0), left = field(one, "left"), right = field(one, "right");
  const bool augmented = type(one) == "augmented_assignment";
  if ((type(one) != "assignment" && !augmented) || type(left) != "identifier" || ts_node_is_null(right)) return std::nullopt;
  Words sign = augmented ? text.at(field(one, "operator")) : Words();
  if (augmented) sign.remove_suffix(1);
  return Assigned{.statement = statement, .name = text.at(left), .sign = sign, .value = right};
}

// Where the reading is: an expression, or what a variable held before an operation on it.
struct Current {
  TSNode node{};
  Words name = {};  // instead of the node
  std::optional<TSNode> condition = {};
};

class Reader {
 public:
  Reader(const PythonText& text, TSNode product, const std::set<std::string>& dropouts, bool only_softmax)
      : text_(text), product_(product), dropouts_(dropouts), only_softmax_(only_softmax) {
    found_.product = product;
    TSNode statement = product;
    while (!ts_node_is_null(ts_node_parent(statement)) && type(ts_node_parent(statement)) != "block" &&
           type(ts_node_parent(statement)) != "module")
      statement = ts_node_parent(statement);
    for (TSNode one = ts_node_prev_named_sibling(statement); !ts_node_is_null(one); one = ts_node_prev_named_sibling(one)) {
      if (type(one) != "comment") before_.push_back(one);
    }
  }

  std::optional<std::expected<WrittenAttention, std::string>> read() {
    const auto outer = factors(text_, product_);
    if (!outer || !weights(outer->left)) return std::nullopt;
    found_.value = text_.at(outer->right);
    while (wrong_.empty() && !found_first_) step();
    if (wrong_.empty()) check_uses();
    if (wrong_.empty()) check_moved();
    if (!wrong_.empty()) return std::unexpected(wrong_);
    return std::move(found_);
  }

 private:
  void wrong(std::string reason) {
    if (wrong_.empty()) wrong_ = std::move(reason);
  }

  // The last assignment before what was read so far; it becomes what was read last.
  std::optional<Assigned> definition(Words name) {
    for (std::size_t at = next_; at < before_.size(); ++at) {
      auto one = assigned(text_, before_[at]);
      if (!one || one->name != name) continue;
      next_ = at + 1;
      ++counted_[name];
      found_.statements.push_back(one->statement);
      return one;
    }
    return std::nullopt;
  }

  // From the second product back to the softmax, whose argument is current then. False: it is no attention's.
  bool weights(TSNode node) {
    for (;;) {
      node = bare(node);
      if (type(node) == "identifier") {
        ++counted_[text_.at(node)];
        const auto one = definition(text_.at(node));
        if (!one || !one->sign.empty()) return false;
        if (one->condition) wrong(fmt::format("`{}` is made under a condition", one->name));
        node = one->value;
        continue;
      }
      const Words layer = own_layer(text_, node);
      if (!layer.empty() && dropouts_.contains(std::string(layer)) && ts_node_named_child_count(field(node, "arguments")) == 1) {
        drop(fmt::format("self.{}.p if self.training else 0.0", layer));
        node = ts_node_named_child(field(node, "arguments"), 0);
        continue;
      }
      const auto call = applied(text_, node);
      if (!call) return false;
      if (is_softmax(text_, node)) {
        over_last(*call);
        current_ = {.node = call->given[0]};
        return true;
      }
      if (call->torch && call->name == "dropout") {
        const TSNode *p = call->argument(1, "p"), *trains = call->argument(2, call->named.contains("train") ? "train" : "training");
        const std::string chance(p == nullptr ? "0.5" : text_.at(*p));
        drop(trains == nullptr || text_.at(*trains) == "True" ? chance : fmt::format("{} if {} else 0.0", chance, text_.at(*trains)));
      } else if (!converts(*call)) {
        return false;
      }
      node = call->given[0];
    }
  }

  void drop(std::string chance) {
    if (found_.dropout) wrong("dropout is applied twice");
    found_.dropout = std::move(chance);
  }

  void over_last(const Applied& call) {
    const TSNode* dim = call.argument(1, "dim");
    const auto number = dim == nullptr ? std::nullopt : whole(text_, *dim);
    if (number && *number > 0 && only_softmax_) dimensions_ = *number + 1;
    if (number != -1 && !dimensions_) wrong("it is not certain that the softmax is over the last dimension");
  }

  // One operation of the scores less.
  void step() {
    if (!current_.name.empty()) return follow(current_.name, false);
    const TSNode node = bare(current_.node);
    if (type(node) == "identifier") {
      ++counted_[text_.at(node)];
      return follow(text_.at(node), current_.condition.has_value());
    }
    if (current_.condition && !operates_on_itself(node)) return wrong("the scores are made under a condition");
    if (const auto first = factors(text_, node)) return start(*first);
    if (type(node) == "binary_operator") {
      const Words sign = text_.at(field(node, "operator"));
      const TSNode left = field(node, "left"), right = field(node, "right");
      const bool turned = (sign == "*" || sign == "+") && !carries(left, next_) && carries(right, next_);
      operation(sign, turned ? left : right);
      return go_on(turned ? right : left);
    }
    const auto call = applied(text_, node);
    if (!call) return wrong(fmt::format("`{}` is no operation that the fused one does", text_.at(node)));
    return called(*call);
  }

  void go_on(TSNode node) { current_ = {.node = node, .name = {}, .condition = {}}; }

  void follow(Words name, bool conditional) {
    if (conditional && name != conditional_) return wrong("the scores are made under a condition");
    const auto one = definition(name);
    if (!one) return wrong(fmt::format("`{}` is not computed in the block of the product", name));
    if (!one->sign.empty()) {
      current_ = {.node = {}, .name = name, .condition = one->condition};
      return operation(one->sign, one->value);
    }
    conditional_ = one->condition ? name : Words();
    current_ = {.node = one->value, .name = {}, .condition = one->condition};
  }

  // `s = s + mask` under a condition: one operation on the variable itself.
  bool operates_on_itself(TSNode node) const {
    const auto call = applied(text_, node);
    const TSNode object = type(node) == "binary_operator" ? field(node, "left")
                          : call                          ? call->given[call->name == "where" && call->torch ? 1 : 0]
                                                          : node;
    return text_.at(object) == conditional_;
  }

  void operation(Words sign, TSNode other) {
    if (sign == "*" || sign == "/") return scale(other, sign == "/");
    if (sign == "+") return mask(std::string(text_.at(other)), other);
    wrong(fmt::format("`{}` is no operation on scores that the fused one does", sign));
  }

  void called(const Applied& call) {
    Words name(call.name);
    if (name.ends_with('_')) name.remove_suffix(1);
    const bool chooses = name == "where" && call.torch;
    if (call.given.size() == 2 && (name == "mul" || name == "div" || name == "add")) {
      operation(name == "mul" ? "*" : name == "div" ? "/" : "+", call.given[1]);
    } else if (name == "masked_fill" && call.given.size() == 3 && hides(text_, call.given[2])) {
      mask(inverted(text_, call.given[1]), call.given[1]);
    } else if (name == "where" && call.given.size() == 3 && hides(text_, call.given[2])) {
      mask(std::string(text_.at(bare(call.given[chooses ? 0 : 1]))), call.given[chooses ? 0 : 1]);
    } else if (!converts(call)) {
      return wrong(fmt::format("`{}` is no operation on scores that the fused one does", call.name));
    }
    go_on(call.given[chooses ? 1 : 0]);
  }

  void mask(std::string keeps, TSNode node) {
    if (found_.mask) return wrong("two masks are applied");
    if (found_.scale) return wrong("the scores are scaled after the mask was applied");
    if (is_number(text_, node)) return wrong("a number is added to the scores");
    moved_.push_back(node);
    if (current_.condition) moved_.push_back(*current_.condition);
    const Words condition = current_.condition ? text_.at(*current_.condition) : Words();
    const bool given = condition == fmt::format("{} is not None", keeps);
    found_.mask = condition.empty() || given ? std::move(keeps) : fmt::format("{} if {} else None", keeps, condition);
  }

  void scale(TSNode factor, bool divides) {
    if (found_.scale) return wrong("the scores are scaled twice");
    if (current_.condition) return wrong("the scores are scaled under a condition");
    moved_.push_back(factor);
    factor_ = factor;
    divides_ = divides;
    std::string number(text_.at(bare(factor)));
    if (!is_number(text_, factor)) number = fmt::format("float({})", number);
    const bool simple = type(bare(factor)) != "binary_operator";
    found_.scale = !divides ? number : simple || number.starts_with("float(") ? "1.0 / " + number : "1.0 / (" + number + ")";
  }

  void start(const Factors& first) {
    found_first_ = true;
    found_.query = text_.at(bare(first.left));
    moved_.push_back(first.left);
    moved_.push_back(first.right);
    found_.key = keys(first.right);
    if (factor_ && is_default()) return found_.scale.reset();
    if (!found_.scale) found_.scale = "1.0";
  }

  // As they were before they were turned for the product.
  std::string keys(TSNode node) const {
    node = bare(node);
    if (type(node) == "attribute" && text_.at(field(node, "attribute")) == "mT") return std::string(text_.at(field(node, "object")));
    const auto call = applied(text_, node);
    if (call && call->name == "transpose" && call->given.size() == 3) {
      const auto place = [&](std::size_t at) {
        const auto dim = whole(text_, call->given[at]);
        return dim && *dim >= 0 && dimensions_ ? *dim - *dimensions_ : dim.value_or(0);
      };
      if (std::set{place(1), place(2)} == std::set{-2, -1}) return std::string(text_.at(call->given[0]));
    }
    const std::string words(text_.at(node));
    return (is_simple(node) ? words : "(" + words + ")") + ".transpose(-2, -1)";
  }

  // `/ math.sqrt(q.size(-1))`, `* (1.0 / math.sqrt(k.shape[-1]))`, `* q.size(-1) ** -0.5`
  bool is_default() const {
    TSNode node = bare(*factor_);
    bool divides = divides_;
    if (!divides && type(node) == "binary_operator" && text_.at(field(node, "operator")) == "/") {
      const Words one = text_.at(field(node, "left"));
      if (one != "1" && one != "1.0" && one != "1.") return false;
      divides = true;
      node = bare(field(node, "right"));
    }
    const auto is_width = [&](TSNode of) {
      const Words words = text_.at(bare(of));
      return std::ranges::any_of(std::array{found_.query, found_.key},
                                 [&](const std::string& one) { return words == one + ".size(-1)" || words == one + ".shape[-1]"; });
    };
    if (type(node) == "binary_operator" && text_.at(field(node, "operator")) == "**") {
      return text_.at(bare(field(node, "right"))) == (divides ? "0.5" : "-0.5") && is_width(field(node, "left"));
    }
    const bool root = divides && type(node) == "call" && text_.resolved(text_.at(field(node, "function"))) == "math.sqrt";
    return root && ts_node_named_child_count(field(node, "arguments")) == 1 && is_width(ts_node_named_child(field(node, "arguments"), 0));
  }

  // Whether an expression goes back to a product.
  bool carries(TSNode node, std::size_t from) const {
    node = bare(node);
    if (factors(text_, node)) return true;
    if (type(node) == "identifier") {
      for (std::size_t at = from; at < before_.size(); ++at) {
        const auto one = assigned(text_, before_[at]);
        if (one && one->name == text_.at(node)) return !one->sign.empty() || carries(one->value, at + 1);
      }
      return false;
    }
    if (type(node) == "binary_operator") return carries(field(node, "left"), from) || carries(field(node, "right"), from);
    const auto call = applied(text_, node);
    return call && std::ranges::any_of(call->given, [&](TSNode one) { return carries(one, from); });
  }

  // What is computed on the way is used nowhere else in the function.
  void check_uses() {
    TSNode function = product_;
    while (!ts_node_is_null(ts_node_parent(function)) && type(function) != "function_definition") function = ts_node_parent(function);
    std::map<Words, std::size_t> uses;
    each_node(function, [&](TSNode node) {
      if (is_variable(node)) ++uses[text_.at(node)];
    });
    for (const TSNode statement : found_.statements) {
      const Words name = assigned(text_, statement)->name;
      if (uses[name] != counted_[name]) return wrong(fmt::format("`{}` is used elsewhere in the function, too", name));
    }
  }

  bool goes(TSNode statement) const {
    return std::ranges::any_of(found_.statements, [&](TSNode one) { return ts_node_eq(one, statement); });
  }

  // Nothing that moves to the second product changes on the way there.
  void check_moved() {
    for (std::size_t at = 0; at < next_; ++at) {
      if (goes(before_[at])) continue;
      each_node(before_[at], [&](TSNode node) {
        const bool target = type(node) == "assignment" || type(node) == "augmented_assignment" || type(node) == "for_statement";
        const TSNode attribute = type(node) == "call" ? field(node, "function") : node;
        const bool in_place =
            type(node) == "call" && type(attribute) == "attribute" && text_.at(field(attribute, "attribute")).ends_with('_');
        if (!target && !in_place) return;
        each_node(target ? field(node, "left") : field(attribute, "object"), [&](TSNode name) {
          if (is_variable(name) && moves(text_.at(name))) wrong(fmt::format("`{}` changes before the second product", text_.at(name)));
        });
      });
    }
  }

  bool moves(Words name) const {
    bool found = false;
    for (const TSNode node : moved_) {
      each_node(node, [&](TSNode one) { found = found || (is_variable(one) && text_.at(one) == name); });
    }
    return found;
  }

  const PythonText& text_;
  TSNode product_;
  const std::set<std::string>& dropouts_;
  bool only_softmax_ = false, found_first_ = false, divides_ = false;
  std::vector<TSNode> before_;  // statements of the block, the nearest first
  std::size_t next_ = 0;
  std::map<Words, std::size_t> counted_;  // uses and assignments of variables that the formula has
  std::vector<TSNode> moved_;
  Current current_;
  Words conditional_ = {};
  std::optional<int> dimensions_;
  std::optional<TSNode> factor_;
  WrittenAttention found_;
  std::string wrong_;
};

}  // namespace

bool is_softmax(const PythonText& text, TSNode node) {
  const auto call = applied(text, node);
  return call && call->name == "softmax";
}

bool is_product(const PythonText& text, TSNode node) {
  return factors(text, node).has_value();
}

std::optional<std::expected<WrittenAttention, std::string>> written_attention(const PythonText& text, TSNode product,
                                                                              const std::set<std::string>& dropouts, bool only_softmax) {
  return Reader(text, product, dropouts, only_softmax).read();
}

}  // namespace hotlens::advice
