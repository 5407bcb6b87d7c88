// `h = a[t] * h + x[t]` in a loop over time → the same states in chunks: the steps within all chunks at once, then from chunk to chunk.
//
// About 6 √T operators in place of 2 T: states are equal but for rounding. States so large that a step at a time is as fast stay a loop (on
// a CPU from 1,024 numbers on, as measured there). The method is BPPSA's for a diagonal Jacobian (Wang et al., BPPSA: Scaling
// Back-propagation by Parallel Scan Algorithm, MLSys 2020) with two levels instead of a tree.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "annotator/advice/edits/changes.h"
#include "annotator/advice/edits/time_loops.h"

namespace hotlens::advice {
namespace {

constexpr std::string_view kName = "scan_steps";
constexpr auto kHelper = std::to_array<std::string_view>({
    "def NAME(gate, step, state, one_gate=False):",
    "    \"\"\"All states of `state = gate[t] * state + step[t]`, time first: within all chunks at once, then from chunk to chunk.\"\"\"",
    "    gate, state = (each if torch.is_tensor(each) else step.new_tensor(each) for each in (gate, state))",
    "    gate, count = gate.unsqueeze(0) if one_gate else gate, len(step)",
    "    shape = torch.broadcast_shapes(gate.shape[1:], step.shape[1:], state.shape)",
    "    gates, steps = (",
    "        each.reshape(len(each), *[1] * (len(shape) + 1 - each.dim()), *each.shape[1:]).expand(count, *shape)",
    "        for each in (gate, step)",
    "    )",
    "    if shape.numel() > (1 << 10 if step.device.type == \"cpu\" else 1 << 15):  # one after the other is as fast",
    "        states = []",
    "        for gate, step in zip(gates.unbind(), steps.unbind()):",
    "            state = gate * state + step",
    "            states.append(state)",
    "        return torch.stack(states)",
    "    size = max(1, int(count**0.5))",
    "    rest = [0, 0] * len(shape) + [0, -count % size]",
    "    gates, steps = (torch.nn.functional.pad(each, rest).unflatten(0, (-1, size)).unbind(1) for each in (gates, steps))",
    "    states, factors = [steps[0]], [gates[0]]",
    "    for gate, step in zip(gates[1:], steps[1:]):",
    "        states.append(gate * states[-1] + step)",
    "        factors.append(gate * factors[-1])",
    "    states, factors = torch.stack(states, 1), torch.stack(factors, 1)",
    "    before, state = [], state.expand(shape)",
    "    for factor, last in zip(factors[:, -1].unbind(), states[:, -1].unbind()):",
    "        before.append(state)",
    "        state = factor * state + last",
    "    return (states + factors * torch.stack(before).unsqueeze(1)).flatten(0, 1)[:count]",
});

// `h = a[t] * h + x[t]; out.append(h)` with whole sequences for its steps.
struct Recurrence {
  std::string gate, step, state;
  bool one_gate = false;  // the same for all steps
  std::string list;       // empty: only the last state is kept
};

using Text = std::optional<std::string>;

std::vector<TSNode> parts(TSNode node) {
  std::vector<TSNode> found;
  each_child(node, [&](TSNode child) {
    if (type(child) != "comment") found.push_back(child);
  });
  return found;
}

// `x` of `x.unbind(1)` with its time first.
Text of_unbind(const PythonText& text, TSNode call) {
  if (type(call) != "call" || type(field(call, "function")) != "attribute") return std::nullopt;
  const TSNode function = field(call, "function");
  if (text.at(field(function, "attribute")) != "unbind") return std::nullopt;
  const std::vector<TSNode> given = parts(field(call, "arguments"));
  const std::string whole(text.at(field(function, "object")));
  if (given.empty() || (given.size() == 1 && text.at(given[0]) == "0")) return whole;
  const bool plain = given.size() == 1 && (type(given[0]) == "integer" || type(given[0]) == "unary_operator");
  return plain ? Text(fmt::format("{}.movedim({}, 0)", whole, text.at(given[0]))) : std::nullopt;
}

bool is_unbound(const PythonText& text, const Loop& loop, std::string_view name) {
  bool found = false;
  each_node(around(loop.node, "function_definition"), [&](TSNode node) {
    found = found || (type(node) == "assignment" && text.at(field(node, "left")) == name && of_unbind(text, field(node, "right")));
  });
  return found;
}

// What a loop goes over: its steps by name, or the name that counts them.
class Steps {
 public:
  Steps(const PythonText& text, TSNode loop) : text_(text), loop_{loop, field(loop, "body"), {}} {
    const TSNode left = field(loop, "left"), right = field(loop, "right");
    if (type(right) != "call") return;
    const std::vector<TSNode> given = parts(field(right, "arguments"));
    const std::string_view function = text.at(field(right, "function"));
    if (type(left) == "identifier" && function == "range" && given.size() == 1) {
      loop_.variable = text.at(left);
      length_ = text.at(given[0]);
    } else if (type(left) == "identifier") {
      add(left, right);
    } else if (type(left) == "pattern_list" && function == "zip" && parts(left).size() == given.size()) {
      for (std::size_t at = 0; at < given.size(); ++at) add(parts(left)[at], given[at]);
    }
  }

