#include "annotator/lab/arguments/function_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "annotator/lab/layers/python/spans.h"
#include "annotator/lab/layers/python/wording.h"
#include "annotator/lab/structure/releases.h"
#include "annotator/lab/whatif/edits.h"

namespace hotlens::layers {
namespace {

// `counts`: a number that changes neither time nor memory. `real`: one of which only whether it is 0 does. `reduction`: "mean" or "sum".
// `activation`: which operator the layer calls.
enum class Takes : std::uint8_t { real, truth, reduction, counts, activation };

struct Known {
  std::string_view function, layer, op, keyword, standard;
  std::size_t place;
  Takes kind;
};

// As torch.nn.functional documents them, and the operators' schemas.
constexpr std::array<Known, 10> kKnown{{
    {"cross_entropy", "CrossEntropyLoss", "aten::cross_entropy_loss", "label_smoothing", "0.0", 5, Takes::real},
    {"cross_entropy", "CrossEntropyLoss", "aten::cross_entropy_loss", "reduction", "'mean'", 3, Takes::reduction},
    {"cross_entropy", "CrossEntropyLoss", "aten::cross_entropy_loss", "ignore_index", "-100", 4, Takes::counts},
    {"mse_loss", "MSELoss", "aten::mse_loss", "reduction", "'mean'", 2, Takes::reduction},
    {"l1_loss", "L1Loss", "aten::l1_loss", "reduction", "'mean'", 2, Takes::reduction},
    {"binary_cross_entropy_with_logits", "BCEWithLogitsLoss", "aten::binary_cross_entropy_with_logits", "reduction", "'mean'", 4,
     Takes::reduction},
    {"scaled_dot_product_attention", "", "aten::scaled_dot_product_attention", "dropout_p", "0.0", 4, Takes::real},
    {"scaled_dot_product_attention", "", "aten::scaled_dot_product_attention", "is_causal", "False", 5, Takes::truth},
    {"", "TransformerEncoderLayer", "", "activation", "F.relu", 4, Takes::activation},
    {"", "TransformerDecoderLayer", "", "activation", "F.relu", 4, Takes::activation},
}};

constexpr std::array<std::string_view, 2> kActivations{"aten::relu", "aten::gelu"};

// Of `F.gelu`, `"gelu"`; empty: another one.
std::string activation_named(std::string_view text) {
  if (text.size() > 2 && (text.front() == '"' || text.front() == '\'')) text = text.substr(1, text.size() - 2);
  if (const std::size_t dot = text.rfind('.'); dot != std::string_view::npos) text = text.substr(dot + 1);
  const std::string name = "aten::" + std::string(text);
  return is_among(kActivations, name) ? name : std::string();
}

// The function or layer of torch.nn that is called; empty: another one.
std::string_view name_of(Node call) {
  const Node callee = call.field("function");
  const std::string_view text = callee.text();
  std::string_view name = callee.is("attribute") ? callee.field("attribute").text() : text;
  const auto imported = [&] {
    const source::Binding* binding = only_binding(*callee.code, text);
    return binding != nullptr && binding->module.starts_with("torch.nn");
  };
  const bool of_torch =
      callee.is("attribute") ? text.starts_with("F.") || text.starts_with("nn.") || text.starts_with("torch.nn.") : imported();
  const auto known = std::ranges::find_if(kKnown, [&](const Known& one) { return one.function == name || one.layer == name; });
  return of_torch && known != kKnown.end() ? name : std::string_view();
}

Node given(Node call, std::string_view keyword) {
  for (const Node& one : call.field("arguments").children()) {
    if (one.is("keyword_argument") && one.field("name").text() == keyword) return one.field("value");
  }
  return {};
}

bool spreads(Node call) {
  const auto all = call.field("arguments").children();
  return std::ranges::any_of(all, [](const Node& one) { return one.is("list_splat") || one.is("dictionary_splat"); });
}

std::string shown(Node value, const Known& known) {
  return std::string(value ? value.text() : known.standard);
}

// `0.1 if self.training else 0.0`, in a step.
Node in_training(Node value) {
  const auto parts = value.children();
  return value.is("conditional_expression") && parts.size() == 3 && parts[1].text() == "self.training" ? parts[0] : value;
}

// What the operator takes; nullopt: not known.
std::optional<lab::Value> value_of(Node value, const Known& known) {
  const std::string text = shown(value ? in_training(value) : value, known);
  if (known.kind == Takes::truth) return text == "True" || text == "False" ? std::optional(lab::Value{text == "True"}) : std::nullopt;
  if (known.kind == Takes::reduction) {
    const std::string_view name = std::string_view(text).substr(text.empty() ? 0 : 1, text.size() < 2 ? 0 : text.size() - 2);
    if (name != "mean" && name != "sum") return std::nullopt;
    return lab::Value{lab::Whole{name == "mean" ? 1 : 2}};
  }
  if (known.kind == Takes::activation) {
    std::string name = activation_named(text);
    return name.empty() ? std::nullopt : std::optional(lab::Value{std::move(name)});
  }
  const auto number = value ? number_of(in_training(value)) : std::optional(0.0);
  return number ? std::optional(lab::Value{*number}) : std::nullopt;
}

void add_calls(const source::Code& code, std::vector<Node>& to) {
  source::walk(code.root(), [&](Node node) {
    if (node.is("call") && !name_of(node).empty()) to.push_back(node);
    return true;
  });
}

// Of the files that were edited.
std::vector<Node> calls(const Sources& sources, const Sources& other) {
  std::vector<Node> all;
  for (const source::Code* code : edited_files(sources, other)) add_calls(*code, all);
  return all;
}

// Whether every call of the function in any file, packages' too, says the same.
bool is_said_everywhere(const ArgumentEdit& edit, const Known& known, const Sources& sources) {
  return std::ranges::all_of(sources.files, [&](const auto& file) {
    const std::string& text = file.second->text();
    const auto has = [&](std::string_view name) { return !name.empty() && text.find(name) != std::string::npos; };
    const bool names = has(known.function) || has(known.layer);
    std::vector<Node> all;
    if (names) add_calls(*file.second, all);
    return std::ranges::all_of(all, [&](Node call) {
      const bool own = known.function == name_of(call) || known.layer == name_of(call);
      return !own || value_of(given(call, known.keyword), known) == edit.value;
    });
  });
}

bool is_on(const lab::Value& rate) {
  return rate != lab::Value{0.0};
}

// The arguments that stay, on as many lines.
void take_out(Node call, const std::vector<std::string_view>& keywords, Pieces& to) {
  const Node list = call.field("arguments");
  std::string text;
  for (const Node& one : list.children()) {
    const bool goes = one.is("keyword_argument") && std::ranges::find(keywords, one.field("name").text()) != keywords.end();
    if (!goes) text += (text.empty() ? "" : ", ") + std::string(one.text());
  }
  text = "(" + text + line_ends(list.text()).substr(line_ends(text).size()) + ")";
  to[list.code][span_of(list)] = std::move(text);
}

// A call within the arguments of another one.
bool is_nested(const Pieces& taken) {
  return std::ranges::any_of(taken, [](const auto& of_code) {
    std::uint32_t end = 0;
    return std::ranges::any_of(of_code.second, [&](const auto& one) { return one.first.first < std::exchange(end, one.first.second); });
  });
}

}  // namespace

TakenOut<ArgumentEdit> without_arguments(const Sources& executed, const Sources& edited) {
  const std::vector<Node> was = calls(executed, edited), is = calls(edited, executed);
  const auto same_name = [](Node one, Node other) { return name_of(one) == name_of(other); };
  if (!std::ranges::equal(was, is, same_name)) return std::nullopt;
  Plain<ArgumentEdit> plain{.executed = executed, .edited = edited, .edits = {}};
  Pieces then, now;
  for (std::size_t at = 0; at < is.size(); ++at) {
    std::vector<std::string_view> keywords;
    for (const Known& known : kKnown) {
      if ((known.function != name_of(is[at]) && known.layer != name_of(is[at])) || spreads(was[at]) || spreads(is[at])) continue;
      const Node old = given(was[at], known.keyword), value = given(is[at], known.keyword);
      if (shown(old, known) == shown(value, known)) continue;
      const auto before = value_of(old, known), after = value_of(value, known);
      if (!after && known.kind != Takes::counts) return std::nullopt;
      keywords.push_back(known.keyword);
      if (known.kind == Takes::counts || before == after || (known.kind == Takes::real && before && is_on(*before) && is_on(*after)))
        continue;
      plain.edits.push_back({.op = known.op,
                             .layer = known.layer,
                             .keyword = known.keyword,
                             .place = known.place,
                             .value = *after,
                             .what = fmt::format("{}({}={} → {})", name_of(is[at]), known.keyword, shown(old, known), shown(value, known)),
                             .at = line_of(is[at])});
    }
    if (keywords.empty()) continue;
    take_out(was[at], keywords, then);
    take_out(is[at], keywords, now);
  }
  if (now.empty() || is_nested(then) || is_nested(now)) return std::nullopt;
  for (const ArgumentEdit& edit : plain.edits) {
    for (const Known& known : kKnown) {
      const bool wanted = known.op == edit.op && known.keyword == edit.keyword && (!edit.op.empty() || known.layer == edit.layer);
      if (wanted && !is_said_everywhere(edit, known, edited))
        return std::unexpected(Unclear{.reason = "which of several calls this is in the recorded step is not followed", .at = edit.at});
    }
  }
  replace_in(plain.executed.files, then);
  replace_in(plain.edited.files, now);
  return plain;
}

std::optional<Unclear> change_argument(Rewritten& rewritten, const ArgumentEdit& edit) {
  lab::Program& program = rewritten.program;
  lab::release_after_last_use(program);  // what autograd keeps may depend on it
  bool found = false;
  for (lab::Operator& op : program.operators) {
    if (edit.op.empty() && op.module != lab::kNoModule && program.classes.at(op.module) == edit.layer && is_among(kActivations, op.name)) {
      op.name = std::get<std::string>(edit.value.is);
      found = true;
    }
    if (edit.op.empty() || op.name != edit.op) continue;
    found = true;
    const bool of_torch = op.module != lab::kNoModule && op.line < 0 && program.classes.at(op.module) != edit.layer;
    if (of_torch)
      return Unclear{.reason = "a layer of torch calls it, too", .module = program.modules.at(op.module), .at = edit.at, .op = op.name};
    if (lab::Value* value = lab::argument(op, edit.place, edit.keyword)) {
      *value = edit.value;
    } else {
      op.kwargs.emplace_back(edit.keyword, edit.value);
    }
  }
  if (found) return std::nullopt;
  return Unclear{.reason = "the recorded step has no operator of this call", .at = edit.at, .op = std::string(edit.op)};
}

}  // namespace hotlens::layers
