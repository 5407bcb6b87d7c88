#include "annotator/lab/layers/match/loops.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/match/methods.h"

namespace hotlens::layers {
namespace {

bool has_identifier(Node node, std::string_view name) {
  if (node.is("identifier") && node.text() == name) return true;
  return std::ranges::any_of(node.children(), [&](const Node& child) { return has_identifier(child, name); });
}

// Each call takes another thing away: `x = layer(x, skips.pop())`.
bool takes_away(std::string_view text) {
  return text.find(".pop(") != std::string_view::npos || text.find("next(") != std::string_view::npos;
}

// `x = layer(x, …)`, `x = layer(x=x)`.
bool hands_on(Node statement, std::string_view layer) {
  const auto parts = statement.children();
  if (!statement.is("expression_statement") || parts.size() != 1 || !parts[0].is("assignment")) return false;
  const Node target = parts[0].field("left"), call = parts[0].field("right");
  if (!call || !call.is("call") || call.field("function").text() != layer || !call.field("arguments")) return false;
  if (takes_away(call.field("arguments").text())) return false;
  const auto is_it = [&](Node given) {
    const Node value = given.is("keyword_argument") ? given.field("value") : given;
    return value.is("identifier") && value.text() == target.text();
  };
  return target.is("identifier") && std::ranges::any_of(call.field("arguments").children(), is_it);
}

// The one argument of a call of this function; null: it is none.
Node argument_of(Node call, std::string_view function) {
  if (!call || !call.is("call") || call.field("function").text() != function || !call.field("arguments")) return {};
  const auto given = call.field("arguments").children();
  return given.size() == 1 ? given[0] : Node{};
}

// What the body of a loop over a list calls an entry: `for layer in self.layers`, `for i, layer in enumerate(self.layers)` whose `i` is not
// used, `for i in range(len(self.layers))` with `self.layers[i]`. Empty: the loop is none of these.
std::string entry_of(Node loop, std::string_view list, const std::function<bool(Node)>& is_length) {
  const Node left = loop.field("left"), right = loop.field("right");
  if (right.text() == list) return std::string(left.text());
  if (const Node counted = argument_of(right, "enumerate"); counted && counted.text() == list) {
    const auto names = left.children();
    const bool two = left.is("pattern_list") && names.size() == 2 && !has_identifier(loop.field("body"), names[0].text());
    return two ? std::string(names[1].text()) : std::string();
  }
  const Node counted = argument_of(right, "range"), length = argument_of(counted, "len");
  const bool whole = length ? length.text() == list : counted && is_length(counted);
  if (!whole || !left.is("identifier")) return {};
  return std::string(list) + "[" + std::string(left.text()) + "]";
}

// The number that a loop counts with; null: none.
Node index_of(Node loop) {
  const Node left = loop.field("left"), right = loop.field("right");
  if (!right || !right.is("call")) return {};
  if (right.field("function").text() == "range") return left;
  const auto names = left.children();
  return right.field("function").text() == "enumerate" && !names.empty() ? names[0] : Node{};
}

// Whether the number is only the place in a list, or compared with a list's length: what it does for one more layer is then known.
bool counts_alone(Node node, std::string_view index) {
  if (node.is("identifier") && node.text() == index) {
    for (Node up = node.parent(); up && !up.is("block"); up = up.parent()) {
      if (up.is("subscript") && !is_within(node, up.field("value"))) return true;
      if (up.is("comparison_operator")) return up.text().find("len(") != std::string_view::npos;
    }
    return false;
  }
  return std::ranges::all_of(node.children(), [&](const Node& child) { return counts_alone(child, index); });
}

bool leaves(Node node, const Skips& skips) {
  constexpr std::array<std::string_view, 4> kLeaving{"break_statement", "continue_statement", "return_statement", "yield"};
  if (std::ranges::find(kLeaving, node.kind()) != kLeaving.end()) return !skips(node);
  return std::ranges::any_of(node.children(), [&](const Node& child) { return leaves(child, skips); });
}

bool is_the_same_each_time(Node loop, const Skips& skips) {
  const Node body = loop.field("body"), index = index_of(loop);
  return !loop.field("alternative") && !leaves(body, skips) && !takes_away(body.text()) && (!index || counts_alone(body, index.text()));
}

// "config.depth" of a module, where it holds such a number.
std::optional<std::int64_t> number_of(Ref object, std::string_view chain) {
  while (object->kind == Value::Kind::object) {
    const std::size_t dot = chain.find('.');
    object = attribute_of(*object, chain.substr(0, dot));
    if (!object) return std::nullopt;
    if (dot == std::string_view::npos) break;
    chain.remove_prefix(dot + 1);
  }
  return object->kind == Value::Kind::integer ? std::optional(object->integer) : std::nullopt;
}

// `[:-1]`, `[1:]`: without numbers that depend on how many there are; or `[: self.depth]`, which is all of them.
bool is_part_of_list(Node slice, const Ref& module, std::int64_t count) {
  constexpr std::array<std::string_view, 5> kParts{":-1", "1:", "1:-1", ":", "::1"};
  if (!slice.is("slice")) return false;
  if (std::ranges::find(kParts, slice.text()) != kParts.end()) return true;
  std::string_view bound = slice.text();
  if (!bound.starts_with(':')) return false;
  bound.remove_prefix(std::min(bound.find_first_not_of(": "), bound.size()));
  return bound.starts_with("self.") && number_of(module, bound.substr(5)) == count;
}

// The loop that a use belongs to; null: none that is known. A use beside the loop (`len(self.name)`, a call of the first or last) is of
// all of them: nullopt.
std::optional<Node> round_of(Node use, const Ref& module, std::int64_t count) {
  Node list = use, above = use.parent();
  if (above.is("argument_list") && argument_of(above.parent(), "len")) return std::nullopt;
  const bool entry = above.is("subscript") && above.field("value").id() == use.id();
  const Node place = entry ? above.field("subscript") : Node{};
  if (entry && (place.text() == "-1" || place.text() == "0")) {
    const Node call = above.parent();
    return call.is("call") && call.field("function").id() == above.id() ? std::nullopt : std::optional(Node{});
  }
  const bool part = entry && is_part_of_list(place, module, count);
  if (part) list = above;
  for (Node loop = source::enclosing(list, "for_statement"); loop; loop = source::enclosing(loop, "for_statement")) {
    const bool header = is_within(list, loop.field("right"));
    if (header && (!entry || part)) return loop;
    const Node index = index_of(loop);
    if (!header && entry && index && place.text() == index.text()) return loop;
  }
  return Node{};
}

// `torch.cat([head(x) for head in self.heads], -1)`, also where the list has a name first.
bool is_gathered(Node use) {
  const Node clause = use.parent(), all = clause.parent();
  const bool list = all.is("list_comprehension") || all.is("generator_expression");
  if (!clause.is("for_in_clause") || clause.field("right").id() != use.id() || !list || all.children().size() != 2) return false;
  const Node entry = clause.field("left"), call = all.field("body");
  return entry.is("identifier") && call.is("call") && call.field("function").text() == entry.text() &&
         !has_identifier(call.field("arguments"), entry.text()) && !takes_away(call.text());
}

// `for i in range(self.depth)`, where that is as many as there are.
bool is_number_of_entries(Node counted, const Ref& module, std::int64_t count) {
  return counted.text().starts_with("self.") && number_of(module, counted.text().substr(5)) == count;
}

// `nn.Sequential(*self.layers)(x)`.
bool is_called_in_sequence(Node use) {
  const Node list = use.parent().is("list_splat") ? use.parent().parent() : Node{}, made = list ? list.parent() : Node{};
  if (!made || !made.is("call") || list.children().size() != 1) return false;
  const std::string_view name = made.field("function").text();
  const Node call = made.parent();
  return (name == "nn.Sequential" || name == "torch.nn.Sequential" || name == "Sequential") && call.is("call") &&
         call.field("function").id() == made.id() && call.field("arguments").children().size() == 1;
}

bool is_handed_on(Node use, const Ref& module, std::int64_t count) {
  if (is_called_in_sequence(use)) return true;
  const Node loop = source::enclosing(use, "for_statement");
  const auto is_length = [&](Node counted) { return is_number_of_entries(counted, module, count); };
  const std::string entry = loop && !loop.field("alternative") ? entry_of(loop, use.text(), is_length) : std::string();
  const auto body = entry.empty() ? std::vector<Node>() : loop.field("body").children();
  return body.size() == 1 && hands_on(body[0], entry);
}

// A name that the loop hands on from each entry to the next beside what it keeps, and that nothing reads after it: `x` in
// `x, skip = layer(x)`. What the last gives there has no gradient.
bool hands_on_for_nothing(Node loop) {
  const Node function = source::enclosing(loop, "function_definition");
  if (!function || source::enclosing(loop, "for_statement") || source::enclosing(loop, "while_statement")) return false;
  bool found = false;
  for (const Node& statement : loop.field("body").children()) {
    const auto parts = statement.children();
    if (!statement.is("expression_statement") || parts.size() != 1 || !parts[0].is("assignment")) continue;
    const Node targets = parts[0].field("left"), call = parts[0].field("right");
    if (!targets.is("pattern_list") || !call || !call.is("call")) continue;
    for (const Node& name : targets.children()) {
      const bool taken = name.is("identifier") && has_identifier(call.field("arguments"), name.text());
      bool read = false;
      for_each_name(function, name.text(), [&](Node one) { read = read || one.range().begin > loop.range().end; });
      found = found || (taken && !read);
    }
  }
  return found;
}

}  // namespace

bool counts_list(Node use, const Ref& module, std::int64_t number) {
  std::string_view list;
  const Node counted = use.parent().is("argument_list") ? use.parent().parent() : Node{}, loop = counted ? counted.parent() : Node{};
  if (is_bound_of_list(use)) {
    list = use.parent().parent().field("value").text();
  } else if (loop && loop.is("for_statement") && argument_of(counted, "range").id() == use.id() && loop.field("left").is("identifier")) {
    const std::string entry = "[" + std::string(loop.field("left").text()) + "]";
    source::walk(loop.field("body"), [&](Node node) {
      if (node.is("subscript") && node.text().starts_with("self.") && node.text().ends_with(entry)) list = node.field("value").text();
      return list.empty();
    });
  }
  const Ref held = list.starts_with("self.") ? attribute_of(*module, list.substr(5)) : nullptr;
  return held && std::ranges::count_if(held->attributes, [](const auto& one) { return is_module(one.second); }) == number;
}

bool is_bound_of_list(Node bound) {
  const Node slice = bound.parent(), list = slice.is("slice") ? slice.parent() : Node{};
  return list && slice.children().size() == 1 && slice.text().starts_with(':') && list.field("value").text().starts_with("self.");
}

ListUse use_of_list(const Ref& module, const std::string& name, const Skips& skips) {
  const Ref held = attribute_of(*module, name);
  const std::int64_t count = held ? std::ranges::count_if(held->attributes, [](const auto& one) { return is_module(one.second); }) : 0;
  ListUse rounds{.kind = ListUse::Kind::rounds, .at = {}};
  std::optional<Node> use;
  bool all_hand_on = true, all_gathered = true;
  for_each_use(module->self, name, skips, [&](Node one) {
    use = one;
    const Node above = one.parent();
    rounds.last_apart = rounds.last_apart || (above.is("subscript") && above.field("subscript").text() == "-1");
    all_hand_on = all_hand_on && is_handed_on(one, module, count);
    all_gathered = all_gathered && is_gathered(one);
    const auto loop = round_of(one, module, count);
    if (!loop || rounds.kind == ListUse::Kind::other) return;
    if (!rounds.at) rounds.at = *loop;
    if (!*loop || loop->id() != rounds.at.id() || !is_the_same_each_time(*loop, skips)) rounds = {.kind = ListUse::Kind::other, .at = one};
  });
  if (use && all_hand_on) return {};
  if (use && all_gathered) return {.kind = ListUse::Kind::gathered, .at = *use};
  if (rounds.kind == ListUse::Kind::rounds && rounds.at) rounds.last_apart = rounds.last_apart || hands_on_for_nothing(rounds.at);
  if (use && rounds.kind == ListUse::Kind::rounds && !rounds.at) return {.kind = ListUse::Kind::other, .at = *use};
  return rounds;
}

}  // namespace hotlens::layers
