#include "annotator/lab/layers/match/compare_calls.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "annotator/lab/layers/match/conditions.h"
#include "annotator/lab/layers/match/forward.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

// Of an `if`, or of a choice that is all that a name is given.
Node condition_of(Node branch) {
  if (branch.is("if_statement")) return branch.field("condition");
  const auto parts = branch.is("conditional_expression") ? branch.children() : std::vector<Node>();
  const bool whole = branch.parent().is("assignment") || branch.parent().is("return_statement");
  return parts.size() == 3 && whole ? parts[1] : Node{};
}

Holding holding(const Value& module, std::set<std::string> names) {
  return [&module, names = std::move(names)](std::string_view name) {
    return names.contains(std::string(name)) ? attribute_of(module, name) : Ref();
  };
}

// In `if self.norm is not None: …` or `x if self.norm is None else self.norm(x)`, right in the body.
bool is_in_known_branch(Node use, const Holding& held, Node body) {
  for (Node up = use.parent(); up && !up.is("function_definition"); up = up.parent()) {
    const Node condition = condition_of(up);
    if (condition && holds(condition, held)) return source::statement_of(up).parent().id() == body.id();
  }
  return false;
}

bool is_only_asked(const Ref& module, const std::string& name, const Skips& skips) {
  const Node forward = method_of(module->self, "forward");
  const auto held = holding(*module, {name});
  bool only = true;
  for_each_use(module->self, name, skips, [&](Node use) { only = only && is_in_known_branch(use, held, forward.field("body")); });
  return only;
}

// Attributes that branches of `forward` alone ask for: None or a layer in either text, and what is plain in both.
std::set<std::string> asked_in_branches(const Ref& was, const Ref& is, const Skips& skips) {
  std::set<std::string> names;
  for (const auto& [name, value] : is->attributes) {
    const Ref old = attribute_of(*was, name);
    const auto may_be_none = [](const Ref& one) { return one->kind == Kind::none || is_module(one); };
    const bool either = old && ((may_be_none(old) && may_be_none(value)) || (is_plain(*old) && is_plain(*value)));
    if (either && is_only_asked(is, name, skips)) names.insert(name);
  }
  return names;
}

// Whether a branch that asks for it goes another way now.
bool turns(Node forward, const std::string& name, const Holding& was, const Holding& is) {
  bool other = false;
  source::walk(forward.field("body"), [&](Node node) {
    const Node condition = condition_of(node);
    if (condition && mentions(condition, name)) other = other || holds(condition, was) != holds(condition, is);
    return !other;
  });
  return other;
}

bool are_same(const Parts& was, const Parts& is) {
  return std::ranges::equal(
      was, is, [](const auto& one, const auto& other) { return one.first == other.first && same_wording(one.second, other.second); });
}

// Parts that only hand on what they get, in both texts or in the one that calls them.
std::set<std::string> inlined_parts(const Reading& was, const Reading& is) {
  std::set<std::string> all;
  for (const auto& [one, other] : {std::pair(&was, &is), std::pair(&is, &was)}) {
    for (const auto& [name, part] : one->parts) {
      const bool hands_on = name != "forward" && steps_of_part(name, *one);
      if (hands_on && (!other->parts.contains(name) || steps_of_part(name, *other))) all.insert(name);
    }
  }
  return all;
}

// What comes or goes and is neither a layer nor a function.
const Step* no_layer(const Gap& gap, const Value& was, const Value& is) {
  const auto find = [](const std::vector<Step>& steps, const Value& module) -> const Step* {
    const auto found = std::ranges::find_if(steps, [&](const Step& step) {
      const Ref held = step.function.empty() ? attribute_of(module, step.path) : nullptr;
      return step.function.empty() && (!held || !is_module(held));
    });
    return found == steps.end() ? nullptr : &*found;
  };
  const Step* removed = find(gap.removed, was);
  return removed != nullptr ? removed : find(gap.inserted, is);
}

}  // namespace

std::expected<EditedCalls, Unclear> compare_calls(const Ref& was, const Ref& is, const Skips& skips) {
  const Node before = method_of(was->self, "forward"), after = method_of(is->self, "forward");
  EditedCalls all;
  if (!before || !after) return all;
  const auto asked = asked_in_branches(was, is, skips);
  const Holding old_values = holding(*was, asked), values = holding(*is, asked);
  std::ranges::copy_if(asked, std::inserter(all.optional, all.optional.end()),
                       [&](const std::string& name) { return turns(after, name, old_values, values); });
  if (before.code == after.code && all.optional.empty()) return all;
  const auto of = [](const Holding& held) { return [&held](Node condition) { return holds(condition, held); }; };
  Reading then{of(old_values), parts_of_forward(was->self)}, edited{of(values), parts_of_forward(is->self)};
  then.inlined = edited.inlined = inlined_parts(then, edited);
  const bool same = all.optional.empty() && are_same(then.parts, edited.parts);
  for (const auto& [name, part] : then.parts) {
    const auto found = edited.parts.find(name);
    if (found == edited.parts.end()) continue;
    all.compared.insert(part.id());
    all.rewritten = all.rewritten || !same_wording(part, found->second);
    if (same || then.inlined.contains(name)) continue;
    auto gaps = forward_gaps(part, found->second, then, edited);
    if (!gaps) return std::unexpected(std::move(gaps.error()));
    std::ranges::move(*gaps, std::back_inserter(all.gaps));
  }
  for (const Gap& gap : all.gaps) {
    if (const Step* other = no_layer(gap, *was, *is))
      return std::unexpected(
          Unclear{.reason = "`self." + other->path + "` is no layer, and what it calls is not followed", .at = line_of(other->at)});
  }
  return all;
}

}  // namespace hotlens::layers
