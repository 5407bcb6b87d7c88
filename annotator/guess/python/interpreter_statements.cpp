// Statements: branches are both followed, loops once; names get values, objects get attributes, lists and containers get entries.
#include <algorithm>
#include <unordered_map>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;
using Names = std::unordered_map<std::string, ValueId>;

// The blocks of an `if`, `try` or `match`, with the conditions of an `if`.
void collect_ways(Node holder, std::vector<Way>& ways) {
  for (const Node& part : holder.children()) {
    if (part.is("block") && !holder.is("match_statement")) {
      ways.push_back({part, holder.field("condition")});
    } else if (part.is("block") || part.kind().ends_with("_clause")) {
      collect_ways(part, ways);
    }
  }
}

// What a name may be behind several ways: what it is on each.
Names merged(const std::vector<Names>& ways, Evaluator& evaluator) {
  Names all = ways.front();
  for (const Names& way : ways) {
    for (const auto& [name, value] : way) {
      const auto [known, fresh] = all.try_emplace(name, value);
      if (!fresh && known->second != value) known->second = evaluator.any({known->second, value});
    }
  }
  return all;
}

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
  const Temporarily deeper(e_.nesting_, e_.nesting_ + 1);
  for (const Node& one : block.children()) {
    if (stopped_ || !e_.spend()) break;
    statement(one);
  }
}

void Interpreter::statement(Node node) {
  using Form = void (Interpreter::*)(Node);
  static const std::unordered_map<std::string_view, Form> kForms{
      {"if_statement", &Interpreter::branches},
      {"try_statement", &Interpreter::branches},
      {"match_statement", &Interpreter::branches},
      {"for_statement", &Interpreter::loop},
      {"while_statement", &Interpreter::loop},
      {"with_statement", &Interpreter::with},
      {"return_statement", &Interpreter::leave_function},
      {"raise_statement", &Interpreter::stop},
      {"continue_statement", &Interpreter::leave_pass},
      {"break_statement", &Interpreter::leave_pass},
      {"function_definition", &Interpreter::define},
      {"class_definition", &Interpreter::define},
      {"decorated_definition", &Interpreter::define},
      {"import_statement", &Interpreter::import_names},
      {"import_from_statement", &Interpreter::import_names},
      {"delete_statement", &Interpreter::remove},
  };
  if (const auto form = kForms.find(node.kind()); form != kForms.end()) {
    (this->*form->second)(node);
  } else {
    evaluate_parts(node);
  }
}

// What follows is not reached.
void Interpreter::stop(Node) {
  at_ = state();
  stopped_ = true;
}

void Interpreter::leave_function(Node node) {
  if (node.child()) returns_.push_back(evaluate(node.child()));
  edge(at_, 1);
  stop(node);
}

void Interpreter::leave_pass(Node node) {
  if (!loops_.empty()) edge(at_, node.is("continue_statement") ? loops_.back().first : loops_.back().second);
  stop(node);
}

void Interpreter::with(Node node) {
  evaluate(node.child());
  run(node.field("body"));
}

void Interpreter::import_names(Node node) {
  for (const auto& [name, binding] : bindings_of(node)) frame_.scope->names[name] = e_.binding(*frame_.code, binding);
}

void Interpreter::define(Node node) {
  const Node definition = node.is("decorated_definition") ? node.field("definition") : node;
  const std::string name(definition.field("name").text());
  if (name.empty()) return;
  const bool type = definition.is("class_definition");
  frame_.scope->names[name] = type ? e_.type_value(e_.class_of(definition))
                                   : e_.add({.kind = Kind::function, .name = name, .node = definition, .scope = frame_.scope});
}

// `if`, `try` and `match`: every block is one way, so is leaving all of them out unless one of them must run.
void Interpreter::branches(Node node) {
  std::vector<Way> ways;
  collect_ways(node, ways);
  evaluate(node.field("subject"));
  for (const Way& way : ways) evaluate(way.condition);
  const bool choice = node.is("if_statement"), attempt = node.is("try_statement");
  const bool exhaustive = choice ? keep_possible(ways) : attempt || !node.children("else_clause").empty();
  if (choice && ways.empty()) return;
  if (choice && exhaustive && ways.size() == 1) return run(ways.front().block);
  follow(ways, exhaustive);
  stopped_ = stopped_ && !attempt;
}

// Leaves the ways that what is known allows, up to the first that certainly runs; whether there is one.
bool Interpreter::keep_possible(std::vector<Way>& ways) {
  const std::vector<Way> all = std::exchange(ways, {});
  for (const Way& way : all) {
    const std::optional<bool> holds = way.condition ? truth(way.condition) : true;
    if (holds == false) continue;
    ways.push_back(way);
    if (holds) return true;
  }
  return false;
}

void Interpreter::follow(const std::vector<Way>& ways, bool exhaustive) {
  const Names before = frame_.scope->names;
  const std::uint32_t from = at_, to = state();
  const Temporarily deeper(e_.branch_depth_, e_.branch_depth_ + 1);
  std::vector<Names> after;
  if (!exhaustive) {
    after.push_back(before);
    edge(from, to);
  }
  for (const Way& way : ways) {
    frame_.scope->names = before;
    at_ = from;
    run(way.block);
    edge(at_, to);
    if (!stopped_) after.push_back(frame_.scope->names);
  }
  at_ = to;
  stopped_ = after.empty();
  frame_.scope->names = after.empty() ? before : merged(after, e_);
}

