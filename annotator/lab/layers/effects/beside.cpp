#include "annotator/lab/layers/effects/beside.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/layers/effects/building.h"
#include "annotator/lab/layers/effects/expressions_beside.h"
#include "annotator/lab/layers/effects/statement_pairs.h"
#include "annotator/lab/layers/effects/uses.h"
#include "annotator/lab/layers/match/methods.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using Why = std::optional<Unclear>;

// Libraries whose import alone changes no step.
constexpr std::array<std::string_view, 40> kQuiet{"torch",       "numpy",
                                                  "math",        "typing",
                                                  "os",          "sys",
                                                  "time",        "logging",
                                                  "json",        "random",
                                                  "pathlib",     "collections",
                                                  "itertools",   "functools",
                                                  "argparse",    "dataclasses",
                                                  "contextlib",  "warnings",
                                                  "re",          "tqdm",
                                                  "matplotlib",  "pandas",
                                                  "torchvision", "einops",
                                                  "rich",        "wandb",
                                                  "pprint",      "copy",
                                                  "datetime",    "string",
                                                  "abc",         "enum",
                                                  "types",       "inspect",
                                                  "csv",         "glob",
                                                  "shutil",      "typing_extensions",
                                                  "__future__",  "yaml"};

// What torch.nn.Module has itself: a method of this name is called by others than the text shows.
constexpr std::array<std::string_view, 22> kOfModules{"forward",
                                                      "train",
                                                      "eval",
                                                      "parameters",
                                                      "named_parameters",
                                                      "modules",
                                                      "children",
                                                      "named_modules",
                                                      "apply",
                                                      "to",
                                                      "cuda",
                                                      "cpu",
                                                      "half",
                                                      "float",
                                                      "double",
                                                      "bfloat16",
                                                      "zero_grad",
                                                      "state_dict",
                                                      "buffers",
                                                      "requires_grad_",
                                                      "register_buffer",
                                                      "named_children"};

Nodes names_of_import(Node statement) {
  Nodes all;
  const Node from = statement.field("module_name");
  for (const Node& one : statement.children()) {
    if (from && one.id() == from.id()) continue;
    all.push_back(one.is("aliased_import") ? one.field("alias") : one);
  }
  return all;
}

// Whether it keeps, or gives on, something that a name stands for in a loop of steps: `losses.append(loss)` holds all that made the loss.
bool holds_in_step(Node statement) {
  bool names = false, in_loop = false;
  const Node part = statement.is("expression_statement") ? statement.child() : statement;
  const Node held = part.is("call") ? part.field("arguments") : part.field("right") ? part.field("right") : part;
  source::walk(held, [&](Node node) {
    names = names || node.is("identifier");
    return !names;
  });
  for (Node up = statement.parent(); up && names && !up.is("class_definition"); up = up.parent()) {
    if (!up.is("for_statement") && !up.is("while_statement")) continue;
    source::walk(up.field("body"), [&](Node node) {
      const Node callee = node.is("call") ? node.field("function") : Node{};
      in_loop = in_loop || (callee.is("attribute") && callee.field("attribute").text() == "backward");
      return !in_loop;
    });
  }
  return in_loop;
}

class BesideComparison {
 public:
  BesideComparison(const Followed& executed, const Followed& edited, const Modules& was, const Modules& is, const Idle& idle)
      : executed_(executed),
        edited_(edited),
        idle_(idle),
        building_(executed, edited),
        uses_(edited, idle, building_),
        refusals_(is),
        expressions_(building_, uses_, refusals_) {
    for (const auto& [path, module] : was) forwards_.insert(method_of(module->self, "forward").id());
  }

  Why run() {
    for (const auto& [path, code] : executed_.sources.files) {
      const auto now = edited_.sources.files.find(path);
      if (now == edited_.sources.files.end() || now->second == code) continue;
      if (auto why = block(code->root(), now->second->root())) return why;
    }
    return uses_.run();
  }

  bool draws() const { return uses_.draws(); }
  const std::vector<Sized>& sized() const { return uses_.sized(); }

 private:
  Why refuse(Node at, bool gone = false, Node near = {}) const { return refusals_.refuse(at, gone, near); }

  Why block(Node was, Node is) {
    for (const Difference& one : differences(was.children(), is.children())) {
      if (auto why = difference(one, is)) return why;
    }
    return std::nullopt;
  }

  Why difference(const Difference& between, Node around) {
    std::size_t i = 0;
    const Node near = between.is.empty() ? around : between.is.front();
    for (const Node& now : between.is) {
      std::size_t pair = i;
      while (pair < between.was.size() && !is_same_statement(between.was[pair], now)) ++pair;
      if (pair == between.was.size()) {
        if (auto why = came(now)) return why;
        continue;
      }
      for (; i < pair; ++i) {
        if (auto why = went(between.was[i], now)) return why;
      }
      if (auto why = changed(between.was[i++], now)) return why;
    }
    for (; i < between.was.size(); ++i) {
      if (auto why = went(between.was[i], near)) return why;
    }
    return std::nullopt;
  }

