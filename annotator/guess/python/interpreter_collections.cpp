// Lists, mappings and module containers: how they are written down, filled, and read again.
#include <algorithm>
#include <cctype>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

constexpr std::size_t kMostEntries = 4096;

}  // namespace

ValueId Interpreter::new_list(Kind kind) {
  return e_.add({.kind = kind, .depth = e_.depth()});
}

ValueId Interpreter::number() {
  return e_.add({.kind = Kind::constant});
}

std::vector<Slot>& Interpreter::entries(ValueId list) {
  return e_.values_[list].entries;
}

// The expression that made an entry, seen from the innermost running function that also fills the container; not known for a value that
// nobody was seen to make.
Node Interpreter::entry_call(ValueId value) const {
  const TrailId made = e_.at(e_.object(value)).trail;
  std::uint32_t activation = frame_.activation;
  for (TrailId running = frame_.trail;; running = e_.trails_[running].outer) {
    for (TrailId trail = made; trail != kNoTrail; trail = e_.trails_[trail].outer) {
      const Trail& step = e_.trails_[trail];
      if (step.activation == activation && step.call) return step.call;
    }
    if (running == kNoTrail) break;
    activation = e_.trails_[running].activation;
  }
  return made != kNoTrail ? e_.trails_[made].call : Node{};
}

// Appends to a list or container; a container's entries are places. `like`: an entry of another list that this one is there as often as.
void Interpreter::fill(ValueId list, ValueId value, const std::string& name, Node site, const Slot* like) {
  Value& to = e_.values_[list];
  Slot slot{.name = name, .value = value, .loops = e_.loops_since(to.depth), .optional = e_.branch_depth_ > to.depth.branches};
  if (to.kind == Kind::instance) {
    const bool named = !name.empty() && name != "*" && std::isdigit(static_cast<unsigned char>(name.front())) == 0;
    const bool undecided = name == "*" && e_.container(to.type) == Container::mapping;  // a word or a number
    const std::vector<ValueId> values = e_.alternatives(value);
    std::vector<ValueId> places;
    for (const ValueId one : values) {
      if (e_.what(one).kind == Kind::constant) continue;
      const Node named_at = statement_of(site), made_at = entry_call(one);
      const Node where = named ? named_at : undecided && !named_at.begins_beside(made_at) ? Node{} : made_at;
      const bool certain = !slot.optional && values.size() == 1;
      places.push_back(e_.add({.kind = Kind::place, .name = name, .node = where, .of = list, .inner = e_.object(one), .certain = certain}));
    }
    const bool nothing = places.empty() && e_.what(value).kind == Kind::constant;  // None: an entry that is never called
    slot.value = nothing ? value : e_.any(places);
    slot.optional = slot.optional || nothing;
    if (named && !slot.optional) std::erase_if(entries(list), [&](const Slot& other) { return other.name == name; });
  }
  if (like != nullptr) {
    slot.loops.insert(slot.loops.end(), like->loops.begin(), like->loops.end());
    slot.optional = slot.optional || like->optional;
  }
  if (entries(list).size() < kMostEntries) entries(list).push_back(std::move(slot));
}

// The entries of a list or container into another, with the loops that make them.
void Interpreter::fill_all(ValueId list, ValueId iterable, Node site) {
  const std::vector<ValueId> all = e_.alternatives(iterable);
  for (const ValueId one : all) {
    const ValueId id = e_.object(one);
    if (e_.at(id).kind == Kind::instance) e_.construct(id);
    if (e_.at(id).kind == Kind::unknown || e_.at(id).entries.empty()) {
      if (e_.at(id).kind == Kind::list || e_.at(id).kind == Kind::mapping || id == list) continue;
      // Any number of entries that nothing is known of.
      const Temporarily repeated(e_.loops_, e_.one_more_loop());
      fill(list, kUnknown, "*", {});
      continue;
    }
    for (Slot entry : std::vector(e_.at(id).entries)) {
      entry.optional |= all.size() > 1;
      fill(list, entry.value, entry.name, site, &entry);
    }
  }
}

// `module.add_module(name, child)`
void Interpreter::add_child(ValueId to, ValueId name, ValueId child, Node site) {
  const std::optional<std::string> called = entry_name(name, child);
  if (e_.form(e_.at(to)) != Container::none) {
    fill(to, child, called.value_or("**"), called ? site : Node{});
  } else {
    attach(to, called.value_or("*"), child, site);
  }
}

// The name that add_module gives. One that is not known at all, given to something that this code makes, is a word from a table
// (`for kind in order: self.add_module(kind, made[kind])`), as "**"; "*" may be a number; nothing where it is a word on one way and may be
// a number on another.
std::optional<std::string> Interpreter::entry_name(ValueId name, ValueId value) const {
  if (e_.at(name).kind == Kind::text) return e_.at(name).name;
  const std::vector<ValueId> names = e_.alternatives(name);
  const auto words = std::ranges::count_if(names, [&](ValueId one) {
    const std::string& text = e_.at(one).name;
    return e_.at(one).kind == Kind::text && std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; });
  });
  if (words > 0 && words < std::ssize(names)) return std::nullopt;
  const bool made = std::ranges::any_of(e_.alternatives(value), [&](ValueId one) { return e_.is_same_made(one, one); });
  return words > 0 || (made && e_.at(name).kind == Kind::unknown) ? "**" : "*";
}

