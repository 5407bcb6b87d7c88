// Statements: assignments bind names and attach modules, branches are both followed, loops once.
#include <algorithm>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr std::size_t kMostHolders = 4;  // objects that one statement may give an attribute to

// What a name may be behind a branch: what it was on each way that reaches the end.
using Names = std::unordered_map<std::string, ValueId>;

}  // namespace

std::uint32_t Interpreter::state() {
  return pattern_ != nullptr ? pattern_->states++ : 0;
}

void Interpreter::edge(std::uint32_t from, std::uint32_t to, std::int32_t call) {
  if (pattern_ != nullptr) pattern_->edges.push_back({from, to, call});
}

void Interpreter::run(Node block) {
  stopped_ = false;
  if (e_.nesting_ >= Evaluator::kNesting) return;
  ++e_.nesting_;
  for (const Node& one : block.children()) {
    if (stopped_ || !e_.spend()) break;
    statement(one);
  }
  --e_.nesting_;
}

ValueId Interpreter::returned() {
  return yields_ != kUnknown ? yields_ : e_.any(returns_);
}

void Interpreter::statement(Node node) {
  const std::string_view kind = node.kind();
  if (kind == "expression_statement") {
    for (const Node& one : node.children()) evaluate(one);
  } else if (kind == "if_statement" || kind == "try_statement" || kind == "match_statement") {
    branches(node);
  } else if (kind == "for_statement" || kind == "while_statement") {
    loop(node);
  } else if (kind == "return_statement") {
    const std::vector<Node> values = node.children();
    if (!values.empty()) returns_.push_back(evaluate(values.front()));
    edge(at_, 1);
    dead();
    stopped_ = true;
  } else if (kind == "raise_statement") {
    dead();
    stopped_ = true;
  } else if (kind == "continue_statement" || kind == "break_statement") {
    if (!loops_.empty()) edge(at_, kind == "continue_statement" ? loops_.back().first : loops_.back().second);
    dead();
    stopped_ = true;
  } else if (kind == "with_statement") {
    for (const Node& one : node.children()) {
      if (one.is("with_clause")) {
        for (const Node& item : one.children()) {
          if (const Node value = item.field("value")) evaluate(value);
        }
      } else if (one.is("block")) {
        run(one);
      }
    }
  } else if (kind == "function_definition" || kind == "class_definition" || kind == "decorated_definition") {
    define(node);
  } else if (kind == "import_statement" || kind == "import_from_statement") {
    for (const auto& [name, binding] : bindings_of(node.parent())) {
      const bool here = binding.kind == Binding::Kind::module || binding.kind == Binding::Kind::member;
      if (here && node.text().find(name) != std::string_view::npos) frame_.scope->names[name] = e_.binding(*frame_.code, binding);
    }
  } else if (kind == "delete_statement") {
    for (const Node& one : node.children()) remove(one);
  } else if (kind == "assert_statement") {
    for (const Node& one : node.children()) evaluate(one);
  }
}