  bool is_visited(Node statement) const {
    return executed_.interpreter.visited(statement.id()) || edited_.interpreter.visited(statement.id());
  }

  // In code that is not followed, as a step, what is told may be told of tensors: that waits for them.
  bool tells(Node statement) const { return is_silent(statement) || (is_remark(statement) && is_visited(statement)); }

  Why came(Node statement) {
    if (tells(statement)) return std::nullopt;
    const Node definition = definition_of(statement);
    if (is_definition(definition)) return is_new(definition) ? std::nullopt : refuse(statement);
    if (statement.kind().starts_with("import") || statement.is("future_import_statement")) return import(statement);
    if (!is_visited(statement) || holds_in_step(statement) || !building_.is_building_statement(statement)) return refuse(statement);
    bind(statement);
    return std::nullopt;
  }

  Why went(Node statement, Node near) {
    if (tells(statement)) return std::nullopt;
    const Node definition = definition_of(statement);
    if (is_definition(definition)) {
      const bool idle = is_inside(definition, idle_.then);
      const std::string name(definition.field("name").text());
      if (!idle && (is_among(kOfModules, name) || name.starts_with("__"))) return refuse(statement, true, near);
      return idle || !uses_.mentions(name) ? std::nullopt : refuse(statement, true, near);
    }
    if (statement.kind().starts_with("import")) {
      for (const Node& name : names_of_import(statement)) {
        if (uses_.mentions(std::string(name.text()))) return refuse(statement, true, near);
      }
      return import(statement);
    }
    if (!is_visited(statement) || holds_in_step(statement) || !building_.is_building_statement(statement))
      return refuse(statement, true, near);
    // What it gave a number may still be asked for.
    Why why;
    source::walk(statement, [&](Node node) {
      const Node left = node.is("assignment") && node.field("right") && is_plain_code(node.field("right")) ? node.field("left") : Node{};
      source::walk(left ? left : Node{}, [&](Node one) {
        const std::string name(one.is("identifier") ? one.text() : std::string_view());
        if (!name.empty() && name != "self" && uses_.mentions(name)) why = refuse(statement, true, near);
        return true;
      });
      return true;
    });
    return why;
  }

  // The names that a statement gives numbers.
  void bind(Node statement) {
    source::walk(statement, [&](Node node) {
      if (node.is("assignment") || node.is("augmented_assignment")) {
        const Node right = node.field("right");
        const bool number = right && is_plain_code(right);
        const bool parts = right && (right.is("expression_list") || right.is("tuple"));
        if (number || parts) uses_.targets(node.field("left"), right);
      }
      return true;
    });
  }

  bool has_word(const std::string& name) const {
    if (!words_) {
      words_.emplace();
      for (const auto& [path, code] : executed_.sources.files) {
        source::walk(code->root(), [&](Node node) {
          if (node.is("identifier")) words_->insert(std::string(node.text()));
          return true;
        });
      }
    }
    return words_->contains(name);
  }

  // A function or class that the executed text has no word of.
  bool is_new(Node definition) const {
    const std::string name(definition.field("name").text());
    if (has_word(name) || is_among(kOfModules, name) || name.starts_with("__")) return false;
    const Node parameters = definition.field("parameters");
    for (const Node& one : parameters ? parameters.children() : Nodes()) {
      if (one.field("value") && !is_plain_code(one.field("value"))) return false;
    }
    const Node above = definition.parent();
    if (!above.is("decorated_definition")) return true;
    constexpr std::array<std::string_view, 5> kKnown{"dataclass", "staticmethod", "classmethod", "property", "dataclasses.dataclass"};
    return std::ranges::all_of(above.children("decorator"), [&](const Node& one) {
      std::string_view text = one.text().substr(1);
      return is_among(kKnown, text.substr(0, text.find('(')));
    });
  }

  Why import(Node statement) const {
    const Node from = statement.field("module_name");
    Nodes modules = from ? Nodes{from} : statement.children();
    for (const Node& one : modules) {
      const std::string_view name = one.is("aliased_import") ? one.field("name").text() : one.text();
      if (!is_among(kQuiet, name.substr(0, name.find('.'))) && !statement.is("future_import_statement")) return refuse(statement);
    }
    for (const Node& name : names_of_import(statement)) {
      if (name.is("wildcard_import") || has_word(std::string(name.text()))) return unless_known(statement, name);
    }
    return std::nullopt;
  }

  // A name that the executed text has, too: another import of the same thing is none.
  Why unless_known(Node statement, Node name) const {
    const Node from = statement.field("module_name");
    for (const auto& [path, code] : executed_.sources.files) {
      if (path != statement.code->path()) continue;
      bool known = false;
      source::walk(code->root(), [&](Node node) {
        if (!node.kind().starts_with("import")) return node.is("module");
        const Node other = node.field("module_name");
        for (const Node& one : names_of_import(node)) {
          known = known || (one.text() == name.text() && wording(one.parent()) == wording(name.parent()) && other.text() == from.text());
          known = known || (one.text() == name.text() && !from && !other);
          known = known || (from && other && one.text() == name.text() && other.text() == from.text() &&
                            !one.parent().is("aliased_import") && !name.parent().is("aliased_import"));
        }
        return false;
      });
      if (known) return std::nullopt;
    }
    return refuse(statement);
  }