// `[("name", value), …]` or another mapping into a mapping or container.
void Interpreter::fill_pairs(ValueId to, ValueId pairs, Node site) {
  for (const ValueId one : e_.alternatives(pairs)) {
    const ValueId id = e_.object(one);
    if (e_.at(id).kind != Kind::list) {
      fill_all(to, id, site);
      continue;
    }
    for (const Slot& row : std::vector(e_.at(id).entries)) {
      const Value& pair = e_.at(row.value);
      const bool pairs_up = pair.kind == Kind::list && pair.entries.size() == 2;
      if (pairs_up) fill(to, pair.entries[1].value, text_of(pair.entries[0].value), site, &row);
    }
  }
}

ValueId Interpreter::subscript(Node node) {
  const ValueId holder = evaluate(node.field("value"));
  const Node key = node.field("subscript");
  const ValueId index = evaluate(key);
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(holder)) {
    const ValueId id = e_.object(one);
    e_.construct(id);
    const Value& value = e_.at(id);
    const ValueId own = value.kind == Kind::instance ? e_.method(value.type, "__getitem__", id) : kUnknown;
    if (e_.at(own).kind == Kind::function) {
      out.push_back(call(own, {{.value = index}}, node));
    } else if (value.entries.empty()) {
      out.push_back(value.kind == Kind::external ? one : kUnknown);  // Generic[T]
    } else {
      out.push_back(key.is("slice") ? slice(id, key, node) : e_.add({.kind = Kind::element, .of = id}));
    }
  }
  return e_.any(out);
}

// `list[a:b]`: some of its entries, in any order where there is a step.
ValueId Interpreter::slice(ValueId of, Node key, Node site) {
  const Value& whole = e_.at(of);
  const bool container = whole.kind == Kind::instance;
  const ValueId part = e_.add({.kind = container ? Kind::instance : Kind::list,
                               .type = whole.type,
                               .entries = whole.entries,
                               .trail = container ? trail_to(site) : kNoTrail,
                               .depth = e_.depth(),
                               .ready = true});
  for (Slot& slot : entries(part)) slot.optional = true;
  if (std::ranges::count(key.text(), ':') == 2) forget_order(part);
  return part;
}

ValueId Interpreter::literal_list(Node node) {
  const ValueId list = new_list();
  for (const Node& one : node.children()) {
    if (one.is("list_splat")) {
      fill_all(list, evaluate(one.child()), one.child());
    } else {
      fill(list, evaluate(one), "", one);
    }
  }
  return list;
}

ValueId Interpreter::dictionary(Node node) {
  const ValueId map = new_list(Kind::mapping);
  for (const Node& one : node.children()) {
    if (one.is("pair")) add_pair(map, one);
    if (one.is("dictionary_splat")) fill_all(map, evaluate(one.child()), one.child());
  }
  return map;
}

// `key: value`
void Interpreter::add_pair(ValueId map, Node pair) {
  const ValueId named = evaluate(pair.field("key")), made = evaluate(pair.field("value"));
  fill(map, made, entry_name(named, made).value_or("*"), pair.field("value"));
}

ValueId Interpreter::comprehension(Node node) {
  const Node body = node.field("body");
  const ValueId list = new_list(body.is("pair") ? Kind::mapping : Kind::list);
  const Temporarily scope(frame_.scope, std::make_shared<Scope>(Scope{.names = {}, .outer = frame_.scope}));
  const std::size_t around = loops_.size();
  for (const Node& clause : node.children()) {
    if (clause.is("for_in_clause")) {
      const ValueId over = evaluate(clause.field("right"));
      begin_loop();
      assign(clause.field("left"), element_of(over), clause);
    } else if (clause.is("if_clause")) {
      evaluate_parts(clause);
      if (loops_.size() > around) edge(at_, loops_.back().first);
    }
  }
  if (body.is("pair")) {
    add_pair(list, body);
  } else {
    fill(list, evaluate(body), "", body);
  }
  while (loops_.size() > around) end_loop();
  return list;
}

ValueId Interpreter::element_of(ValueId iterable) {
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(iterable)) {
    const bool list = e_.iterates(e_.what(one));
    if (list) e_.construct(e_.object(one));
    out.push_back(list ? e_.add({.kind = Kind::element, .of = e_.object(one)}) : kUnknown);
  }
  return e_.any(out);
}

// Which entry stands where in a list that is changed otherwise than at its end is not followed: each may stand anywhere, or nowhere.
void Interpreter::forget_order(ValueId lists) {
  for (const ValueId list : e_.alternatives(lists)) {
    std::vector<Slot>& all = entries(e_.object(list));
    std::vector<ValueId> values;
    for (const Slot& slot : all) values.push_back(e_.spend() ? slot.value : kUnknown);
    const ValueId any = e_.any(values);
    for (Slot& slot : all) slot.value = any, slot.optional = true;
  }
}

// `list[index] = value`: any entry may be that value now.
void Interpreter::replace_entry(ValueId list, ValueId value, Node site) {
  const std::vector<Slot> before = entries(list);
  fill(list, value, "", site);
  if (before.empty() || entries(list).size() == before.size()) return;
  const ValueId made = entries(list).back().value;
  entries(list) = before;
  for (Slot& slot : entries(list)) slot.value = e_.spend() ? e_.any({slot.value, made}) : kUnknown;
}

// `del list[index]`, `del mapping["name"]`, several of them.
void Interpreter::remove(Node targets) {
  for (const Node& target : targets.children()) {
    if (target.is("subscript")) {
      forget_order(evaluate(target.field("value")));
    } else {
      remove(target);
    }
  }
}

}  // namespace hotlens::guess
