#include "annotator/lab/layers/effects/reach.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hotlens::layers {
namespace {

bool is_dunder(std::string_view name) {
  return name.starts_with("__") && name.ends_with("__");
}

// Python calls these of objects that a step has, torch a layer's forward.
bool is_called_by_others(std::string_view name) {
  constexpr std::array<std::string_view, 8> kCalled{"__init__",    "__call__", "__getattr__", "__getattribute__",
                                                    "__getitem__", "__iter__", "__len__",     "forward"};
  return std::ranges::find(kCalled, name) != kCalled.end();
}

// `getattr(self, "name")`.
bool names_attribute(Node text) {
  return text.is("string") && text.parent().is("argument_list") && text.text().size() > 2;
}

// Whether the step ran one of these lines, 0-based, the last one included.
bool ran(const Sources& sources, Node code, std::uint32_t first, std::uint32_t last) {
  const auto lines = sources.ran.find(code.code->path());
  if (lines == sources.ran.end()) return false;
  const auto found = lines->second.lower_bound(first);
  return found != lines->second.end() && *found <= last;
}

bool ran(const Sources& sources, Node code) {
  return ran(sources, code, code.range().begin.line, code.range().end.line);
}

// Definitions at the top of a package's file and in its classes.
class Reach {
 public:
  Reach(const Followed& text, const std::set<const void*>& used) : text_(text), used_(used) {
    for (const auto& [path, code] : text.sources.files) {
      if (text.sources.packages.contains(path)) {
        collect(code->root());
      } else {
        read(code->root());
      }
    }
  }

  std::set<const void*> run() {
    while (!open_.empty()) {
      const Node one = open_.front();
      open_.pop_front();
      if (one.is("class_definition")) {
        read_class(one);
      } else {
        read(one);
      }
    }
    std::set<const void*> rest;
    for (const Node& function : functions_) {
      if (!text_.interpreter.ran(function.id()) && !reached_.contains(function.id())) rest.insert(function.id());
    }
    return rest;
  }

 private:
  bool has_lines(Node code) const { return text_.sources.ran.contains(code.code->path()); }

  void collect(Node block) {
    for (const Node& statement : block.children()) {
      const Node definition = statement.is("decorated_definition") ? statement.field("definition") : statement;
      if (definition.is("function_definition")) {
        functions_.push_back(definition);
        by_name_[definition.field("name").text()].push_back(definition);
        if (ran(text_.sources, definition.field("body"))) reach(definition);
      } else if (definition.is("class_definition")) {
        by_name_[definition.field("name").text()].push_back(definition);
        if (used_.contains(definition.id())) reach(definition);
        collect(definition.field("body"));
      } else if (const Node name = assigned(statement)) {
        by_name_[name.text()].push_back(statement);
      } else if (statement.is("if_statement") || statement.is("try_statement") || statement.is("with_statement")) {
        for (const Node& part : statement.children()) collect(part.is("block") ? part : part.field("body"));
      }
    }
  }

  static Node assigned(Node statement) {
    const auto parts = statement.is("expression_statement") ? statement.children() : std::vector<Node>();
    if (parts.size() != 1 || !parts[0].is("assignment") || !parts[0].field("left").is("identifier")) return {};
    return parts[0].field("left");
  }

  // Its methods are reached by their names, since the class has been.
  void read_class(Node type) {
    read(type.field("superclasses"));
    for (const Node& statement : type.field("body").children()) {
      const Node method = statement.is("decorated_definition") ? statement.field("definition") : statement;
      if (!method.is("function_definition")) continue;
      const std::string_view name = method.field("name").text();
      if (is_called_by_others(name) || said_.contains(name)) reach(method);
    }
  }

  void reach(Node definition) {
    // Its lines would be there, or it ran with the model and not in the step.
    const bool idle = definition.is("function_definition") && !ran(text_.sources, definition.field("body"));
    if (idle && (has_lines(definition) || text_.interpreter.ran(definition.id()))) return;
    if (reached_.insert(definition.id()).second) open_.push_back(definition);
  }

  void mention(std::string_view word) {
    if (is_dunder(word) || !said_.insert(word).second) return;
    const auto found = by_name_.find(word);
    if (found == by_name_.end()) return;
    for (const Node& one : found->second) {
      const Node type = one.is("class_definition") ? Node{} : source::enclosing(one, "class_definition");
      if (!type || reached_.contains(type.id())) reach(one);
    }
  }

  void read(Node node) {
    if (!node) return;
    source::walk(node, [&](Node one) {
      if (one.is("block") && was_passed_by(text_.sources, one)) return false;
      const bool own = one.parent().is("function_definition") || one.parent().is("class_definition");
      if (one.is("identifier") && !own) mention(one.text());
      if (names_attribute(one)) mention(one.text().substr(1, one.text().size() - 2));
      return true;
    });
  }

  const Followed& text_;
  const std::set<const void*>& used_;
  std::vector<Node> functions_;
  std::unordered_map<std::string_view, std::vector<Node>> by_name_;
  std::set<std::string_view> said_;
  std::set<const void*> reached_;
  std::deque<Node> open_;
};

}  // namespace

std::set<const void*> out_of_reach(const Followed& text, const std::set<const void*>& used) {
  return Reach(text, used).run();
}

void drop_idle_methods(const Followed& text, const std::set<const void*>& idle) {
  const auto drops = [&](const Ref& function) {
    if (function->kind != Value::Kind::function || !text.sources.packages.contains(function->node.code->path())) return false;
    const bool only_constructs = text.interpreter.ran(function->node.id()) && text.sources.ran.contains(function->node.code->path()) &&
                                 !ran(text.sources, function->node.field("body"));
    return idle.contains(function->node.id()) || (only_constructs && function->text != "__init__");
  };
  for (const auto& [path, scope] : text.interpreter.globals()) {
    for (const auto& [name, type] : scope->names) {
      if (type->kind == Value::Kind::type && type->scope != nullptr)
        std::erase_if(type->scope->names, [&](const auto& one) { return drops(one.second); });
    }
  }
}

bool is_outside_step(const Sources& executed, Node function) {
  return !executed.ran.empty() && !executed.packages.contains(function.code->path()) && !ran(executed, function.field("body"));
}

bool was_passed_by(const Sources& sources, Node use) {
  const Node function = source::enclosing(use, "function_definition");
  if (!function) return false;
  const auto body = function.field("body").children();
  const bool documented = body.size() > 1 && body[0].is("expression_statement") && body[0].children().front().is("string");
  const Node first = body.empty() ? Node{} : body[documented ? 1 : 0];
  // A function in which the loop runs has begun before the step.
  if (!first || !ran(sources, first, first.range().begin.line, first.range().begin.line)) return false;
  if (use.is("block")) return use.id() != function.field("body").id() && !ran(sources, use);
  return !ran(sources, use, source::statement_of(use).range().begin.line, use.range().end.line);
}

}  // namespace hotlens::layers
