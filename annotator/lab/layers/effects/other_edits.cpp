#include "annotator/lab/layers/effects/other_edits.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "annotator/lab/layers/effects/number_uses.h"
#include "annotator/lab/layers/effects/reach.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/match/parts.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

std::vector<Ref> types_of(const Interpreter& followed) {
  std::vector<Ref> types;
  for (const auto& [path, scope] : followed.globals()) {
    for (const auto& [name, value] : scope->names) {
      if (value->kind == Kind::type && value->node) types.push_back(value);
    }
  }
  return types;
}

// Definitions of layers' classes that something makes: what the recording names and what is made on paper, with all that these derive from.
std::set<const void*> classes_in_use(const Followed& text, const Recorded& recorded) {
  std::set<std::string> names;
  for (const auto& [path, module] : recorded) names.insert(module->value("class", ""));
  for (const Ref& module : text.interpreter.modules()) names.insert(class_name(*module));
  std::set<const void*> used;
  for (const Ref& type : types_of(text.interpreter)) {
    if (!names.contains(type->text)) continue;
    for (const Ref& one : text.interpreter.order(type)) used.insert(one->node.id());
  }
  return used;
}

// Classes of layers that nothing makes: by their definitions.
std::set<const void*> idle_classes(const Followed& text, const std::set<const void*>& used) {
  std::set<const void*> idle;
  for (const Ref& type : types_of(text.interpreter)) {
    if (!text.interpreter.layer_of(type).empty() && !used.contains(type->node.id())) idle.insert(type->node.id());
  }
  return idle;
}

// Where two pieces of code begin to differ, in the second.
Node first_difference(Node was, Node is) {
  const auto old = was.children(), now = is.children();
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (at >= old.size()) return now[at];
    if (same_wording(old[at], now[at])) continue;
    return old[at].kind() == now[at].kind() ? first_difference(old[at], now[at]) : now[at];
  }
  return is;
}

// A function of a file's own that no text has a word of but its definition.
bool is_unused(Node function, const Followed& executed, const Followed& edited) {
  if (!function.is("function_definition") || !function.parent().is("module")) return false;
  const std::string_view name = function.field("name").text();
  std::size_t others = 0;
  for (const Followed* one : {&executed, &edited}) {
    for (const auto& [path, code] : one->sources.files) {
      source::walk(code->root(), [&](Node node) {
        const bool own = node.parent().is("function_definition") && node.parent().parent().is("module");
        others += node.is("identifier") && node.text() == name && !own ? 1 : 0;
        return true;
      });
    }
  }
  return others == 0;
}

// Whether methods of modules call it alone, as a part of their `forward`: those that were compared have all that it does.
bool is_only_part(Node function, const Modules& was, const Followed& edited) {
  const std::string name(function.field("name").text());
  for (const auto& [path, module] : was) {
    if (method_of(module->self, name).id() != function.id()) continue;
    const Parts parts = parts_of_forward(module->self);
    const auto part = parts.find(name);
    if (part == parts.end() || part->second.id() != function.id()) return false;
  }
  bool only = true;
  for (const auto& [path, code] : edited.sources.files) {
    if (edited.sources.packages.contains(path)) continue;
    source::walk(code->root(), [&](Node node) {
      only = only && !(node.is("attribute") && node.field("attribute").text() == name && node.field("object").text() != "self");
      return only;
    });
  }
  return only;
}

std::optional<Unclear> edited_function(const Followed& executed, const Followed& edited, const Modules& was,
                                       const std::set<const void*>& compared, const Idle& idle) {
  const auto differs = [&](const auto& path) { return executed.sources.files.at(path) != edited.sources.files.at(path); };
  const Functions old = functions_of(executed.sources.files, differs), now = functions_of(edited.sources.files, differs);
  std::set<const void*> forwards;
  for (const auto& [path, module] : was) forwards.insert(method_of(module->self, "forward").id());
  for (const auto& [name, node] : old) {
    const auto found = now.find(name);
    if (found == now.end() || same_wording(found->second, node)) continue;  // one that went is told by those who called it
    if (executed.interpreter.ran(node.id())) continue;                      // followed; what it made is compared
    if (forwards.contains(node.id())) continue;                             // compared call by call
    if (compared.contains(node.id()) && is_only_part(node, was, edited)) continue;
    if (is_unused(node, executed, edited)) continue;
    if (is_inside(node, idle.then) && is_inside(found->second, idle.now)) continue;
    return Unclear{.reason = source::qualified_name(node) + " was edited; only what constructors make is followed",
                   .at = line_of(first_difference(node, found->second))};
  }
  return std::nullopt;
}