// `if`, `try` and `match`: every block is one way, so is leaving all of them out unless one of them must run.
void Interpreter::branches(Node node) {
  const bool attempt = node.is("try_statement");
  struct Way {
    Node block, condition;
  };
  std::vector<Way> ways;
  bool exhaustive = attempt;
  const auto way = [&](Node holder) {
    for (const Node& one : holder.children()) {
      if (one.is("block")) ways.push_back({one, holder.is("elif_clause") ? holder.field("condition") : Node{}});
    }
  };
  if (const Node condition = node.field("condition")) evaluate(condition);
  if (const Node subject = node.field("subject")) evaluate(subject);
  if (const Node first = node.field("consequence")) ways.push_back({first, node.field("condition")});
  for (const Node& part : node.children()) {
    if (part.is("elif_clause")) {
      if (const Node condition = part.field("condition")) evaluate(condition);
      way(part);
    } else if (part.is("else_clause")) {
      exhaustive = true;
      way(part);
    } else if (part.is("except_clause") || part.is("finally_clause") || part.is("case_clause")) {
      way(part);
    } else if (part.is("block") && (attempt || !node.field("consequence"))) {
      if (node.is("match_statement")) {
        for (const Node& one : part.children()) way(one);
      } else {
        ways.push_back({part, {}});
      }
    }
  }
  if (node.is("if_statement")) {
    // What the condition says for certain leaves one way, or fewer.
    std::vector<Way> open;
    for (const Way& one : ways) {
      const std::optional<bool> holds = one.condition ? truth(one.condition) : std::optional<bool>(true);
      if (!holds || *holds) open.push_back({one.block, holds ? Node{} : one.condition});
      exhaustive = exhaustive || holds.value_or(false);
      if (holds.value_or(false)) break;
    }
    ways = std::move(open);
    if (ways.empty()) return;
    if (ways.size() == 1 && exhaustive) return run(ways.front().block);
  }
  const Names before = frame_.scope->names;
  const std::uint32_t from = at_, to = state();
  std::vector<Names> after;
  bool all_stopped = exhaustive && !attempt;
  if (!exhaustive) {
    after.push_back(before);
    edge(from, to);
  }
  ++e_.branch_depth_;
  const std::size_t mark = e_.assigned_.size();
  std::vector<Evaluator::Assigned> given;
  Decisions decisions(*this, node.is("if_statement"));
  for (const Way& one : ways) {
    frame_.scope->names = before;
    at_ = from;
    decisions.enter(one.condition);
    run(one.block);
    decisions.leave(stopped_);
    edge(at_, to);
    all_stopped = all_stopped && stopped_;
    const auto own = e_.assigned_.begin() + static_cast<std::ptrdiff_t>(mark);
    if (!stopped_) after.push_back(frame_.scope->names);
    if (!stopped_) given.insert(given.end(), own, e_.assigned_.end());
    e_.assigned_.erase(own, e_.assigned_.end());
  }
  --e_.branch_depth_;
  decisions.finish(exhaustive);
  e_.assigned_.insert(e_.assigned_.end(), given.begin(), given.end());
  e_.leave_way(mark);
  at_ = to;
  stopped_ = all_stopped;
  if (after.empty()) after.push_back(before);
  Names merged = after.front();
  for (const Names& other : after) {
    for (const auto& [name, value] : other) {
      const auto [known, fresh] = merged.try_emplace(name, value);
      if (!fresh && known->second != value) known->second = e_.any({known->second, value});
    }
  }
  frame_.scope->names = std::move(merged);
}

void Interpreter::loop(Node node) {
  const Node target = node.field("left"), iterable = node.field("right"), body = node.field("body");
  const ValueId over = iterable ? evaluate(iterable) : kUnknown;
  const std::uint32_t head = state(), end = state();
  edge(at_, head);
  edge(head, end);
  at_ = head;
  if (const Node condition = node.field("condition")) evaluate(condition);
  const Names before = frame_.scope->names;
  const std::size_t mark = e_.assigned_.size();
  e_.loops_.push_back({.id = e_.next_loop_++});
  loops_.emplace_back(head, end);
  if (target) assign(target, element_of(over), node);
  count_passes(target, iterable, e_.loops_.back());
  if (body) run(body);
  edge(at_, head);
  loops_.pop_back();
  e_.loops_.pop_back();
  e_.leave_way(mark);
  at_ = end;
  stopped_ = false;
  for (const auto& [name, value] : before) {
    ValueId& now = frame_.scope->names[name];
    if (now != value) now = e_.any({value, now});
  }
  if (const Node otherwise = node.field("alternative")) {
    for (const Node& one : otherwise.children()) {
      if (one.is("block")) run(one);
    }
  }
}

void Interpreter::define(Node node) {
  const Node definition = node.is("decorated_definition") ? node.field("definition") : node;
  if (!definition) return;
  const Node name = definition.field("name");
  if (!name) return;
  if (definition.is("class_definition")) {
    frame_.scope->names[std::string(name.text())] = e_.type_value(e_.class_of(definition));
    return;
  }
  Value function{.kind = Kind::function, .name = std::string(name.text()), .node = definition};
  function.scope = frame_.scope;
  frame_.scope->names[std::string(name.text())] = e_.add(std::move(function));
}

