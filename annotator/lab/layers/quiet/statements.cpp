#include "annotator/lab/layers/quiet/statements.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "annotator/lab/layers/python/spans.h"
#include "annotator/lab/layers/python/wording.h"
#include "annotator/lab/layers/quiet/numbers.h"

namespace hotlens::layers {
namespace {

class QuietStatements {
 public:
  QuietStatements(const source::Code& code, bool waits, bool evaluates) : code_(code), waits_(waits), evaluates_(evaluates) {}

  // The text with `pass` instead; null: it has none.
  std::shared_ptr<const source::Code> without() {
    block(code_.root());
    return quiet_.empty() ? nullptr : replaced(code_, quiet_);
  }

 private:
  void block(Node node) {
    const auto statements = node.children();
    std::size_t end = after_last_step(statements);
    if (end < statements.size() && !runs_once(node)) end = statements.size();
    for (std::size_t at = 0; at < statements.size(); ++at) {
      const Node& one = statements[at];
      const bool defines = one.is("function_definition") || one.is("class_definition") || one.is("decorated_definition");
      const bool imports = one.kind().find("import") != std::string_view::npos;
      if ((at >= end && !defines && !imports) || is_quiet(one)) {
        quiet_[span_of(one)] = passed(one);
      } else if (!one.is("class_definition") && !one.is("decorated_definition")) {
        leave_defaults(one);
        inside(one);
      }
    }
  }

  // `optimizer.zero_grad(set_to_none=True)` is what it does anyway.
  void leave_defaults(Node statement) {
    const Node call = statement.is("expression_statement") ? statement.child() : Node{}, list = call.field("arguments");
    const bool clears = call.is("call") && call.field("function").is("attribute") &&
                        call.field("function").field("attribute").text() == "zero_grad" && list.is("argument_list");
    const auto given = clears ? list.children() : std::vector<Node>();
    if (given.size() == 1 && given[0].text() == "set_to_none=True") quiet_[span_of(list)] = "()" + line_ends(list.text());
  }

  void inside(Node statement) {
    for (const Node& part : statement.children()) part.is("block") ? block(part) : inside(part);
  }

  // The top level, and a function that it calls alone and once: `main()`.
  bool runs_once(Node block) const {
    if (block.is("module")) return true;
    const Node function = block.parent();
    if (!function.is("function_definition") || !function.parent().is("module")) return false;
    const std::string_view name = function.field("name").text();
    int others = 0, calls = 0;
    source::walk(code_.root(), [&](Node node) {
      if (!node.is("identifier") || node.text() != name || node.parent().is("function_definition")) return true;
      const Node call = node.parent();
      const bool once = call.is("call") && call.field("function").id() == node.id() && !source::enclosing(call, "function_definition") &&
                        !source::enclosing(call, "for_statement") && !source::enclosing(call, "while_statement");
      ++(once ? calls : others);
      return true;
    });
    return calls == 1 && others == 0;
  }

  // Behind the last loop of steps, and whatever else may take some: `while True:`, `trainer.fit()`.
  static std::size_t after_last_step(const std::vector<Node>& statements) {
    const auto last = std::find_if(statements.rbegin(), statements.rend(), goes_over_steps);
    std::size_t end = last == statements.rend() ? statements.size() : static_cast<std::size_t>(statements.rend() - last);
    for (std::size_t at = end; at < statements.size(); ++at) {
      if (may_take_steps(statements[at])) end = at + 1;
    }
    return end;
  }

  bool is_quiet(Node statement) {
    if (is_silent(statement)) return false;  // nothing already
    if (statement.is("if_statement")) {
      const bool otherwise = !statement.children("elif_clause").empty() || !statement.children("else_clause").empty();
      const auto told = statement.field("consequence").children();
      return !otherwise && is_cheap(statement.field("condition")) &&
             std::ranges::all_of(told, [&](const Node& one) { return is_silent(one) || is_quiet(one); });
    }
    const Node part = statement.is("expression_statement") ? statement.child() : Node{};
    if (part.is("call")) return is_quiet_call(part) || trains_anyway(part) || steps_rate(part);
    const bool adds = part.is("augmented_assignment");
    const Node name = adds || part.is("assignment") ? part.field("left") : Node{}, value = part.field("right");
    if (!name.is("identifier")) return false;
    if (adds || is_average(value, name)) return is_average(value, name) && is_kept_up(name) && is_number(name) && is_only_told(name);
    return is_time(value) || is_schedule(value) || (counts_weights(value) && is_only_told(name));
  }

