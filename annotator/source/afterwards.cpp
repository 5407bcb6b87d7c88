#include "annotator/source/afterwards.h"

#include <vector>

namespace hotlens::source {
namespace {

void note(Node node, Afterwards& found) {
  if (node.is("call")) {
    const Node callee = node.field("function");
    if (callee && callee.is("attribute")) found.called.emplace(callee.field("attribute").text());
  } else if (node.is("assignment")) {
    const Node target = node.field("left");
    if (!target || !target.is("attribute") || !node.field("right") || target.field("object").text() == "self") return;
    found.assigned.emplace(target.field("attribute").text(), node);
  }
}

}  // namespace

Afterwards afterwards(std::span<const Code* const> scripts) {
  Afterwards found;
  for (const Code* script : scripts) {
    std::vector<Node> open{script->root()};
    while (!open.empty()) {
      const Node node = open.back();
      open.pop_back();
      note(node, found);
      const std::vector<Node> below = node.children();
      open.insert(open.end(), below.begin(), below.end());
    }
  }
  return found;
}

}  // namespace hotlens::source