void Interpreter::loop(Node node) {
  const ValueId over = evaluate(node.field("right"));
  const Names before = frame_.scope->names;
  begin_loop();
  evaluate(node.field("condition"));
  assign(node.field("left"), element_of(over), node);
  run(node.field("body"));
  end_loop();
  stopped_ = false;
  frame_.scope->names = merged({before, frame_.scope->names}, e_);
  for (const Node& block : node.field("alternative").children("block")) run(block);
}

// A loop runs any number of times, as far as the pattern goes.
void Interpreter::begin_loop() {
  const std::uint32_t head = state(), end = state();
  edge(at_, head);
  edge(head, end);
  at_ = head;
  loops_.emplace_back(head, end);
  e_.loops_ = e_.one_more_loop();
}

void Interpreter::end_loop() {
  edge(at_, loops_.back().first);
  at_ = loops_.back().second;
  loops_.pop_back();
  e_.loops_.pop_back();
}

// `whole`: the statement that gives the name.
void Interpreter::assign(Node target, ValueId value, Node whole) {
  if (target.is("identifier")) {
    frame_.scope->names[std::string(target.text())] = value;
  } else if (target.is("attribute")) {
    attach(evaluate(target.field("object")), std::string(target.field("attribute").text()), value, whole);
  } else if (target.is("subscript")) {
    assign_entry(target, value, whole);
  } else if (target.is("pattern_list") || target.is("tuple_pattern") || target.is("list_pattern") || target.is("tuple")) {
    assign_parts(target, value, whole);
  } else if (target.is("list_splat_pattern")) {
    assign(target.child(), kUnknown, whole);
  }
}

// `list[index] = value`, `mapping[key] = value`
void Interpreter::assign_entry(Node target, ValueId value, Node whole) {
  const std::vector<ValueId> holders = e_.alternatives(evaluate(target.field("value")));
  const Node key = target.field("subscript");
  const std::string name = key ? entry_name(evaluate(key), value).value_or("*") : "*";
  for (const ValueId one : holders) {
    const ValueId holder = e_.object(one);
    const Container form = e_.form(e_.at(holder));
    if (form == Container::list || form == Container::sequential) {
      replace_entry(holder, value, whole);
    } else if (form == Container::mapping || e_.at(holder).kind == Kind::instance) {
      fill(holder, value, name, whole);
    }
  }
}

// `a, b = value`
void Interpreter::assign_parts(Node target, ValueId value, Node whole) {
  const std::vector<Node> parts = target.children();
  std::vector<std::vector<ValueId>> values(parts.size());
  for (const ValueId one : e_.alternatives(value)) {
    const std::vector<Slot> row = e_.iterates(e_.what(one)) ? e_.what(one).entries : std::vector<Slot>{};
    const bool fixed = row.size() == parts.size() && std::ranges::all_of(row, [](const Slot& slot) { return slot.loops.empty(); });
    const ValueId any = row.empty() ? kUnknown : e_.add({.kind = Kind::element, .of = e_.object(one)});
    for (std::size_t i = 0; i < parts.size(); ++i) values[i].push_back(fixed ? row[i].value : any);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) assign(parts[i], e_.any(values[i]), whole);
}

// An attribute set again at the same depth replaces the earlier one; under a condition both count, as for each of several objects.
void Interpreter::attach(ValueId object, const std::string& name, ValueId value, Node whole) {
  const std::vector<ValueId> holders = e_.alternatives(object);
  for (const ValueId one : holders) {
    if (e_.what(one).kind == Kind::instance) attach_to(e_.object(one), name, value, whole, holders.size() == 1);
  }
}

void Interpreter::attach_to(ValueId holder, const std::string& name, ValueId value, Node whole, bool alone) {
  if (holder != frame_.self) e_.construct(holder);  // what its constructor attaches comes first
  Value& to = e_.values_[holder];
  const bool sure = alone && name.find('*') == std::string::npos && e_.branch_depth_ <= to.depth.branches;
  if (sure) std::erase_if(to.slots, [&](const Slot& slot) { return slot.name == name; });
  const std::vector<ValueId> values = e_.alternatives(value);
  for (const ValueId one : values) {
    const Value& held = e_.what(one);
    if (held.kind == Kind::constant) continue;
    Slot slot{.name = name, .value = one};
    if (held.kind == Kind::instance || held.kind == Kind::unknown) {
      slot.value = e_.add({.kind = Kind::place,
                           .name = name,
                           .node = statement_of(whole),
                           .of = holder,
                           .inner = e_.object(one),
                           .depth = e_.depth(),
                           .certain = sure && values.size() == 1});
    }
    to.slots.push_back(slot);
    // An attribute of a container is one of its entries. What an unknown call gives may be a number as well
    // (`self.width = config.width_of(…)`).
    if (e_.container(to.type) == Container::none || held.kind != Kind::instance) continue;
    slot.loops = e_.loops_since(to.depth);
    slot.optional = !sure || held.type == kNoClass;
    to.entries.push_back(std::move(slot));
  }
}

ValueId Interpreter::augmented(Node node) {
  const Node left = node.field("left"), right = node.field("right");
  const ValueId to = evaluate(left), what = evaluate(right);
  const Kind kind = e_.at(to).kind;
  if (left.is("identifier") && (kind == Kind::constant || kind == Kind::text)) {
    frame_.scope->names[std::string(left.text())] = e_.add({.kind = kind, .name = kind == Kind::text ? "*" : ""});
  }
  for (const ValueId one : e_.alternatives(to)) {
    if (e_.iterates(e_.what(one))) fill_all(e_.object(one), what, right);
  }
  return kUnknown;
}

}  // namespace hotlens::guess
