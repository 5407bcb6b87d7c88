#include "annotator/lab/layers/effects/expressions_beside.h"

#include <algorithm>
#include <set>

#include "annotator/lab/layers/effects/statement_pairs.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

bool is_list(Node node) {
  return node.is("list") || node.is("tuple") || node.is("expression_list") || node.is("argument_list");
}

}  // namespace

Refusals::Refusals(const Modules& is) {
  for (const auto& [path, module] : is) {
    const Node site = module->self->kind == Value::Kind::type ? module->self->node : Node{};
    if (site) sites_.try_emplace(site.id(), path);
    if (module->node) sites_.try_emplace(module->node.id(), path);
  }
}

// The module that the code makes, is an argument of, or stands in the class of.
std::string Refusals::module_of(Node code) const {
  std::set<std::string> inside;
  source::walk(code, [&](Node node) {
    if (const auto found = sites_.find(node.id()); found != sites_.end()) inside.insert(found->second);
    return true;
  });
  if (inside.size() == 1) return *inside.begin();
  for (Node up = code; up; up = up.parent()) {
    if (const auto found = sites_.find(up.id()); found != sites_.end()) return found->second;
  }
  return {};
}

Unclear Refusals::refuse(Node at, bool gone, Node near) const {
  const Node statement = source::statement_of(at);
  return Unclear{.reason = "something else than layers was edited: " + excerpt(statement) + (gone ? " is gone" : ""),
                 .module = module_of(gone ? near : at),
                 .at = line_of(gone ? near : at)};
}

Expressions::Why Expressions::compare(Node was, Node is) {
  if (same_wording(was, is)) return std::nullopt;
  if (was.is("call") && is.is("call")) return call(was, is);
  if (is_plain_code(was) && is_plain_code(is)) return number(was, is);
  if (is_list(was) && was.kind() == is.kind()) return entries(was, is);
  if (building_.is_building(was) && building_.is_building(is)) return made(is);
  const Nodes old = was.children(), now = is.children();
  if (was.kind() != is.kind() || old.size() != now.size() || old.empty() || was.is("lambda") || marks(was) != marks(is))
    return refusals_.refuse(is);
  for (std::size_t at = 0; at < old.size(); ++at) {
    if (auto why = compare(old[at], now[at])) return why;
  }
  return std::nullopt;
}

// Numbers among numbers: each at its place where there are as many.
Expressions::Why Expressions::number(Node was, Node is) {
  if (is_list(is) && was.kind() == is.kind() && was.children().size() == is.children().size()) {
    const Nodes old = was.children(), now = is.children();
    for (std::size_t at = 0; at < old.size(); ++at) {
      if (same_wording(old[at], now[at])) continue;
      if (auto why = number(old[at], now[at])) return why;
    }
    return std::nullopt;
  }
  return uses_.value(is);
}

// Layers instead of others: the numbers among what they are made of go into them.
Expressions::Why Expressions::made(Node is) {
  if (is.is("call") && building_.built(is)) return std::nullopt;
  return is_plain_code(is) ? uses_.value(is) : std::nullopt;
}

Expressions::Why Expressions::call(Node was, Node is) {
  const Node old = was.field("function"), now = is.field("function");
  const bool layers = building_.built(was) && building_.built(is);
  if (same_wording(old, now)) return arguments(was, is, layers);
  if (building_.is_building(was) && building_.is_building(is)) return std::nullopt;
  const bool methods = old.is("attribute") && now.is("attribute") && old.field("attribute").text() == now.field("attribute").text();
  if (!methods) return refusals_.refuse(is);
  if (auto why = compare(old.field("object"), now.field("object"))) return why;
  return arguments(was, is, layers);
}

Expressions::Why Expressions::arguments(Node was, Node is, bool layers) {
  const Node old = was.field("arguments"), now = is.field("arguments");
  if (!old.is("argument_list") || !now.is("argument_list")) return compare(old, now);
  bool moved = false;
  for (const Difference& one : differences(old.children(), now.children())) {
    Nodes before = one.was;
    for (const Node& given : one.is) {
      const auto pair = std::ranges::find_if(before, [&](const Node& other) {
        return given.is("keyword_argument") && other.is("keyword_argument")
                   ? given.field("name").text() == other.field("name").text()
                   : !given.is("keyword_argument") && !other.is("keyword_argument") && one.was.size() == one.is.size();
      });
      if (pair != before.end()) {
        const bool keyword = given.is("keyword_argument");
        auto why = keyword ? compare(pair->field("value"), given.field("value")) : compare(*pair, given);
        if (why) return why;
        before.erase(pair);
      } else if (!(layers || building_.is_own(is)) || !building_.is_building(given)) {
        return refusals_.refuse(given);
      } else {
        uses_.note_flags(given);
        moved = true;
      }
    }
    for (const Node& gone : before) {
      if (!(layers || building_.is_own(is)) || !building_.is_building(gone)) return refusals_.refuse(gone, true, is);
      uses_.note_flags(gone);
      moved = true;
    }
  }
  // Each of them may be another parameter's now.
  for (const Node& call : {was, is}) {
    for (const Node& given : call.field("arguments").children()) {
      if (moved) uses_.argument(call, given);
    }
  }
  return std::nullopt;
}

// Of lists of layers, or of numbers.
Expressions::Why Expressions::entries(Node was, Node is) {
  const Nodes old = was.children(), now = is.children();
  const bool places = old.size() == now.size();
  for (const Difference& one : differences(old, now)) {
    if (places && one.was.size() == one.is.size()) {
      for (std::size_t at = 0; at < one.was.size(); ++at) {
        if (auto why = compare(one.was[at], one.is[at])) return why;
      }
      continue;
    }
    for (const Node& gone : one.was) {
      if (!building_.is_building(gone)) return refusals_.refuse(gone, true, is);
    }
    for (const Node& more : one.is) {
      if (!building_.is_building(more)) return refusals_.refuse(more);
      if (!is_plain_code(more)) continue;
      if (auto why = uses_.value(more)) return why;
    }
  }
  return std::nullopt;
}

}  // namespace hotlens::layers
