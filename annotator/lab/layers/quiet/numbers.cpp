#include "annotator/lab/layers/quiet/numbers.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "annotator/lab/layers/effects/number_uses.h"
#include "annotator/lab/layers/effects/statement_pairs.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/spans.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

std::string_view last_name(Node callee) {
  return callee.is("attribute") ? callee.field("attribute").text() : callee.text();
}

bool has_call(Node code, const auto& wanted) {
  bool found = false;
  source::walk(code, [&](Node node) {
    found = found || (node.is("call") && wanted(node));
    return !found;
  });
  return found;
}

// `optimizer.step()`, or a call of a function of the file that has it.
bool is_step(Node call, int depth = 0) {
  const Node callee = call.field("function");
  if (callee.is("attribute") && last_name(callee) == "step")
    return callee.field("object").text().find("sched") == std::string_view::npos && call.field("arguments").children().empty();
  const Node function = depth < 3 ? function_named(callee) : Node{};
  return function && has_call(function.field("body"), [&](Node inner) { return is_step(inner, depth + 1); });
}

}  // namespace

bool goes_over_steps(Node loop) {
  const auto steps = [](Node call) { return is_step(call); };
  if (!loop.is("for_statement") || source::enclosing(loop, "class_definition") || !has_call(loop.field("body"), steps)) return false;
  for (Node around = loop.parent(); around; around = around.parent()) {
    if (!around.is("for_statement")) continue;
    if (has_call(around.field("body"), [&](Node call) { return is_step(call) && !is_within(call, loop); })) return false;
  }
  return true;
}

bool may_take_steps(Node statement) {
  const bool defines = statement.is("function_definition") || statement.is("class_definition") || statement.is("decorated_definition");
  return !defines && has_call(statement, [](Node call) {
    const Node callee = call.field("function");
    const std::string_view name = last_name(callee);
    const auto steps = [](Node function) { return has_call(function.field("body"), [](Node inner) { return is_step(inner); }); };
    const bool method = callee.is("attribute") && std::ranges::any_of(call.code->functions_named(name), steps);
    return is_step(call) || method || name == "fit" || (callee.is("attribute") && name == "train");
  });
}

