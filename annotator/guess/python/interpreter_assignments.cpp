// Assignments: names get values, objects get attributes, lists and containers get entries.
#include <algorithm>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr std::size_t kMostHolders = 4;  // objects that one statement may give an attribute to

}  // namespace

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
    const Kind kind = e_.at(holder).kind;
    if (e_.is_list(e_.at(holder))) {
      replace_entry(holder, value, whole);
    } else if (kind == Kind::mapping || kind == Kind::instance) {
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

// An attribute set again at the same depth replaces the earlier one; under a condition both count, as for each of several objects of
// one class.
void Interpreter::attach(ValueId object, const std::string& name, ValueId value, Node whole) {
  const std::vector<ValueId> holders = e_.alternatives(object);
  const ClassId type = e_.what(holders.front()).type;
  const auto alike = [&](ValueId one) { return e_.what(one).kind == Kind::instance && e_.what(one).type == type; };
  if (holders.size() > kMostHolders || (holders.size() > 1 && type == kNoClass) || !std::ranges::all_of(holders, alike)) return;
  for (const ValueId one : holders) attach_to(e_.object(one), name, value, whole, holders.size() == 1);
}

void Interpreter::attach_to(ValueId holder, const std::string& name, ValueId value, Node whole, bool alone) {
  if (holder != frame_.self) e_.construct(holder);  // what its constructor attaches comes first
  Value& to = e_.values_[holder];
  const bool named = name.find('*') == std::string::npos, sure = alone && named && e_.branch_depth_ <= to.depth.branches;
  const std::vector<ValueId> values = e_.alternatives(value);
  std::vector<Slot> fresh;
  std::vector<ValueId> given;
  for (const ValueId one : values) {
    const Kind kind = e_.what(one).kind;
    if (kind == Kind::constant) continue;
    const bool placed = kind == Kind::instance || kind == Kind::unknown;
    given.push_back(!placed ? one
                            : e_.add({.kind = Kind::place,
                                      .name = name,
                                      .of = holder,
                                      .inner = e_.object(one),
                                      .spot = spot(statement_of(whole)),
                                      .depth = e_.depth(),
                                      .certain = sure && values.size() == 1}));
    fresh.push_back({.name = name, .value = given.back()});
  }
  if (sure) std::erase_if(to.slots, [&](const Slot& slot) { return slot.name == name; });
  to.slots.insert(to.slots.end(), fresh.begin(), fresh.end());
  if (!sure && named) e_.assigned_.push_back({holder, name, e_.any(given)});
  if (e_.container(to.type) != Container::none) add_as_entries(to, std::move(fresh), sure);
}

// An attribute of a container is one of its entries.
void Interpreter::add_as_entries(Value& container, std::vector<Slot> attributes, bool sure) {
  for (Slot& slot : attributes) {
    if (e_.at(slot.value).kind != Kind::place || e_.what(slot.value).kind != Kind::instance) continue;
    slot.loops = e_.loops_since(container.depth);
    // What an unknown call gives may be a number as well (`self.width = config.width_of(…)`).
    slot.optional = !sure || e_.what(slot.value).type == kNoClass;
    container.entries.push_back(std::move(slot));
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
