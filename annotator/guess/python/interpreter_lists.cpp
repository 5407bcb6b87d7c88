// Lists and containers that are changed in place: entries replaced, put between others, taken out, turned round.
//
// Which entry is meant is known where all before it (or behind it) are there for certain and once. Where it is not, every entry that it may
// be counts as both; what may stand in another order afterwards may be any of the entries.
#include <algorithm>
#include <charconv>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

bool is_single(const Slot& slot) {
  return slot.loops.empty() && !slot.optional;
}

}  // namespace

// The place that a constant index names, from the front or (-1 is the last) from the end.
std::optional<std::int64_t> Interpreter::place_in_list(Node index) const {
  if (!index) return std::nullopt;
  const std::string_view text = index.text();
  std::int32_t place = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional<std::int64_t>(place) : std::nullopt;
}

// The entries that an index may mean; none known: all of them.
std::vector<std::size_t> Interpreter::entries_at(ValueId list, std::optional<std::int64_t> place) const {
  const std::vector<Slot>& entries = e_.at(list).entries;
  std::vector<std::size_t> found;
  std::int64_t least = 0;  // that stand between the end counted from and this entry
  bool more = false;       // there may be
  const std::int64_t wanted = !place ? 0 : *place >= 0 ? *place : -*place - 1;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t at = place && *place < 0 ? entries.size() - 1 - i : i;
    const bool single = is_single(entries[at]);
    const bool here = least == wanted || (least < wanted && (more || !entries[at].loops.empty()));
    if (!place || here) found.push_back(at);
    least += single ? 1 : 0;
    more = more || !single;
  }
  return found;
}

// Whether what is done now is done to the list exactly once.
bool Interpreter::happens_once(ValueId list) const {
  const Depth& made = e_.at(list).depth;
  return e_.undecided_ <= made.undecided && e_.loops_.size() <= made.loops;
}

// `list[index] = value`
void Interpreter::replace_entry(ValueId list, Node index, ValueId value, Node site) {
  const std::vector<std::size_t> meant = entries_at(list, place_in_list(index));
  fill(list, value, "", site);
  std::vector<Slot>& entries = e_.values_[list].entries;
  if (meant.empty() || entries.size() <= meant.back()) return;
  const Slot made = entries.back();
  entries.pop_back();
  if (meant.size() == 1 && is_single(entries[meant.front()]) && happens_once(list)) {
    entries[meant.front()].value = made.value;
    return;
  }
  for (const std::size_t i : meant) {
    const ValueId either = e_.spend() ? e_.any({e_.values_[list].entries[i].value, made.value}) : kUnknown;
    e_.values_[list].entries[i].value = either;
  }
}

// `list.insert(index, value)`
void Interpreter::insert_entry(ValueId list, Node index, ValueId value, Node site) {
  const std::optional<std::int64_t> place = place_in_list(index);
  const std::vector<Slot>& before = e_.at(list).entries;
  const bool empty = before.empty();
  const auto count = static_cast<std::int64_t>(before.size());
  const std::int64_t ahead = place && *place < 0 ? std::max<std::int64_t>(count + *place, 0) : place.value_or(0);
  const auto border = before.begin() + static_cast<std::ptrdiff_t>(std::min(ahead, count));
  const bool counted =
      place && (*place >= 0 ? std::all_of(before.begin(), border, is_single) : std::all_of(border, before.end(), is_single));
  const bool shares_loop = std::ranges::any_of(before, [&](const Slot& slot) {
    return std::ranges::any_of(
        slot.loops, [&](LoopUse use) { return std::ranges::find(e_.loops_, use.loop, &Evaluator::Loop::id) != e_.loops_.end(); });
  });
  const std::size_t at = static_cast<std::size_t>(border - before.begin());
  fill(list, value, "", site);
  std::vector<Slot>& entries = e_.values_[list].entries;
  if (empty || entries.size() <= static_cast<std::size_t>(count)) return;
  const bool repeated = !entries.back().loops.empty();
  if (!counted || shares_loop || (repeated && at > 0)) return forget_order(list);
  std::ranges::rotate(entries.begin() + static_cast<std::ptrdiff_t>(at), entries.end() - 1, entries.end());
}

