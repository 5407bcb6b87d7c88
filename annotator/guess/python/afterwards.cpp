#include "annotator/guess/python/afterwards.h"

namespace hotlens::guess {
namespace {

bool is_of_self(Node attribute) {
  return attribute.field("object").text() == "self";
}

// The text of a string; '*' for every other expression.
std::string name_in(Node expression) {
  const std::vector<Node> text = expression.is("string") ? expression.children() : std::vector<Node>{};
  return text.size() == 3 && text[1].is("string_content") ? std::string(text[1].text()) : "*";
}

void note_call(Node call, Afterwards& found) {
  const Node callee = call.field("function");
  if (callee.is("attribute")) found.called.emplace(callee.field("attribute").text());
  const std::vector<Node> given = call.field("arguments").children();
  const bool sets = callee.text() == "setattr" && given.size() == 3 && given[0].text() != "self";
  if (sets) found.given.push_back({.name = name_in(given[1]), .value = given[2], .statement = call});
}

void note_assignment(Node node, Afterwards& found) {
  const Node target = node.field("left"), value = node.field("right");
  const bool entry = target.is("subscript");
  const Node attribute = entry ? target.field("value") : target;
  if (!value || !attribute.is("attribute") || is_of_self(attribute)) return;
  const std::string name(attribute.field("attribute").text());
  if (entry && name == "_modules") {
    found.given.push_back({.name = name_in(target.field("subscript")), .value = value, .statement = node});
  } else {
    found.given.push_back({.name = name, .entry = entry, .value = value, .statement = node});
  }
}

}  // namespace

Afterwards afterwards(std::span<const Code* const> scripts) {
  Afterwards found;
  const auto note = [&](Node node) {
    if (node.is("call")) note_call(node, found);
    if (node.is("assignment")) note_assignment(node, found);
    return true;
  };
  for (const Code* script : scripts) walk(script->root(), note);
  return found;
}

}  // namespace hotlens::guess