  bool any() const { return !length_.empty() || (!named_.empty() && !broken_); }
  std::string_view variable() const { return loop_.variable; }
  bool is_step_name(std::string_view name) const { return named_.contains(name); }

  // The whole sequence of a step, time first; nullopt: it is none, or not certainly of a tensor.
  Text whole(TSNode node) const {
    if (type(node) == "identifier") {
      const auto found = named_.find(text_.at(node));
      return found == named_.end() ? std::nullopt : Text(found->second);
    }
    const auto step = length_.empty() ? std::nullopt : step_of(text_, node, loop_.variable);
    if (!step) return std::nullopt;
    if (step->dim == 0 && is_unbound(text_, loop_, step->name)) return fmt::format("torch.stack({}[:{}])", step->name, length_);
    if (known_of(text_, loop_, step->name) != Known::tensor) return std::nullopt;
    return step->dim == 0 ? fmt::format("{}[:{}]", step->name, length_)
                          : fmt::format("{}.movedim({}, 0)[:{}]", step->name, step->dim, length_);
  }

 private:
  void add(TSNode name, TSNode sequence) {
    const Text whole = of_unbind(text_, sequence);
    if (type(name) != "identifier" || !whole) broken_ = true;
    if (whole) named_.emplace(text_.at(name), *whole);
  }

  const PythonText& text_;
  Loop loop_;
  std::string_view length_;
  std::map<std::string_view, std::string, std::less<>> named_;
  bool broken_ = false;
};

// An arithmetic expression of one step, as that of all steps: what stands for each element by itself, so that it can be computed at once.
// `torch.vmap` makes it of one step's, so that each step's parts are broadcast as in the loop.
class Whole {
 public:
  Whole(const PythonText& text, const Steps& steps, std::string_view state) : text_(text), steps_(steps), state_(state) {}

  // Of one step; nullopt: it is none.
  Text of(TSNode node) {
    const std::string_view kind = type(node);
    if (auto sequence = steps_.whole(node)) return of_step(node, std::move(*sequence));
    if (kind == "integer" || kind == "float") return std::string(text_.at(node));
    if (kind == "identifier") return is_constant(text_.at(node)) ? Text(std::string(text_.at(node))) : std::nullopt;
    if (kind == "attribute") return of_attribute(node);
    if (kind == "parenthesized_expression") return around(parts(node).at(0));
    if (kind == "unary_operator") return of_unary(node);
    if (kind == "binary_operator") return of_binary(node);
    return kind == "call" ? of_call(node) : std::nullopt;
  }

  bool has_step() const { return !sequences_.empty(); }

  // Of all steps, of an expression of one that was made here.
  std::string all(const std::string& one) const {
    if (sequences_.empty()) return one;
    if (sequences_.size() == 1 && sequences_.begin()->first == one) return sequences_.begin()->second;
    std::string names, whole;
    for (const auto& [name, sequence] : sequences_) {
      names += (names.empty() ? "" : ", ") + name;
      whole += (whole.empty() ? "" : ", ") + sequence;
    }
    return fmt::format("torch.vmap(lambda {}: {})({})", names, one, whole);
  }

 private:
  bool is_constant(std::string_view name) const { return name != state_ && name != steps_.variable() && !steps_.is_step_name(name); }

  Text of_step(TSNode node, std::string sequence) {
    const bool named = type(node) == "identifier";
    const std::string name = named ? std::string(text_.at(node)) : fresh_name(text_, std::string(text_.at(field(node, "value"))) + "_t");
    const auto [known, fresh] = sequences_.try_emplace(name, sequence);
    return known->second == sequence ? Text(name) : std::nullopt;
  }

  Text around(TSNode node) {
    Text inner = of(node);
    return inner ? Text("(" + *inner + ")") : std::nullopt;
  }

