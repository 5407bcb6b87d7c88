#include "annotator/lab/layers/match/parts.h"

#include <functional>

#include "annotator/lab/layers/match/chains.h"

namespace hotlens::layers {
namespace {

bool never(Node /*use*/) {
  return false;
}

// Whether the call stands right in the function: not in a loop, nor in a function within it.
bool is_plain_call(Node use, Node function) {
  const Node call = use.parent();
  if (!call.is("call") || call.field("function").id() != use.id() || is_repeated(call)) return false;
  for (Node up = call.parent(); up && up.id() != function.id(); up = up.parent()) {
    if (up.is("lambda") || up.is("function_definition") || up.kind().ends_with("comprehension") || up.is("generator_expression"))
      return false;
  }
  return true;
}

}  // namespace

Parts parts_of_forward(const Ref& type) {
  Parts all;
  const Node forward = method_of(type, "forward");
  if (!forward) return all;
  const std::function<void(const std::string&, Node)> add = [&](const std::string& name, Node function) {
    if (!all.emplace(name, function).second) return;
    source::walk(function.field("body"), [&](Node node) {
      if (!node.is("attribute") || node.field("object").text() != "self") return true;
      const std::string called(node.field("attribute").text());
      const Node method = method_of(type, called);
      const bool known = method && method.is("function_definition") && !method.parent().is("decorated_definition");
      if (!known || method.code->path() != forward.code->path() || !is_plain_call(node, function)) return true;
      int uses = 0;
      for_each_use(type, called, never, [&](Node) { ++uses; });
      if (uses == 1) add(called, method);
      return true;
    });
  };
  add("forward", forward);
  return all;
}

}  // namespace hotlens::layers
