// Lists and containers that are changed otherwise than at their end. Which entry stands where afterwards is not followed: each may stand
// anywhere, or nowhere.
#include <algorithm>
#include <array>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr std::array<std::string_view, 6> kReordering{"insert", "pop", "remove", "reverse", "sort", "clear"};

}  // namespace

// The methods that change a list in place; whether `name` is one.
bool Interpreter::change_list(ValueId list, const std::string& name, const std::vector<Argument>& arguments, Node site) {
  const bool reorders = std::ranges::find(kReordering, name) != kReordering.end();
  const bool adds = name == "append" || name == "insert";
  if (adds && !arguments.empty()) fill(list, arguments.back().value, "", site);
  if (reorders) forget_order(list);
  return reorders || adds;
}

void Interpreter::forget_order(ValueId list) {
  std::vector<ValueId> values;
  for (const Slot& slot : e_.at(list).entries) values.push_back(e_.spend() ? slot.value : kUnknown);
  const ValueId one = e_.any(values);
  for (Slot& slot : entries(list)) {
    slot.value = one;
    slot.optional = true;
  }
}

// `random.shuffle(list)`
void Interpreter::forget_order_of_all(ValueId lists) {
  for (const ValueId one : e_.alternatives(lists)) {
    if (e_.at(one).kind == Kind::list) forget_order(one);
  }
}

// `list[index] = value`: any entry may be that value now.
void Interpreter::replace_entry(ValueId list, ValueId value, Node site) {
  const std::size_t count = entries(list).size();
  fill(list, value, "", site);
  if (count == 0 || entries(list).size() == count) return;
  const ValueId made = entries(list).back().value;
  entries(list).pop_back();
  for (std::size_t i = 0; i < count; ++i) {
    const ValueId either = e_.spend() ? e_.any({entries(list)[i].value, made}) : kUnknown;
    entries(list)[i].value = either;
  }
}

// `del list[index]`, `del mapping["name"]`, `del object.name`, several of them.
void Interpreter::remove(Node target) {
  if (target.is("attribute")) {
    remove_attribute(target);
  } else if (target.is("subscript")) {
    remove_entry(target);
  } else if (target.is("delete_statement") || target.is("expression_list") || target.is("tuple")) {
    for (const Node& one : target.children()) remove(one);
  }
}

void Interpreter::remove_attribute(Node target) {
  const std::vector<ValueId> objects = e_.alternatives(evaluate(target.field("object")));
  Value& holder = e_.values_[e_.object(objects.front())];
  const bool sure = objects.size() == 1 && e_.branch_depth_ <= holder.depth.branches;
  if (sure) std::erase_if(holder.slots, [&](const Slot& slot) { return slot.name == target.field("attribute").text(); });
}

void Interpreter::remove_entry(Node target) {
  for (const ValueId one : e_.alternatives(evaluate(target.field("value")))) forget_order(e_.object(one));
}

}  // namespace hotlens::guess