// `list.pop(index)`, `del list[index]`; null: an index that nobody knows.
void Interpreter::take_out(ValueId list, std::optional<std::int64_t> place) {
  const std::vector<std::size_t> meant = entries_at(list, place);
  std::vector<Slot>& entries = e_.values_[list].entries;
  if (place && meant.size() == 1 && is_single(entries[meant.front()]) && happens_once(list)) {
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(meant.front()));
    return;
  }
  const bool again = e_.loops_.size() > e_.at(list).depth.loops;  // the next pass takes another one
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (again || std::ranges::find(meant, i) != meant.end()) entries[i].optional = true;
  }
}

// Any entry may stand anywhere, or nowhere.
void Interpreter::forget_order(ValueId list) {
  std::vector<ValueId> values;
  for (const Slot& slot : e_.at(list).entries) values.push_back(e_.spend() ? slot.value : kUnknown);
  const ValueId one = e_.any(values);
  for (Slot& slot : e_.values_[list].entries) {
    slot.value = one;
    slot.optional = true;
  }
}

// `list.reverse()`, `list[::-1]`. Under a condition, or where passes of a loop differ, nobody knows.
void Interpreter::turn_round(ValueId list) {
  std::vector<Slot>& entries = e_.values_[list].entries;
  const bool alike = std::ranges::all_of(
      entries, [](const Slot& slot) { return std::ranges::all_of(slot.loops, [](LoopUse use) { return use.passes == kEveryPass; }); });
  if (!alike || !happens_once(list)) return forget_order(list);
  std::ranges::reverse(entries);
}

// `random.shuffle(list)`
void Interpreter::shuffle(ValueId list) {
  for (const ValueId one : e_.alternatives(list)) {
    if (e_.at(one).kind == Kind::list) forget_order(one);
  }
}

// The methods that change a list in place; whether `name` is one.
bool Interpreter::change_list(ValueId list, const std::string& name, const std::vector<Argument>& arguments, Node site) {
  if (name == "append" && !arguments.empty()) {
    fill(list, arguments.back().value, "", site);
  } else if (name == "insert" && arguments.size() == 2) {
    insert_entry(list, arguments.front().node, arguments.back().value, site);
  } else if (name == "pop") {
    take_out(list, arguments.empty() ? std::optional<std::int64_t>(-1) : place_in_list(arguments.front().node));
  } else if (name == "remove") {
    take_out(list, std::nullopt);
  } else if (name == "reverse") {
    turn_round(list);
  } else if (name == "sort") {
    forget_order(list);
  } else if (name == "clear" && happens_once(list)) {
    e_.values_[list].entries.clear();
  } else {
    return false;
  }
  return true;
}

// `del list[index]`, `del mapping["name"]`, `del object.name`, several of them.
void Interpreter::remove(Node target) {
  if (target.is("expression_list") || target.is("tuple")) {
    for (const Node& one : target.children()) remove(one);
    return;
  }
  if (target.is("attribute")) {
    const std::vector<ValueId> objects = e_.alternatives(evaluate(target.field("object")));
    for (const ValueId one : objects) {
      const ValueId id = e_.object(one);
      const bool sure = objects.size() == 1 && e_.branch_depth_ <= e_.at(id).depth.branches;
      const auto meant = [&](const Slot& slot) { return slot.name == target.field("attribute").text(); };
      for (Slot& slot : e_.values_[id].slots) slot.optional = slot.optional || meant(slot);
      if (sure) std::erase_if(e_.values_[id].slots, meant);
    }
    return;
  }
  evaluate(target);
  const Node holder = target.is("subscript") ? target.field("value") : Node{};
  const Node index = holder ? target.field("subscript") : Node{};
  if (!index) return;
  const std::vector<ValueId> holders = e_.alternatives(evaluate(holder));
  const Value key = e_.at(evaluate(index));
  for (const ValueId one : holders) {
    const ValueId id = e_.object(one);
    const Kind kind = e_.at(id).kind;
    if (kind != Kind::list && kind != Kind::mapping && kind != Kind::instance) continue;
    if (key.kind != Kind::text) {
      take_out(id, holders.size() == 1 ? place_in_list(index) : std::nullopt);
      continue;
    }
    for (Slot& slot : e_.values_[id].entries) slot.optional = slot.optional || slot.name == key.name;
  }
}

}  // namespace hotlens::guess