  // `self.decay`
  Text of_attribute(TSNode node) const {
    TSNode first = node;
    while (type(first) == "attribute") first = field(first, "object");
    return type(first) == "identifier" && is_constant(text_.at(first)) ? Text(std::string(text_.at(node))) : std::nullopt;
  }

  Text of_unary(TSNode node) {
    Text inner = text_.at(field(node, "operator")) == "-" ? of(field(node, "argument")) : std::nullopt;
    return inner ? Text("-" + *inner) : std::nullopt;
  }

  Text of_binary(TSNode node) {
    const std::string_view by = text_.at(field(node, "operator"));
    if (by != "+" && by != "-" && by != "*" && by != "/") return std::nullopt;
    const Text left = of(field(node, "left")), right = of(field(node, "right"));
    return left && right ? Text(fmt::format("{} {} {}", *left, by, *right)) : std::nullopt;
  }

  // `torch.sigmoid(a[:, t])`
  Text of_call(TSNode node) {
    constexpr auto kOfEach = std::to_array<std::string_view>({"torch.exp", "torch.log", "torch.relu", "torch.sigmoid", "torch.tanh"});
    const std::string_view function = text_.at(field(node, "function"));
    const std::vector<TSNode> given = parts(field(node, "arguments"));
    if (given.size() != 1 || std::ranges::find(kOfEach, text_.resolved(std::string(function))) == kOfEach.end()) return std::nullopt;
    const Text inner = of(given[0]);
    return inner ? Text(fmt::format("{}({})", function, *inner)) : std::nullopt;
  }