// `whole`: the statement that gives the name.
void Interpreter::assign(Node target, ValueId value, Node whole) {
  if (target.is("identifier")) {
    frame_.scope->names[std::string(target.text())] = value;
  } else if (target.is("attribute")) {
    attach(evaluate(target.field("object")), std::string(target.field("attribute").text()), value, whole);
  } else if (target.is("subscript")) {
    const ValueId holder = evaluate(target.field("value"));
    const Node key = target.field("subscript");
    const std::string name = key ? entry_name(evaluate(key), value).value_or("*") : "*";
    for (const ValueId one : e_.alternatives(holder)) {
      const Kind kind = e_.at(e_.object(one)).kind;
      const Container container = kind == Kind::instance ? e_.container(e_.at(e_.object(one)).type) : Container::none;
      const bool list = kind == Kind::list || container == Container::list || container == Container::sequential;
      if (list) {
        replace_entry(e_.object(one), e_.alternatives(holder).size() == 1 ? key : Node{}, value, whole);
      } else if (kind == Kind::mapping || kind == Kind::instance) {
        fill(e_.object(one), value, name, whole);
      }
    }
  } else if (target.is("pattern_list") || target.is("tuple_pattern") || target.is("list_pattern") || target.is("tuple")) {
    const std::vector<Node> parts = target.children();
    std::vector<std::vector<ValueId>> values(parts.size());
    for (const ValueId one : e_.alternatives(value)) {
      const Value& row = e_.at(e_.object(one));
      const bool rows = row.kind == Kind::list || (row.kind == Kind::instance && e_.container(row.type) != Container::none);
      const bool fixed = rows && row.entries.size() == parts.size() &&
                         std::ranges::none_of(row.entries, [](const Slot& slot) { return !slot.loops.empty(); });
      for (std::size_t i = 0; i < parts.size(); ++i) {
        values[i].push_back(fixed                          ? row.entries[i].value
                            : rows && !row.entries.empty() ? e_.add({.kind = Kind::element, .of = e_.object(one), .ordered = false})
                                                           : kUnknown);
      }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) assign(parts[i], e_.any(values[i]), whole);
  } else if (target.is("list_splat_pattern")) {
    for (const Node& one : target.children()) assign(one, kUnknown, whole);
  }
}

// An attribute set again at the same depth replaces the earlier one; under a condition both count, as for each of several objects of
// one class.
void Interpreter::attach(ValueId object, const std::string& name, ValueId value, Node whole) {
  const std::vector<ValueId> holders = e_.alternatives(object);
  const ClassId type = e_.at(e_.object(holders.front())).type;
  const auto alike = [&](ValueId one) { return e_.at(e_.object(one)).kind == Kind::instance && e_.at(e_.object(one)).type == type; };
  if (holders.size() > kMostHolders || (holders.size() > 1 && type == kNoClass) || !std::ranges::all_of(holders, alike)) return;
  for (const ValueId one : holders) attach_to(e_.object(one), name, value, whole, holders.size() == 1);
}

void Interpreter::attach_to(ValueId holder, const std::string& name, ValueId value, Node whole, bool alone) {
  if (holder != frame_.self) e_.construct(holder);  // what its constructor attaches comes first
  Value& to = e_.values_[holder];
  const bool sure = alone && e_.branch_depth_ <= to.depth.branches && name.find('*') == std::string::npos;
  std::vector<Slot> fresh;
  const bool single = e_.alternatives(value).size() == 1;
  for (const ValueId one : e_.alternatives(value)) {
    const Value& what = e_.at(e_.object(one));
    if (what.kind == Kind::constant) continue;
    Slot slot{.name = name, .value = one};
    if (what.kind == Kind::instance || what.kind == Kind::unknown) {
      slot.value = e_.add({.kind = Kind::place,
                           .name = name,
                           .of = holder,
                           .inner = e_.object(one),
                           .spot = spot(statement_of(whole)),
                           .depth = e_.depth(),
                           .certain = sure && single});
    }
    fresh.push_back(std::move(slot));
  }
  if (sure) std::erase_if(to.slots, [&](const Slot& slot) { return slot.name == name; });
  to.slots.insert(to.slots.end(), fresh.begin(), fresh.end());
  if (!sure && name.find('*') == std::string::npos) {
    std::vector<ValueId> values;
    for (const Slot& slot : fresh) values.push_back(slot.value);
    e_.assigned_.push_back({holder, name, e_.any(values)});
  }
  // An attribute of a container is one of its entries.
  if (e_.container(to.type) == Container::none) return;
  for (Slot& slot : fresh) {
    if (e_.at(slot.value).kind != Kind::place || e_.at(e_.object(slot.value)).kind != Kind::instance) continue;
    slot.loops = e_.loops_since(to.depth);
    // What an unknown call gives may be a number as well (`self.width = config.width_of(…)`).
    slot.optional = !sure || e_.at(e_.object(slot.value)).type == kNoClass;
    to.entries.push_back(std::move(slot));
  }
}

void Interpreter::augmented(Node node) {
  const Node left = node.field("left"), right = node.field("right");
  if (!left || !right) return;
  const ValueId to = evaluate(left), what = evaluate(right);
  const Kind kind = e_.at(to).kind;
  if (left.is("identifier") && (kind == Kind::constant || kind == Kind::text)) {
    frame_.scope->names[std::string(left.text())] = e_.add({.kind = kind, .name = kind == Kind::text ? "*" : ""});
  }
  for (const ValueId one : e_.alternatives(to)) {
    const Value& list = e_.at(e_.object(one));
    if (list.kind == Kind::list || (list.kind == Kind::instance && e_.container(list.type) != Container::none)) {
      fill_all(e_.object(one), what, right);
    }
  }
}

}  // namespace hotlens::guess
