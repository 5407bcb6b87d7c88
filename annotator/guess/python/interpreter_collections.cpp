// Lists, mappings and module containers: how they are written down, filled, and read again.
#include <algorithm>
#include <cctype>
#include <ranges>

#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

}  // namespace

ValueId Interpreter::rest_of(const std::vector<Argument>& positional, std::size_t from, const std::vector<Argument>& arguments) {
  const ValueId list = e_.add({.kind = Kind::list, .depth = e_.depth()});
  for (std::size_t i = from; i < positional.size(); ++i) fill(list, positional[i].value, "", {});
  for (const Argument& one : arguments) {
    if (one.splat && one.name.empty()) fill_all(list, one.value, {});
  }
  return list;
}

// The expression that made an entry, seen from the innermost running function that also fills the container; not known for a value that
// nobody was seen to make.
Spot Interpreter::entry_spot(ValueId value) const {
  const TrailId made = e_.at(e_.object(value)).trail;
  std::uint32_t activation = frame_.activation;
  for (TrailId running = frame_.trail;; running = e_.trails_[running].outer) {
    for (TrailId trail = made; trail != kNoTrail; trail = e_.trails_[trail].outer) {
      const Trail& step = e_.trails_[trail];
      if (step.activation == activation && step.call) return spot(step.call);
    }
    if (running == kNoTrail) break;
    activation = e_.trails_[running].activation;
  }
  return made != kNoTrail && e_.trails_[made].call ? spot(e_.trails_[made].call) : Spot{};
}

// Appends to a list or container; a container's entries are places.
void Interpreter::fill(ValueId list, ValueId value, const std::string& name, Node site) {
  Value& to = e_.values_[list];
  Slot slot{.name = name, .value = value, .loops = e_.loops_since(to.depth), .optional = e_.undecided_ > to.depth.undecided};
  if (to.kind == Kind::instance) {
    const bool named = !name.empty() && name != "*" && std::isdigit(static_cast<unsigned char>(name.front())) == 0;
    const bool undecided = name == "*" && e_.container(to.type) == Container::mapping;  // a word or a number
    std::vector<ValueId> places;
    for (const ValueId one : e_.alternatives(value)) {
      if (e_.at(e_.object(one)).kind == Kind::constant) continue;
      const Spot named_at = site ? spot(statement_of(site)) : Spot{}, made_at = entry_spot(one);
      const bool one_line = named_at.code == made_at.code && named_at.range.begin.line == made_at.range.begin.line;
      const Spot where = named ? named_at : undecided && !one_line ? Spot{} : made_at;
      const bool certain = !slot.optional && e_.alternatives(value).size() == 1;
      places.push_back(e_.add({.kind = Kind::place, .name = name, .of = list, .inner = e_.object(one), .spot = where, .certain = certain}));
    }
    const bool nothing = places.empty() && e_.at(e_.object(value)).kind == Kind::constant;  // None: an entry that is never called
    slot.value = nothing ? value : e_.any(places);
    slot.optional = slot.optional || nothing;
    if (named && !slot.optional) {
      std::erase_if(e_.values_[list].entries, [&](const Slot& other) { return other.name == name; });
    }
  }
  if (e_.values_[list].entries.size() < 4096) e_.values_[list].entries.push_back(std::move(slot));
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
      e_.loops_.push_back({.id = e_.next_loop_++});
      fill(list, kUnknown, "*", {});
      e_.loops_.pop_back();
      continue;
    }
    const std::vector<Slot> entries = e_.at(id).entries;
    for (const Slot& entry : entries) {
      fill(list, entry.value, entry.name, site);
      Slot& made = e_.values_[list].entries.back();
      made.loops.insert(made.loops.end(), entry.loops.begin(), entry.loops.end());
      made.optional = made.optional || entry.optional || all.size() > 1;
    }
  }
}

// The name that add_module gives. One that is not known at all, given to something that this code makes, is a word from a table
// (`for kind in order: self.add_module(kind, made[kind])`), as "**"; "*" may be a number; nothing where it is a word on one way and may be
// a number on another.
std::optional<std::string> Interpreter::entry_name(ValueId name, ValueId value) const {
  if (e_.at(name).kind == Kind::text) return e_.at(name).name;
  const std::vector<ValueId> names = e_.alternatives(name);
  const auto word = [&](ValueId one) {
    const std::string& text = e_.at(one).name;
    return e_.at(one).kind == Kind::text && std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; });
  };
  if (std::ranges::any_of(names, word)) {
    if (!std::ranges::all_of(names, word)) return std::nullopt;
    return "**";
  }
  const std::vector<ValueId> values = e_.alternatives(value);
  const bool made = std::ranges::any_of(values, [&](ValueId one) {
    const Value& what = e_.at(e_.object(one));
    return what.kind == Kind::instance && what.trail != kNoTrail;
  });
  return made && e_.at(name).kind == Kind::unknown ? "**" : "*";
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
      if (pair.kind != Kind::list || pair.entries.size() != 2) continue;
      const Value& key = e_.at(pair.entries[0].value);
      fill(to, pair.entries[1].value, key.kind == Kind::text ? key.name : "*", site);
      Slot& made = e_.values_[to].entries.back();
      made.loops.insert(made.loops.end(), row.loops.begin(), row.loops.end());
      made.optional = made.optional || row.optional;
    }
  }
}