// A number of the script that a function reads which was not followed.
std::optional<Unclear> edited_global(const Followed& executed, const Followed& edited, const Idle& idle) {
  const Functions functions = functions_of(edited.sources.files, [&](const auto& path) { return !edited.sources.packages.contains(path); });
  const auto old_globals = executed.interpreter.globals();
  for (const auto& [path, scope] : edited.interpreter.globals()) {
    const auto held = old_globals.find(path);
    if (held == old_globals.end()) continue;
    for (const auto& [name, value] : scope->names) {
      const auto was = held->second->names.find(name);
      if (was == held->second->names.end() || !is_plain(*value) || written(*was->second) == written(*value)) continue;
      for (const auto& [key, function] : functions) {
        if (edited.interpreter.ran(function.id()) || function.code->path() != path || is_inside(function, idle.now)) continue;
        if (const Node use = other_use(function, name, false))
          return Unclear{
              .reason = source::qualified_name(function) + " uses " + name + ", which was edited; what it does with it is not followed",
              .at = line_of(use)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Unclear> edited_script(const Interpreter& executed, const Interpreter& edited) {
  const auto [one, other] = std::ranges::mismatch(executed.facts(), edited.facts(), {}, &Fact::words, &Fact::words);
  if (one == executed.facts().end() && other == edited.facts().end()) return std::nullopt;
  const bool gone = other == edited.facts().end();
  return Unclear{.reason = "something else than layers was edited: " + excerpt(gone ? one->at : other->at),
                 .at = gone ? Line{} : line_of(other->at)};
}

}  // namespace

std::vector<Line> edited_lines(const Sources& executed, const Sources& edited) {
  std::vector<Line> all;
  for (const auto& [path, code] : edited.files) {
    const auto was = executed.files.find(path);
    if (was != executed.files.end() && was->second != code && !same_wording(was->second->root(), code->root()))
      all.push_back(line_of(first_difference(was->second->root(), code->root())));
  }
  return all;
}

bool is_inside(Node node, const std::set<const void*>& definitions) {
  for (; node; node = node.parent()) {
    if (definitions.contains(node.id())) return true;
  }
  return false;
}

Idle idle_of(const Followed& executed, const Followed& edited, const Recorded& recorded) {
  const std::set<const void*> used = classes_in_use(edited, recorded);
  Idle idle{.then = idle_classes(executed, classes_in_use(executed, recorded)), .now = idle_classes(edited, used)};
  idle.now.merge(out_of_reach(edited, used));
  return idle;
}

std::string excerpt(Node code) {
  constexpr std::size_t kMost = 100;
  std::string_view line = code.text().substr(0, code.text().find('\n'));
  return std::string(line.substr(0, kMost));
}

std::optional<Unclear> failure(const Interpreter& executed, const Interpreter& edited) {
  if (edited.failures().size() <= executed.failures().size()) return std::nullopt;
  const Fact& first = edited.failures()[executed.failures().size()];
  return Unclear{.reason = "the script ends here: " + excerpt(first.at) + first.words, .at = line_of(first.at)};
}

std::optional<Unclear> other_edit(const Followed& executed, const Followed& edited, const Modules& was,
                                  const std::set<const void*>& compared, const Idle& idle) {
  if (auto why = edited_function(executed, edited, was, compared, idle)) return why;
  if (auto why = edited_global(executed, edited, idle)) return why;
  return edited_script(executed.interpreter, edited.interpreter);
}

}  // namespace hotlens::layers