  // `torch.optim.lr_scheduler.StepLR(optimizer, 10)`: it changes numbers that an optimizer holds.
  bool is_schedule(Node value) const {
    const Node callee = value.is("call") ? value.field("function") : Node{};
    if (callee.is("attribute")) return callee.field("object").text().ends_with("lr_scheduler");
    const source::Binding* binding = callee.is("identifier") ? only_binding(code_, callee.text()) : nullptr;
    return binding != nullptr && binding->module == "torch.optim.lr_scheduler";
  }

  // `scheduler.step()`, of what the file makes so.
  bool steps_rate(Node call) {
    const Node callee = call.field("function"), object = callee.field("object");
    if (!callee.is("attribute") || callee.field("attribute").text() != "step" || !object.is("identifier")) return false;
    bool only = true, some = false;
    source::walk(code_.root(), [&](Node node) {
      const bool given = node.is("assignment") && node.field("left").text() == object.text();
      some = some || given;
      only = only && (!given || is_schedule(node.field("right")));
      return true;
    });
    return only && some && is_cheap(call.field("arguments"));
  }

  // A number that is kept up with others: `running = 0.9 * running + 0.1 * loss.item()`, and the first of it.
  bool is_average(Node value, Node name) const {
    if (value.is("parenthesized_expression")) return is_average(value.child(), name);
    if (value.is("binary_operator")) return is_average(value.field("left"), name) && is_average(value.field("right"), name);
    return value.is("integer") || value.is("float") || (value.is("identifier") && value.text() == name.text()) ||
           (value.is("call") && !waits_ && value.field("function").text().ends_with(".item"));
  }

  // `model.train()` where nothing of the project calls `eval()`.
  bool trains_anyway(Node call) const {
    const Node callee = call.field("function");
    const bool model = code_.text().find(std::string(callee.field("object").text()) + ".parameters()") != std::string::npos;
    return callee.is("attribute") && callee.field("attribute").text() == "train" && callee.field("object").is("identifier") && model &&
           call.field("arguments").children().empty() && !evaluates_;
  }

  // `sum(p.numel() for p in model.parameters())`.
  static bool counts_weights(Node value) {
    const std::string_view text = value.text();
    return value.is("call") && value.field("function").text() == "sum" && value.field("arguments").is("generator_expression") &&
           text.find(".numel()") != std::string_view::npos && text.find(".parameters()") != std::string_view::npos;
  }

  // A constant is not: others may read it.
  bool is_kept_up(Node name) {
    if (!kept_up_) {
      kept_up_.emplace();
      source::walk(code_.root(), [&](Node node) {
        const bool other = node.is("assignment") && node.field("right").is("binary_operator");
        if (other || node.is("augmented_assignment")) kept_up_->emplace(node.field("left").text());
        return true;
      });
    }
    return kept_up_->contains(name.text());
  }

  bool is_only_told(Node name) const {
    bool only = true;
    source::walk(code_.root(), [&](Node node) {
      const bool method = node.parent().is("attribute") && node.parent().field("attribute").id() == node.id();
      if (!node.is("identifier") || method || node.text() != name.text() || node.id() == name.id()) return true;
      const Node part = source::statement_of(node).child();
      const bool own = (part.is("assignment") || part.is("augmented_assignment")) && part.field("left").text() == name.text() &&
                       is_average(part.field("right"), name);
      only = only && (own || (part.is("call") && is_told(part.field("function").text())));
      return true;
    });
    return only;
  }

  // `print(f"{loss.item():.3f}")`, `losses.append(loss.item())`.
  bool is_quiet_call(Node call) {
    const Node callee = call.field("function"), list = call.field("arguments");
    if (is_told(callee.text())) return is_cheap(list);
    const bool keeps = callee.is("attribute") && callee.field("attribute").text() == "append" && callee.field("object").is("identifier");
    const Node given = keeps && list.children().size() == 1 ? list.child() : Node{};
    const std::string_view what = given.is("call") ? given.field("function").text() : std::string_view();
    return (what.ends_with(".item") || what == "float") && is_cheap(given);
  }

  // Numbers, words and what is asked of a tensor without computing with it. To tell a tensor itself is to compute.
  bool is_cheap(Node node) {
    constexpr std::array<std::string_view, 14> kParts{"binary_operator",
                                                      "unary_operator",
                                                      "not_operator",
                                                      "boolean_operator",
                                                      "comparison_operator",
                                                      "tuple",
                                                      "list",
                                                      "parenthesized_expression",
                                                      "keyword_argument",
                                                      "argument_list",
                                                      "interpolation",
                                                      "format_specifier",
                                                      "concatenated_string",
                                                      "format_expression"};
    if (node.is("identifier")) return is_number(node);
    if (node.is("attribute")) return is_known(node);
    if (node.is("call")) return is_cheap_call(node);
    if (node.is("keyword_argument")) return is_cheap(node.field("value"));
    if (node.children().empty()) return true;
    const bool parts = is_among(kParts, node.kind()) || node.is("string");
    return parts && std::ranges::all_of(node.children(), [&](const Node& one) { return is_cheap(one); });
  }