  const PythonText& text_;
  const Steps& steps_;
  std::string_view state_;
  std::map<std::string, std::string> sequences_;  // by the name of one step's
};

struct Term {
  TSNode node;
  bool minus = false;
};

void add_terms(const PythonText& text, TSNode node, bool minus, std::vector<Term>& terms) {
  if (type(node) == "parenthesized_expression") return add_terms(text, parts(node).at(0), minus, terms);
  const std::string_view by = type(node) == "binary_operator" ? text.at(field(node, "operator")) : "";
  if (by != "+" && by != "-") return terms.push_back({node, minus});
  add_terms(text, field(node, "left"), minus, terms);
  add_terms(text, field(node, "right"), minus != (by == "-"), terms);
}

void add_factors(const PythonText& text, TSNode node, std::vector<TSNode>& factors) {
  const bool product = type(node) == "binary_operator" && text.at(field(node, "operator")) == "*";
  if (!product) return factors.push_back(node);
  add_factors(text, field(node, "left"), factors);
  add_factors(text, field(node, "right"), factors);
}

bool names(const PythonText& text, TSNode node, std::string_view name) {
  bool found = false;
  each_node(node, [&](TSNode each) { found = found || (type(each) == "identifier" && text.at(each) == name); });
  return found;
}

// What the state is multiplied with in its term; nullopt: it is more than multiplied.
Text gate_of(const PythonText& text, const Term& term, std::string_view state, Whole& whole) {
  std::vector<TSNode> factors;
  add_factors(text, term.node, factors);
  std::string gate;
  std::size_t states = 0;
  for (const TSNode factor : factors) {
    if (type(factor) == "identifier" && text.at(factor) == state) {
      ++states;
      continue;
    }
    const Text one = whole.of(factor);
    if (!one) return std::nullopt;
    gate += (gate.empty() ? "" : " * ") + *one;
  }
  if (states != 1) return std::nullopt;
  if (gate.empty()) gate = "1";
  return term.minus ? "-(" + gate + ")" : gate;
}

std::optional<Recurrence> recurrence(const PythonText& text, const Steps& steps, TSNode assignment) {
  const TSNode left = field(assignment, "left"), right = field(assignment, "right");
  if (type(assignment) != "assignment" || type(left) != "identifier" || ts_node_is_null(right)) return std::nullopt;
  Recurrence found{.gate = {}, .step = {}, .state = std::string(text.at(left)), .list = {}};
  std::vector<Term> terms;
  add_terms(text, right, false, terms);
  Whole of_gate(text, steps, found.state), of_step(text, steps, found.state);
  for (const Term& term : terms) {
    if (names(text, term.node, found.state)) {
      const Text gate = found.gate.empty() ? gate_of(text, term, found.state, of_gate) : std::nullopt;
      if (!gate) return std::nullopt;
      found.gate = *gate;
      continue;
    }
    const Text one = of_step.of(term.node);
    if (!one) return std::nullopt;
    found.step += found.step.empty() ? (term.minus ? "-" : "") + *one : (term.minus ? " - " : " + ") + *one;
  }
  if (found.gate.empty() || !of_step.has_step()) return std::nullopt;
  found.one_gate = !of_gate.has_step();
  found.gate = of_gate.all(found.gate);
  found.step = of_step.all(found.step);
  return found;
}

// The list of `out.append(h)`.
Text appended_to(const PythonText& text, TSNode statement, std::string_view state) {
  const TSNode call = parts(statement).empty() ? statement : parts(statement)[0];
  if (type(call) != "call" || type(field(call, "function")) != "attribute") return std::nullopt;
  const TSNode function = field(call, "function");
  const std::vector<TSNode> given = parts(field(call, "arguments"));
  const bool appends = text.at(field(function, "attribute")) == "append" && given.size() == 1 && text.at(given[0]) == state;
  return appends && type(field(function, "object")) == "identifier" ? Text(std::string(text.at(field(function, "object")))) : std::nullopt;
}

std::optional<Recurrence> read(const PythonText& text, TSNode loop) {
  const Steps steps(text, loop);
  const std::vector<TSNode> body = parts(field(loop, "body"));
  if (!steps.any() || !ts_node_is_null(field(loop, "alternative")) || body.empty() || body.size() > 2) return std::nullopt;
  if (type(body[0]) != "expression_statement" || parts(body[0]).empty()) return std::nullopt;
  auto found = recurrence(text, steps, parts(body[0])[0]);
  if (!found || body.size() == 1) return found;
  const Text list = appended_to(text, body[1], found->state);
  if (!list || *list == found->state) return std::nullopt;
  found->list = *list;
  return found;
}

// Whether the function reads the loop's own names behind it.
bool is_read_later(const PythonText& text, TSNode loop, TSNode function) {
  bool found = false;
  each_node(field(loop, "left"), [&](TSNode name) {
    if (type(name) != "identifier") return;
    each_node(function, [&](TSNode node) {
      if (type(node) != "identifier" || span(node).begin < span(loop).end || text.at(node) != text.at(name)) return;
      const TSNode other = around(node, "for_statement");
      found = found || ts_node_is_null(other) || span(other).begin < span(loop).end || !names(text, field(other, "left"), text.at(name));
    });
  });
  return found;
}

TSNode outermost(TSNode node) {
  for (TSNode parent = ts_node_parent(node); !ts_node_is_null(ts_node_parent(parent)); parent = ts_node_parent(node)) node = parent;
  return node;
}

std::string helper(std::string_view name, std::string_view end) {
  std::string all;
  for (const std::string_view line : kHelper) all.append(line).append(end);
  all.replace(all.find("NAME"), 4, name);
  return all.append(end).append(end);
}

}  // namespace

Made scan_time(const Script& script) {
  ByPlace edits;
  for (std::size_t file = 0; file < script.texts().size(); ++file) {
    const PythonText& text = script.texts()[file];
    const std::string name = fresh_name(text, std::string(kName)), states = fresh_name(text, "all_states");
    const std::string_view end = line_end(text.text());
    each_node(text.root(), [&](TSNode node) {
      const TSNode function = around(node, "function_definition");
      const auto found = type(node) == "for_statement" && !ts_node_is_null(function) ? read(text, node) : std::nullopt;
      if (!found || is_read_later(text, node, function)) return;
      const std::string indentation = script.indentation(file, span(node).begin);
      if (indentation.find_first_not_of(" \t") != std::string::npos) return;
      std::string made = fmt::format("{} = {}({}, {}, {}{}){}{}", states, name, found->gate, found->step, found->state,
                                     found->one_gate ? ", one_gate=True" : "", end, indentation);
      if (!found->list.empty()) made += fmt::format("{}.extend({}){}{}", found->list, states, end, indentation);
      made += fmt::format("{} = {}[-1]", found->state, states);
      edits[file].emplace(span(node).begin, Replacement{span(node), std::move(made)});
      const std::uint32_t top = span(outermost(node)).begin;
      edits[file].emplace(top, Replacement{{top, top}, helper(name, end)});
    });
  }
  if (edits.empty()) return no("no loop over time computes its state as a product and a sum of the last one, element by element");
  // A file has one helper, above the first of its loops.
  for (auto& [file, by_place] : edits) {
    bool first = true;
    std::erase_if(by_place,
                  [&](const auto& edit) { return edit.second.span.begin == edit.second.span.end && !std::exchange(first, false); });
  }
  return listed(std::move(edits), {"torch"});
}

}  // namespace hotlens::advice
