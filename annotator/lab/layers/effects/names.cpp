#include "annotator/lab/layers/effects/names.h"

#include "annotator/lab/layers/match/methods.h"

namespace hotlens::layers {
namespace {

bool binds(Node function, std::string_view name) {
  const Node parameters = function.field("parameters");
  for (const Node& one : parameters ? parameters.children() : std::vector<Node>()) {
    if (parameter_name(one) == name) return true;
  }
  bool found = false;
  const auto seek = [&](Node node) {
    const bool assigns = node.is("assignment") || node.is("for_statement") || node.is("for_in_clause") || node.is("augmented_assignment");
    if (assigns)
      source::walk(node.field("left"), [&](Node one) {
        found = found || (one.is("identifier") && one.text() == name);
        return !one.is("attribute") && !one.is("subscript");
      });
    return !found;
  };
  source::walk(function.field("body"), seek);
  return found;
}

}  // namespace

Node function_around(Node node) {
  Node up = node.parent();
  while (up && !up.is("function_definition") && !up.is("lambda")) up = up.parent();
  return up;
}

Node definition_around(Node node) {
  Node up = node.parent();
  while (up && !up.is("function_definition") && !up.is("lambda") && !up.is("class_definition")) up = up.parent();
  return up;
}

bool is_field_of(Node child, Node above, std::string_view field) {
  const Node held = above.field(field);
  return held && held.id() == child.id();
}

std::string parameter_name(Node parameter) {
  const Node named = parameter.field("name");
  if (named) return std::string(named.text());
  if (parameter.is("identifier")) return std::string(parameter.text());
  return parameter.children().empty() ? std::string() : parameter_name(parameter.children().front());
}

bool has_decorator(Node definition, std::string_view name) {
  const Node above = definition.parent();
  if (!above.is("decorated_definition")) return false;
  const std::string_view text = above.text();
  return text.substr(0, text.find(definition.text())).find(name) != std::string_view::npos;
}

Names::Names(const Sources& sources, const Idle& idle) {
  for (const auto& [path, code] : sources.files) {
    source::walk(code->root(), [&](Node node) {
      if (node.is("identifier")) index_[std::string(node.text())].push_back(node);
      return !idle.now.contains(node.id());
    });
  }
}

const std::vector<Node>& Names::spelled(std::string_view name) const {
  static const std::vector<Node> kNone;
  const auto found = index_.find(name);
  return found == index_.end() ? kNone : found->second;
}

Node Names::scope_of(Node node, const std::string& name) const {
  for (Node around = definition_around(node); around; around = definition_around(around)) {
    if (around.is("class_definition") || !binds(around, name)) continue;
    const bool global = around.text().find("global " + name) != std::string_view::npos;
    if (!global) return around;
  }
  return node.code->root();
}

std::vector<Node> Names::all_of(const Named& named) const {
  std::vector<Node> all;
  for (const Node& one : spelled(named.name)) {
    const Node above = one.parent();
    const bool attribute = above.is("attribute") && is_field_of(one, above, "attribute");
    const bool keyword = above.is("keyword_argument") && is_field_of(one, above, "name");
    if (keyword) continue;
    const bool elsewhere = named.scope && named.scope.is("module") && one.code != named.scope.code;
    if (named.attribute || (attribute && elsewhere)) {
      // `x.size(0)` of a tensor is no use of `self.size`.
      const Node call = above.parent();
      const bool method =
          call && call.is("call") && is_field_of(above, call, "function") && !above.field("object").text().starts_with("self");
      if (attribute && !method) all.push_back(above);
      continue;
    }
    if (attribute) continue;
    const bool local = !named.scope.is("module");
    const bool here = local ? is_within(one, named.scope) : elsewhere || scope_of(one, named.name).id() == named.scope.id();
    const bool imported =
        !elsewhere || named.scope.code->path().stem().string().empty() || one.code->text().find("import") != std::string::npos;
    if (here && imported && (!elsewhere || scope_of(one, named.name).is("module"))) all.push_back(one);
  }
  return all;
}

}  // namespace hotlens::layers
