#include "annotator/lab/layers/beside.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/layers/methods.h"
#include "annotator/lab/layers/uses.h"
#include "annotator/lab/layers/wording.h"

namespace hotlens::layers {
namespace {

using Why = std::optional<Unclear>;
using Nodes = std::vector<Node>;

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

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

// Pairs of equal ones, in order, as many as can be.
template <class Equal>
std::vector<std::pair<std::size_t, std::size_t>> common(const Nodes& was, const Nodes& is, const Equal& equal) {
  std::vector<std::vector<std::size_t>> best(was.size() + 1, std::vector<std::size_t>(is.size() + 1));
  std::vector<std::vector<char>> same(was.size(), std::vector<char>(is.size()));
  for (std::size_t i = was.size(); i-- > 0;) {
    for (std::size_t j = is.size(); j-- > 0;) {
      same[i][j] = equal(i, j) ? 1 : 0;
      best[i][j] = same[i][j] != 0 ? 1 + best[i + 1][j + 1] : std::max(best[i + 1][j], best[i][j + 1]);
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0, j = 0; i < was.size() && j < is.size();) {
    if (same[i][j] != 0) {
      pairs.emplace_back(i++, j++);
    } else {
      ++(best[i + 1][j] >= best[i][j + 1] ? i : j);
    }
  }
  return pairs;
}

struct Difference {
  Nodes was, is;
};

// Runs of nodes between those that are the same in both.
std::vector<Difference> differences(const Nodes& was, const Nodes& is) {
  std::vector<std::string> a, b;
  for (const Node& one : was) a.push_back(wording(one));
  for (const Node& one : is) b.push_back(wording(one));
  // What begins and ends alike is left out of the square.
  std::size_t first = 0, last = 0;
  while (first < a.size() && first < b.size() && a[first] == b[first]) ++first;
  while (first + last < a.size() && first + last < b.size() && a[a.size() - 1 - last] == b[b.size() - 1 - last]) ++last;
  const auto middle = [&](const Nodes& all) {
    return Nodes(all.begin() + static_cast<std::ptrdiff_t>(first), all.end() - static_cast<std::ptrdiff_t>(last));
  };
  const Nodes old = middle(was), now = middle(is);
  auto pairs = common(old, now, [&](std::size_t i, std::size_t j) { return a[first + i] == b[first + j]; });
  pairs.emplace_back(old.size(), now.size());
  std::vector<Difference> found;
  std::size_t i = 0, j = 0;
  for (const auto& [next_i, next_j] : pairs) {
    Difference one;
    for (; i < next_i; ++i) one.was.push_back(old[i]);
    for (; j < next_j; ++j) one.is.push_back(now[j]);
    ++i, ++j;
    if (!one.was.empty() || !one.is.empty()) found.push_back(std::move(one));
  }
  return found;
}

Node definition_of(Node statement) {
  return statement.is("decorated_definition") ? statement.field("definition") : statement;
}

bool is_definition(Node node) {
  return node.is("function_definition") || node.is("class_definition");
}

Node assignment_of(Node statement) {
  const auto parts = statement.is("expression_statement") ? statement.children() : Nodes();
  return parts.size() == 1 && (parts[0].is("assignment") || parts[0].is("augmented_assignment")) ? parts[0] : Node{};
}

Node call_of(Node statement) {
  const auto parts = statement.is("expression_statement") ? statement.children() : Nodes();
  return parts.size() == 1 && parts[0].is("call") ? parts[0] : Node{};
}

// Whether one statement is what has become of the other.
bool is_same_statement(Node was, Node is) {
  if (was.kind() != is.kind()) return false;
  const Node old = definition_of(was), now = definition_of(is);
  if (is_definition(old) || is_definition(now)) return old.kind() == now.kind() && old.field("name").text() == now.field("name").text();
  const Node a = assignment_of(was), b = assignment_of(is);
  if (a && b) return wording(a.field("left")) == wording(b.field("left"));
  if (call_of(was) && call_of(is)) return wording(call_of(was).field("function")) == wording(call_of(is).field("function"));
  return !was.is("expression_statement");
}

Nodes names_of_import(Node statement) {
  Nodes all;
  const Node from = statement.field("module_name");
  for (const Node& one : statement.children()) {
    if (from && one.id() == from.id()) continue;
    all.push_back(one.is("aliased_import") ? one.field("alias") : one);
  }
  return all;
}

class Comparison {
 public:
  Comparison(const Followed& executed, const Followed& edited, const Modules& was, const Modules& is, const Idle& idle)
      : executed_(executed), edited_(edited), idle_(idle), uses_(executed, edited, idle) {
    for (const auto& [path, module] : was) forwards_.insert(method_of(module->self, "forward").id());
    for (const auto& [path, module] : is) {
      const Node site = module->self->kind == Value::Kind::type ? module->self->node : Node{};
      if (site) sites_.try_emplace(site.id(), path);
      if (module->node) sites_.try_emplace(module->node.id(), path);
    }
    for (const auto& [path, code] : executed.sources.files) {
      guess::walk(code->root(), [&](Node node) {
        if (node.is("identifier")) words_.insert(std::string(node.text()));
        return true;
      });
    }
  }

  Why run() {
    for (const auto& [path, code] : executed_.sources.files) {
      const auto now = edited_.sources.files.find(path);
      if (now == edited_.sources.files.end() || now->second == code) continue;
      if (auto why = block(code->root(), now->second->root())) return why;
    }
    return uses_.run();
  }

 private:
  // The module that the code makes, is an argument of, or stands in the class of.
  std::string module_of(Node code) const {
    std::set<std::string> inside;
    guess::walk(code, [&](Node node) {
      if (const auto found = sites_.find(node.id()); found != sites_.end()) inside.insert(found->second);
      return true;
    });
    if (inside.size() == 1) return *inside.begin();
    for (Node up = code; up; up = up.parent()) {
      if (const auto found = sites_.find(up.id()); found != sites_.end()) return found->second;
    }
    return {};
  }

  Why refuse(Node at, bool gone = false, Node near = {}) const {
    const Node statement = guess::statement_of(at);
    return Unclear{.reason = "something else than layers was edited: " + excerpt(statement) + (gone ? " is gone" : ""),
                   .module = module_of(gone ? near : at),
                   .at = line_of(gone ? near : at)};
  }

  // Statements.
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
    if (!is_visited(statement) || !uses_.is_building_statement(statement)) return refuse(statement);
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
    if (!is_visited(statement) || !uses_.is_building_statement(statement)) return refuse(statement, true, near);
    // What it gave a number may still be asked for.
    Why why;
    guess::walk(statement, [&](Node node) {
      const Node left =
          node.is("assignment") && node.field("right") && uses_.is_plain_code(node.field("right")) ? node.field("left") : Node{};
      guess::walk(left ? left : Node{}, [&](Node one) {
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
    guess::walk(statement, [&](Node node) {
      if (node.is("assignment") || node.is("augmented_assignment")) {
        const Node right = node.field("right");
        const bool number = right && uses_.is_plain_code(right);
        const bool parts = right && (right.is("expression_list") || right.is("tuple"));
        if (number || parts) uses_.targets(node.field("left"), right);
      }
      return true;
    });
  }

  // A function or class that the executed text has no word of.
  bool is_new(Node definition) const {
    const std::string name(definition.field("name").text());
    if (words_.contains(name) || is_among(kOfModules, name) || name.starts_with("__")) return false;
    const Node parameters = definition.field("parameters");
    for (const Node& one : parameters ? parameters.children() : Nodes()) {
      if (one.field("value") && !uses_.is_plain_code(one.field("value"))) return false;
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
      if (name.is("wildcard_import") || words_.contains(std::string(name.text()))) return unless_known(statement, name);
    }
    return std::nullopt;
  }

  // A name that the executed text has, too: another import of the same thing is none.
  Why unless_known(Node statement, Node name) const {
    const Node from = statement.field("module_name");
    for (const auto& [path, code] : executed_.sources.files) {
      if (path != statement.code->path()) continue;
      bool known = false;
      guess::walk(code->root(), [&](Node node) {
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
      return expression(old.field("right"), now.field("right"));
    }
    if (call_of(was) && call_of(is)) return expression(call_of(was), call_of(is));
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
          if (value && !uses_.is_plain_code(value)) return refuse(is.field("parameters"));
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
      auto why = old[at].is("block") ? block(old[at], now[at]) : clause ? compound(old[at], now[at]) : expression(old[at], now[at]);
      if (why) return why;
    }
    return std::nullopt;
  }

  // Expressions.
  Why expression(Node was, Node is) {
    if (same_wording(was, is)) return std::nullopt;
    if (was.is("call") && is.is("call")) return call(was, is);
    if (uses_.is_plain_code(was) && uses_.is_plain_code(is)) return number(was, is);
    if (is_list(was) && was.kind() == is.kind()) return entries(was, is);
    if (uses_.is_building(was) && uses_.is_building(is)) return made(is);
    const Nodes old = was.children(), now = is.children();
    if (was.kind() != is.kind() || old.size() != now.size() || old.empty() || was.is("lambda") || marks(was) != marks(is))
      return refuse(is);
    for (std::size_t at = 0; at < old.size(); ++at) {
      if (auto why = expression(old[at], now[at])) return why;
    }
    return std::nullopt;
  }

  static std::string marks(Node node) {
    std::string all;
    for (std::uint32_t at = 0; at < ts_node_child_count(node.node); ++at) {
      const Node child{node.code, ts_node_child(node.node, at)};
      if (!child.is("comment")) all += ts_node_is_named(child.node) ? std::string_view("_") : child.text();
    }
    return all;
  }

  static bool is_list(Node node) { return node.is("list") || node.is("tuple") || node.is("expression_list") || node.is("argument_list"); }

  // Numbers among numbers: each at its place where there are as many.
  Why number(Node was, Node is) {
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
  Why made(Node is) {
    if (is.is("call") && uses_.built(is)) return std::nullopt;
    return uses_.is_plain_code(is) ? uses_.value(is) : std::nullopt;
  }

  Why call(Node was, Node is) {
    const Node old = was.field("function"), now = is.field("function");
    const bool layers = uses_.built(was) && uses_.built(is);
    if (same_wording(old, now)) return arguments(was, is, layers);
    if (uses_.is_building(was) && uses_.is_building(is)) return std::nullopt;
    const bool methods = old.is("attribute") && now.is("attribute") && old.field("attribute").text() == now.field("attribute").text();
    if (!methods) return refuse(is);
    if (auto why = expression(old.field("object"), now.field("object"))) return why;
    return arguments(was, is, layers);
  }

  Why arguments(Node was, Node is, bool layers) {
    const Node old = was.field("arguments"), now = is.field("arguments");
    if (!old.is("argument_list") || !now.is("argument_list")) return expression(old, now);
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
          auto why = keyword ? expression(pair->field("value"), given.field("value")) : expression(*pair, given);
          if (why) return why;
          before.erase(pair);
        } else if (!(layers || uses_.is_own(is)) || !uses_.is_building(given)) {
          return refuse(given);
        } else {
          moved = true;
        }
      }
      for (const Node& gone : before) {
        if (!(layers || uses_.is_own(is)) || !uses_.is_building(gone)) return refuse(gone, true, is);
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
  Why entries(Node was, Node is) {
    const Nodes old = was.children(), now = is.children();
    const bool places = old.size() == now.size();
    for (const Difference& one : differences(old, now)) {
      if (places && one.was.size() == one.is.size()) {
        for (std::size_t at = 0; at < one.was.size(); ++at) {
          if (auto why = expression(one.was[at], one.is[at])) return why;
        }
        continue;
      }
      for (const Node& gone : one.was) {
        if (!uses_.is_building(gone)) return refuse(gone, true, is);
      }
      for (const Node& more : one.is) {
        if (!uses_.is_building(more)) return refuse(more);
        if (!uses_.is_plain_code(more)) continue;
        if (auto why = uses_.value(more)) return why;
      }
    }
    return std::nullopt;
  }

  const Followed &executed_, &edited_;
  const Idle& idle_;
  Uses uses_;
  std::set<const void*> forwards_;
  std::map<const void*, std::string> sites_;  // of the edited text: what makes a module, and its class
  std::set<std::string> words_;               // of the executed texts
};

}  // namespace

std::optional<Unclear> edit_beside(const Followed& executed, const Followed& edited, const Modules& was, const Modules& is,
                                   const Idle& idle) {
  return Comparison(executed, edited, was, is, idle).run();
}

}  // namespace hotlens::layers