  // `x.shape`, `args.lr`.
  static bool is_known(Node attribute) {
    constexpr std::array<std::string_view, 3> kOfTensors{"shape", "dtype", "device"};
    constexpr std::array<std::string_view, 5> kArguments{"args", "opt", "cfg", "config", "options"};
    return attribute.field("object").is("identifier") &&
           (is_among(kOfTensors, attribute.field("attribute").text()) || is_among(kArguments, attribute.field("object").text()));
  }

  bool is_cheap_call(Node call) {
    constexpr std::array<std::string_view, 6> kMethods{"size", "dim", "numel", "get_last_lr", "time", "perf_counter"};
    constexpr std::array<std::string_view, 5> kFunctions{"str", "repr", "round", "int", "format"};
    const Node callee = call.field("function"), list = call.field("arguments");
    if (callee.is("attribute")) {
      const std::string_view last = callee.field("attribute").text();
      const Node object = callee.field("object");
      if (last == "item") return !waits_ && (object.is("identifier") || object.is("attribute") || object.is("subscript"));
      return (is_among(kMethods, last) || (last == "format" && object.is("string"))) && is_cheap(list);
    }
    if (callee.text() == "len" || callee.text() == "type") return list.children().size() == 1 && list.child().is("identifier");
    if (callee.text() == "float") return !waits_ && list.children().size() == 1 && list.child().is("identifier");
    return is_among(kFunctions, callee.text()) && is_cheap(list);
  }

  // Whether the file gives the name numbers alone: those of a loop, literal ones, and what is asked of a tensor.
  bool is_number(Node name) {
    const auto [known, is_new] = numbers_.try_emplace(std::string(name.text()), false);
    if (is_new) known->second = has_numbers_alone(name);
    return known->second;
  }

  bool has_numbers_alone(Node name) const {
    bool only = true, some = false;
    source::walk(code_.root(), [&](Node node) {
      if (!node.is("identifier") || node.text() != name.text()) return true;
      const Node above = node.parent();
      const bool first = above.is("pattern_list") && above.child().id() == node.id();
      const Node loop = first ? above.parent() : above;
      const bool counts = loop.is("for_statement") && loop.field("left").id() == (first ? above.id() : node.id());
      const bool given = above.is("assignment") && above.field("left").id() == node.id();
      const bool defaults = above.kind().ends_with("default_parameter") && above.field("name").id() == node.id();
      const bool other = above.is("parameters") || above.is("pattern_list") || above.is("typed_parameter");
      if (counts) {
        const std::string_view of = loop.field("right").field("function").text();
        only = only && (first ? of == "enumerate" : of == "range" || of == "tqdm" || of == "trange");
      } else if (given || defaults) {
        only = only && (is_plain_number(above.field(given ? "right" : "value")) || (given && is_average(above.field("right"), name)));
      } else if (other) {
        only = false;
      }
      some = some || counts || given || defaults;
      return true;
    });
    return only && some;
  }

  bool is_plain_number(Node value) const {
    if (value.is("integer") || value.is("float") || value.is("true") || value.is("false") || value.is("string")) return true;
    const std::string_view callee = value.is("call") ? value.field("function").text() : std::string_view();
    return is_time(value) || callee == "len" || (!waits_ && callee.ends_with(".item"));
  }

  // `start = time.time()`, `took = time.perf_counter() - start`.
  bool is_time(Node value) const {
    if (value.is("binary_operator")) return is_time(value.field("left")) && value.field("right").is("identifier");
    const std::string_view callee = value.is("call") ? value.field("function").text() : std::string_view();
    return (callee == "time.time" || callee == "time.perf_counter" || callee == "time.monotonic") &&
           value.field("arguments").children().empty();
  }

  const source::Code& code_;
  const bool waits_, evaluates_;
  std::map<Span, std::string> quiet_;
  std::map<std::string, bool> numbers_;  // names, and whether each is one
  std::optional<std::set<std::string, std::less<>>> kept_up_;
};

}  // namespace

Sources without_quiet_statements(const Sources& text, const Sources& beside, bool waits) {
  Sources all = text;
  const bool evaluates = std::ranges::any_of(text.files, [&](const auto& file) {
    return !text.packages.contains(file.first) && file.second->text().find(".eval(") != std::string::npos;
  });
  for (auto& [path, code] : all.files) {
    const auto other = beside.files.find(path);
    const bool differs = other != beside.files.end() && other->second != code && !text.packages.contains(path);
    if (!differs) continue;
    if (auto without = QuietStatements(*code, waits, evaluates).without()) code = std::move(without);
  }
  return all;
}

}  // namespace hotlens::layers