namespace {

// Whether a block only tells people something, or ends a loop.
bool only_tells(Node block) {
  return std::ranges::all_of(block.children(), [](const Node& one) {
    const Node call = one.is("expression_statement") ? one.child() : Node{};
    return is_silent(one) || one.is("break_statement") || (call.is("call") && is_told(call.field("function").text()));
  });
}

// `if step % 10 == 0: print(loss.item())`.
bool is_in_idle_condition(Node use) {
  for (Node child = use, up = use.parent(); up; child = up, up = up.parent()) {
    if (up.is("if_statement"))
      return up.field("condition").id() == child.id() && up.children("elif_clause").empty() && up.children("else_clause").empty() &&
             only_tells(up.field("consequence"));
    if (!up.is("comparison_operator") && !up.is("binary_operator") && !up.is("boolean_operator") && !up.is("parenthesized_expression"))
      return false;
  }
  return false;
}

// `for epoch in range(5):`.
bool bounds_loop(Node use) {
  const Node list = use.parent(), call = list.parent();
  if (!list.is("argument_list") || call.field("function").text() != "range") return false;
  Node whole = call;
  while (whole.parent().is("argument_list") && whole.parent().parent().is("call")) whole = whole.parent().parent();  // `tqdm(range(5))`
  return goes_over_steps(whole.parent()) && whole.parent().field("right").id() == whole.id();
}

// `nn.CrossEntropyLoss`, or a name that is imported.
bool is_of_library(Node callee) {
  const std::string_view text = callee.text();
  if (callee.is("attribute")) return text.starts_with("nn.") || text.starts_with("F.") || text.starts_with("torch.");
  const source::Binding* binding = only_binding(*callee.code, text);
  return binding != nullptr && binding->kind == source::Binding::Kind::member;
}

// `optim.AdamW`, or a name that is imported from there.
bool is_of_optimizers(Node callee) {
  if (callee.text().find("optim") != std::string_view::npos) return true;
  const source::Binding* binding = only_binding(*callee.code, callee.text());
  return binding != nullptr && binding->module.starts_with("torch.optim");
}

// `clip_grad_norm_(model.parameters(), 1.0)`, `AdamW(…, weight_decay=0.1)`, `CrossEntropyLoss(label_smoothing=0.1)`.
bool is_quiet_argument(Node use) {
  const bool named = use.parent().is("keyword_argument");
  const Node list = named ? use.parent().parent() : use.parent(), call = list.parent();
  if (!list.is("argument_list") || !call.is("call")) return false;
  const std::string_view name = named ? use.parent().field("name").text() : std::string_view();
  if (named && is_of_optimizers(call.field("function")) && is_rate_of_update("optim", name)) return true;
  if (!is_of_library(call.field("function"))) return false;
  const std::string_view callee = last_name(call.field("function"));
  if (callee == "clip_grad_norm_" || callee == "clip_grad_value_")
    return named ? name == "max_norm" || name == "clip_value" : list.children().size() > 1 && list.children()[1].id() == use.id();
  if (callee.ends_with("LR")) return true;
  constexpr std::array<std::string_view, 4> kOfLosses{"label_smoothing", "margin", "delta", "beta"};
  const bool loss = callee.ends_with("Loss") || callee.ends_with("_loss") || callee.ends_with("cross_entropy");
  return loss && is_among(kOfLosses, name);
}

// `loss = criterion(x, y) + 0.5 * other`, where the step goes back from what it gives.
bool is_factor_of_loss(Node use) {
  const Node product = use.parent();
  const bool factor = product.is("binary_operator") && product.field("operator").text() == "*";
  Node up = product;
  while (factor && (up.is("binary_operator") || up.is("parenthesized_expression"))) up = up.parent();
  if (!factor || !(up.is("assignment") || up.is("augmented_assignment")) || source::enclosing(use, "class_definition")) return false;
  const std::string name(up.field("left").text());
  const Node function = source::enclosing(use, "function_definition");
  return has_call(function ? function : use.code->root(), [&](Node call) {
    const Node callee = call.field("function");
    return callee.is("attribute") && last_name(callee) == "backward" && callee.field("object").text() == name;
  });
}

class Quiet {
 public:
  explicit Quiet(const Sources& sources) : sources_(sources) {}

  // Of a number, or of a name that stands for one.
  bool is_quiet(Node use, int depth = 0) const {
    if (depth > 3) return false;
    if (is_remark(source::statement_of(use))) return true;
    return bounds_loop(use) || is_in_idle_condition(use) || is_quiet_argument(use) || is_factor_of_loss(use) || is_given_on(use, depth);
  }

 private:
  // What it is given on to: a name, a parameter of a function, an argument of the command line.
  bool is_given_on(Node use, int depth) const {
    while (use.parent().is("binary_operator") || use.parent().is("parenthesized_expression")) use = use.parent();
    const Node above = use.parent();
    if (above.is("assignment") && above.field("right").id() == use.id() && above.field("left").is("identifier"))
      return are_quiet(scope_of(use), std::string(above.field("left").text()), false, depth);
    const bool defaults = (above.is("default_parameter") || above.is("typed_default_parameter")) && above.field("value").id() == use.id();
    if (defaults) return are_quiet(source::enclosing(use, "function_definition"), std::string(above.field("name").text()), false, depth);
    const bool named = above.is("keyword_argument");
    const Node list = named ? above.parent() : above, call = list.parent();
    if (!list.is("argument_list") || !call.is("call")) return false;
    if (named && above.field("name").text() == "default" && last_name(call.field("function")) == "add_argument")
      return is_quiet_option(call, depth);
    const Node function = named ? function_named(call.field("function")) : function_given(use);
    if (named) return function && are_quiet(function, std::string(above.field("name").text()), false, depth);
    const Node parameter = function ? parameter_for(use, function) : Node{};
    return parameter && are_quiet(function, std::string(parameter.text()), false, depth);
  }