ValueId Interpreter::subscript(Node node) {
  const ValueId holder = evaluate(node.field("value"));
  const Node key = node.field("subscript");
  const ValueId index = key ? evaluate(key) : kUnknown;
  const bool slice = key && key.is("slice");
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(holder)) {
    const ValueId id = e_.object(one);
    e_.construct(id);
    const Value& value = e_.at(id);
    if (const ValueId own = value.kind == Kind::instance ? e_.method(value.type, "__getitem__", id) : kUnknown;
        e_.at(own).kind == Kind::function) {
      out.push_back(call(own, {{.value = index}}, node));
      continue;
    }
    if (value.entries.empty()) {
      out.push_back(value.kind == Kind::external ? one : kUnknown);  // Generic[T]
      continue;
    }
    if (slice) {
      Value part{
          .kind = value.kind == Kind::instance ? Kind::instance : Kind::list, .type = value.type, .depth = e_.depth(), .ready = true};
      if (part.kind == Kind::instance) part.trail = trail_to(node);
      part.entries = value.entries;
      const bool turned = key.text() == "::-1";
      for (Slot& slot : part.entries) slot.optional = slot.optional || !turned;
      const ValueId list = e_.add(std::move(part));
      if (turned) {
        turn_round(list);
      } else if (std::ranges::count(key.text(), ':') == 2 && key.text().find('-', key.text().rfind(':')) != std::string_view::npos) {
        forget_order(list);
      }
      out.push_back(list);
      continue;
    }
    const Value& at = e_.at(index);
    std::vector<ValueId> exact;
    const bool fixed = std::ranges::none_of(value.entries, [](const Slot& slot) { return !slot.loops.empty() || slot.optional; });
    for (std::size_t i = 0; i < value.entries.size(); ++i) {
      const bool by_name = at.kind == Kind::text && value.entries[i].name == at.name;
      const bool by_place = at.kind == Kind::constant && fixed && std::to_string(i) == at.name;
      if (by_name || by_place) exact.push_back(value.entries[i].value);
    }
    out.push_back(exact.empty() ? e_.add({.kind = Kind::element, .of = id, .ordered = counts_from_first(index)}) : e_.any(exact));
  }
  return e_.any(out);
}

// `items[i]`, where `i` counts the passes of a loop: the entries in their order.
bool Interpreter::counts_from_first(ValueId index) const {
  return index != kUnknown &&
         std::ranges::any_of(e_.loops_, [&](const Evaluator::Loop& loop) { return loop.index == index && loop.first == "0"; });
}

ValueId Interpreter::literal_list(Node node) {
  const ValueId list = e_.add({.kind = Kind::list, .depth = e_.depth()});
  for (const Node& one : node.children()) {
    if (one.is("list_splat")) {
      const std::vector<Node> inner = one.children();
      if (!inner.empty()) fill_all(list, evaluate(inner.front()), inner.front());
    } else {
      fill(list, evaluate(one), "", one);
    }
  }
  return list;
}

ValueId Interpreter::dictionary(Node node) {
  const ValueId map = e_.add({.kind = Kind::mapping, .depth = e_.depth()});
  for (const Node& pair : node.children()) {
    const Node key = pair.field("key"), value = pair.field("value");
    if (key && value) {
      const ValueId named = evaluate(key), made = evaluate(value);
      fill(map, made, entry_name(named, made).value_or("*"), value);
    }
    if (pair.is("dictionary_splat")) {
      for (const Node& inner : pair.children()) fill_all(map, evaluate(inner), inner);
    }
  }
  return map;
}

ValueId Interpreter::comprehension(Node node) {
  const Node body = node.field("body");
  const bool pairs = body && body.is("pair");
  const ValueId list = e_.add({.kind = pairs ? Kind::mapping : Kind::list, .depth = e_.depth()});
  auto inner = std::make_shared<Scope>();
  inner->outer = frame_.scope;
  std::swap(inner, frame_.scope);  // `inner` now holds the names outside
  bool optional = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const Node& clause : node.children()) {
    if (clause.is("for_in_clause")) {
      const ValueId over = evaluate(clause.field("right"));
      const std::uint32_t head = state(), end = state();
      edge(at_, head);
      edge(head, end);
      at_ = head;
      ends.emplace_back(head, end);
      e_.loops_.push_back({.id = e_.next_loop_++});
      assign(clause.field("left"), element_of(over), clause);
      count_passes(clause.field("left"), clause.field("right"), e_.loops_.back());
    } else if (clause.is("if_clause")) {
      optional = true;
      for (const Node& condition : clause.children()) evaluate(condition);
      if (!ends.empty()) edge(at_, ends.back().first);
    }
  }
  e_.branch_depth_ += optional ? 1 : 0;
  e_.undecided_ += optional ? 1 : 0;
  if (pairs) {
    const ValueId named = evaluate(body.field("key")), made = evaluate(body.field("value"));
    fill(list, made, entry_name(named, made).value_or("*"), body.field("value"));
  } else if (body) {
    fill(list, evaluate(body), "", body);
  }
  e_.branch_depth_ -= optional ? 1 : 0;
  e_.undecided_ -= optional ? 1 : 0;
  e_.loops_.resize(e_.loops_.size() - ends.size());
  std::uint32_t after = at_;
  for (const auto& [begin, end] : std::views::reverse(ends)) {
    edge(after, begin);
    after = end;
  }
  at_ = after;
  std::swap(inner, frame_.scope);
  return list;
}

ValueId Interpreter::element_of(ValueId iterable) {
  std::vector<ValueId> out;
  for (const ValueId one : e_.alternatives(iterable)) {
    const ValueId id = e_.object(one);
    const Value& value = e_.at(id);
    const bool list = value.kind == Kind::list || (value.kind == Kind::instance && e_.container(value.type) != Container::none);
    if (list) e_.construct(id);
    out.push_back(list ? e_.add({.kind = Kind::element, .of = id}) : kUnknown);
  }
  return e_.any(out);
}

}  // namespace hotlens::guess