  Why changed(Node was, Node is) {
    if (is_inside(was, idle_.then) && is_inside(is, idle_.now)) return std::nullopt;
    if (tells(was) && tells(is)) return std::nullopt;
    if (is.is("decorated_definition")) return decorated(was, is);
    if (is.is("class_definition")) return type(was, is);
    if (is.is("function_definition")) return function(was, is);
    if (is.kind().starts_with("import")) {
      if (auto why = went_import(was, is)) return why;
      return import(is);
    }
    if (!is_visited(was) || !is_visited(is)) return refuse(is);
    const Node old = assignment_of(was), now = assignment_of(is);
    if (old && now) {
      if (old.kind() != now.kind() || wording(old.field("left")) != wording(now.field("left")) || !old.field("right") ||
          !now.field("right") || wording(old.field("operator")) != wording(now.field("operator")))
        return refuse(is);
      return expressions_.compare(old.field("right"), now.field("right"));
    }
    if (call_of(was) && call_of(is)) return expressions_.compare(call_of(was), call_of(is));
    return compound(was, is);
  }

  Why went_import(Node was, Node is) const {
    std::set<std::string_view> kept;
    for (const Node& name : names_of_import(is)) kept.insert(name.text());
    if (was.field("module_name").text() != is.field("module_name").text()) return refuse(is);
    for (const Node& name : names_of_import(was)) {
      if (!kept.contains(name.text()) && uses_.mentions(std::string(name.text()))) return refuse(is);
    }
    return std::nullopt;
  }

  Why decorated(Node was, Node is) {
    const Nodes old = was.children("decorator"), now = is.children("decorator");
    for (const Difference& one : differences(old, now)) {
      return one.is.empty() ? refuse(one.was.front(), true, is) : refuse(one.is.front());
    }
    return changed(was.field("definition"), is.field("definition"));
  }

  Why type(Node was, Node is) {
    if (idle_.then.contains(was.id()) && idle_.now.contains(is.id())) return std::nullopt;
    if (wording(was.field("superclasses")) != wording(is.field("superclasses"))) return refuse(is);
    return block(was.field("body"), is.field("body"));
  }

  // A function that was followed. What `forward` calls, and whatever else was edited that is not followed, is told elsewhere.
  Why function(Node was, Node is) {
    if (!executed_.interpreter.ran(was.id()) || forwards_.contains(was.id())) return std::nullopt;
    for (const Difference& one : differences(was.field("parameters").children(), is.field("parameters").children())) {
      for (const Nodes* some : {&one.was, &one.is}) {
        for (const Node& parameter : *some) {
          const Node value = parameter.field("value");
          if (value && !is_plain_code(value)) return refuse(is.field("parameters"));
          if (!value && !parameter.is("identifier") && !parameter.is("typed_parameter")) return refuse(is.field("parameters"));
        }
      }
    }
    const Nodes old = was.field("parameters").children(), now = is.field("parameters").children();
    for (std::size_t at = 0; at < now.size(); ++at) {
      if (at >= old.size() || !same_wording(old[at], now[at])) uses_.parameter(is, now[at]);
    }
    return block(was.field("body"), is.field("body"));
  }

  // Its blocks one by one; what stands before each.
  Why compound(Node was, Node is) {
    const Nodes old = was.children(), now = is.children();
    if (old.size() != now.size() || was.is("with_statement")) {
      const bool body = was.is("with_statement") && old.size() == now.size() && wording(old.front()) == wording(now.front());
      return body ? block(was.field("body"), is.field("body")) : refuse(is);
    }
    for (std::size_t at = 0; at < old.size(); ++at) {
      if (same_wording(old[at], now[at])) continue;
      if (old[at].kind() != now[at].kind()) return refuse(now[at]);
      const bool clause = old[at].kind().ends_with("_clause");
      auto why = old[at].is("block") ? block(old[at], now[at])
                 : clause            ? compound(old[at], now[at])
                                     : expressions_.compare(old[at], now[at]);
      if (why) return why;
    }
    return std::nullopt;
  }

  const Followed &executed_, &edited_;
  const Idle& idle_;
  Building building_;
  Uses uses_;
  Refusals refusals_;
  Expressions expressions_;
  std::set<const void*> forwards_;
  mutable std::optional<std::set<std::string>> words_;  // of the executed texts, once somebody asks
};

}  // namespace

std::expected<Beside, Unclear> edit_beside(const Followed& executed, const Followed& edited, const Modules& was, const Modules& is,
                                           const Idle& idle) {
  BesideComparison comparison(executed, edited, was, is, idle);
  if (auto why = comparison.run()) return std::unexpected(std::move(*why));
  return Beside{.draws = comparison.draws(), .sized = comparison.sized()};
}

}  // namespace hotlens::layers