  static Node scope_of(Node use) {
    const Node function = source::enclosing(use, "function_definition");
    return function ? function : use.code->root();
  }

  bool is_quiet_option(Node call, int depth) const {
    for (const Node& flag : call.field("arguments").children()) {
      if (!flag.is("string") || !flag.text().starts_with("\"--") || flag.text().size() < 5) continue;
      std::string name(flag.text().substr(3, flag.text().size() - 4));
      std::ranges::replace(name, '-', '_');
      return are_quiet({}, name, true, depth);
    }
    return false;
  }

  // All uses of a name in a scope, or of an attribute in the project; one at least. Another file may import a name of the top level.
  bool are_quiet(Node scope, const std::string& name, bool attribute, int depth) const {
    bool all = true, some = false;
    const auto look = [&](Node use) {
      const Node above = use.parent();
      const bool given = above.is("assignment") && above.field("left").id() == use.id();
      const bool parameter = above.is("parameters") || (above.kind().ends_with("parameter") && above.field("name").id() == use.id());
      if (given || parameter || above.is("keyword_argument")) {
        all = all && (given ? above.field("right").is("integer") || above.field("right").is("float") : !given);
        if (!above.is("keyword_argument") || above.field("name").id() == use.id()) return;
      }
      some = true;
      all = all && is_quiet(use, depth + 1);
    };
    for (const auto& [path, code] : sources_.files) {
      if (sources_.packages.contains(path)) continue;
      const bool whole = attribute || (scope && scope.is("module"));
      if (!whole && scope && code.get() != scope.code) continue;
      source::walk(whole ? code->root() : scope, [&](Node node) {
        const bool is = attribute ? node.is("attribute") && node.field("attribute").text() == name
                                  : node.is("identifier") && node.text() == name &&
                                        !(node.parent().is("attribute") && node.parent().field("attribute").id() == node.id());
        if (is) look(node);
        return all;
      });
    }
    return all && some;
  }

  const Sources& sources_;
};

class Restoration {
 public:
  Restoration(const Sources& executed, const Sources& edited) : was_(executed), is_(edited) {}

  std::map<Span, std::string> run(Node was, Node is) {
    found_.clear();
    compare(was, is);
    return found_;
  }

 private:
  void compare(Node was, Node is) {
    if (same_wording(was, is)) return;
    const auto number = [](Node node) { return node.is("integer") || node.is("float"); };
    if (number(was) && number(is)) {
      const bool zero = literal_number(was) == 0 || literal_number(is) == 0;
      if (!zero && was_.is_quiet(was) && is_.is_quiet(is)) found_[span_of(is)] = was.text();
      return;
    }
    const auto old = was.children(), now = is.children();
    if (was.is("block") || was.is("module")) return statements(old, now);
    if (was.kind() != is.kind() || old.size() != now.size() || marks(was) != marks(is)) return;
    for (std::size_t at = 0; at < old.size(); ++at) compare(old[at], now[at]);
  }

  void statements(const Nodes& was, const Nodes& is) {
    for (const Difference& one : differences(was, is)) {
      std::size_t next = 0;
      for (const Node& now : one.is) {
        std::size_t pair = next;
        while (pair < one.was.size() && !is_same_statement(one.was[pair], now)) ++pair;
        if (pair == one.was.size()) continue;
        next = pair + 1;
        compare(one.was[pair], now);
      }
    }
  }

  Quiet was_, is_;
  std::map<Span, std::string> found_;  // numbers of the executed text, by their place in the edited one
};

}  // namespace

Sources without_quiet_numbers(const Sources& executed, const Sources& edited) {
  Sources all = edited;
  Restoration restoration(executed, edited);
  for (auto& [path, code] : all.files) {
    const auto was = executed.files.find(path);
    if (was == executed.files.end() || was->second == code || edited.packages.contains(path)) continue;
    const auto numbers = restoration.run(was->second->root(), code->root());
    if (numbers.empty()) continue;
    code = replaced(*code, numbers);
    if (code->text() == was->second->text()) code = was->second;
  }
  return all;
}

}  // namespace hotlens::layers
