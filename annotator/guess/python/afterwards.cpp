#include "annotator/guess/python/afterwards.h"

#include <vector>

namespace hotlens::guess {
namespace {

bool is_of_self(Node attribute) {
  return attribute.field("object").text() == "self";
}

void note_given(Node name, Afterwards::Given given, Afterwards& found) {
  const std::vector<Node> text = name.children();
  const bool literal = name.is("string") && text.size() == 3 && text[1].is("string_content");
  if (literal) {
    found.assigned.emplace(text[1].text(), given);
  } else {
    found.anywhere.push_back(given);
  }
}

void note_setattr(Node call, Afterwards& found) {
  const Node list = call.field("arguments");
  const std::vector<Node> given = list ? list.children() : std::vector<Node>{};
  if (given.size() == 3 && given[0].text() != "self") note_given(given[1], {given[2], call}, found);
}

void note(Node node, Afterwards& found) {
  if (node.is("call")) {
    const Node callee = node.field("function");
    if (callee && callee.is("attribute")) found.called.emplace(callee.field("attribute").text());
    if (callee && callee.text() == "setattr") note_setattr(node, found);
  } else if (node.is("assignment")) {
    const Node target = node.field("left"), value = node.field("right");
    if (!target || !value) return;
    const Node holder = target.is("subscript") ? target.field("value") : Node{};
    if (target.is("attribute") && !is_of_self(target))
      found.assigned.emplace(target.field("attribute").text(), Afterwards::Given{value, node});
    if (!holder || !holder.is("attribute") || is_of_self(holder)) return;
    if (holder.field("attribute").text() == "_modules") {
      note_given(target.field("subscript"), {value, node}, found);
    } else {
      found.entered.emplace(holder.field("attribute").text(), Afterwards::Given{value, node});
    }
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

}  // namespace hotlens::guess
