#include <algorithm>
#include <ranges>

#include "annotator/lab/layers/python/interpreter.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

using source::Code;
namespace fs = std::filesystem;

constexpr std::int64_t kMostSteps = 500'000;
constexpr int kDeepestText = 1'000;
constexpr int kDeepest = 150;  // calls and blocks inside each other

void targets(Node node, std::vector<Node>& to) {
  const bool assigns = node.is("assignment") || node.is("augmented_assignment") || node.is("for_statement");
  if (assigns && node.field("left")) to.push_back(node.field("left"));
  if (node.is("as_pattern_target")) to.push_back(node);
  for (const Node& child : node.children()) targets(child, to);
}

const char* assigned_file(const fs::path& path, const std::string& dotted) {
  std::string ending = dotted;
  std::ranges::replace(ending, '.', '/');
  const std::string text = path.generic_string();
  for (const char* tail : {".py", "/__init__.py"}) {
    if (text.ends_with("/" + ending + tail)) return tail;
  }
  return nullptr;
}

// Of ".utils.hub" the folder that it begins in, and "utils.hub"; no folder for an absolute name.
std::pair<fs::path, std::string> resolved(const std::string& dotted, const Code* from) {
  if (!dotted.starts_with('.') || from == nullptr) return {{}, dotted};
  fs::path base = from->path().parent_path();
  std::string name = dotted.substr(1);
  for (; name.starts_with('.'); name.erase(0, 1)) base = base.parent_path();
  return {base, name};
}

// Whether a file's top level has a class or function of this name, or another name for one (`to_ntuple = _ntuple`).
bool defines(const Code& code, const std::string& name) {
  if (!code.may_bind(name)) return false;
  const auto found = code.names().find(name);
  using Kind = source::Binding::Kind;
  return found != code.names().end() && std::ranges::any_of(found->second, [](const auto& one) {
           return one.kind == Kind::type || one.kind == Kind::function || (one.kind == Kind::value && one.node.is("identifier"));
         });
}

}  // namespace

std::vector<const source::Code*> edited_files(const Sources& sources, const Sources& other) {
  std::vector<const source::Code*> all;
  for (const auto& [path, code] : sources.files) {
    const auto beside = other.files.find(path);
    const bool differs = beside != other.files.end() && beside->second != code;
    if (differs && !sources.packages.contains(path)) all.push_back(code.get());
  }
  return all;
}

bool is_too_deep(const Code& code) {
  TSTreeCursor cursor = ts_tree_cursor_new(code.root().node);
  int depth = 0, deepest = 0;
  for (bool more = true; more;) {
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      deepest = std::max(deepest, ++depth);
      continue;
    }
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      more = ts_tree_cursor_goto_parent(&cursor);
      if (!more) break;
      --depth;
    }
  }
  ts_tree_cursor_delete(&cursor);
  return deepest > kDeepestText;
}

Interpreter::Interpreter(const Sources& sources, Heap& heap, std::map<std::string, Ref> known)
    : sources_(sources), heap_(heap), known_(std::move(known)) {}

bool Interpreter::spend(std::size_t steps) {
  steps_ += static_cast<std::int64_t>(steps);
  return steps_ < kMostSteps && depth_ < kDeepest;
}

std::map<fs::path, const Scope*> Interpreter::globals() const {
  std::map<fs::path, const Scope*> all;
  for (const auto& [code, scope] : files_) all[code->path()] = scope;
  return all;
}

void Interpreter::run() {
  const auto script = sources_.files.find(sources_.script);
  if (script != sources_.files.end()) run_file(*script->second, "__main__");
}

Scope* Interpreter::run_file(const Code& code, const std::string& name) {
  auto& scope = files_[&code];
  if (scope) return scope;
  scope = heap_.scope(nullptr);
  scope->names["__name__"] = text_of(name);
  Frame frame{.scope = scope, .globals = scope, .self = {}, .owner = {}, .result = {}, .code = &code};
  const auto kept = scope;
  block(code.root(), frame);
  return kept;
}

// The file of the project that an import means: the nearest to the importing one among those whose path ends with its name.
Scope* Interpreter::file(const std::string& dotted, const Code* from) {
  const auto [base, name] = resolved(dotted, from);
  const Code* found = nullptr;
  for (const auto& [path, code] : sources_.files) {
    std::string part = name;
    std::ranges::replace(part, '.', '/');
    const bool relative = !base.empty() && (path == base / (part + ".py") || path == base / part / "__init__.py");
    const bool absolute = base.empty() && assigned_file(path, name) != nullptr;
    if (!relative && !absolute) continue;
    if (found == nullptr || path.native().size() < found->path().native().size()) found = code.get();
  }
  return found == nullptr ? nullptr : run_file(*found, dotted);
}

// What a package gives under this name though its own file is not among those handed over: the class or function that one file inside it
// alone defines (`from transformers import BertConfig`). Null: none, or several.
Ref Interpreter::defined(const std::string& dotted, const Code* from) {
  const std::size_t dot = dotted.rfind('.');
  if (dot == std::string::npos || dotted.starts_with("torch.")) return nullptr;
  const std::string name = dotted.substr(dot + 1);
  auto [base, package] = resolved(dotted.substr(0, dot), from);
  std::ranges::replace(package, '.', '/');
  const std::string folder = (base / package / "").generic_string();
  const auto [known, fresh] = definers_.try_emplace(folder + name, nullptr);
  if (fresh) {
    int several = 0;
    for (const auto& [path, code] : sources_.files) {
      const std::string text = path.generic_string();
      const bool inside = base.empty() ? text.find("/" + folder) != std::string::npos : text.starts_with(folder);
      if (!inside || !defines(*code, name)) continue;
      known->second = ++several == 1 ? code.get() : nullptr;
    }
  }
  if (known->second == nullptr) return nullptr;
  const Scope* scope = run_file(*known->second, dotted.substr(0, dot));
  const auto found = scope->names.find(name);
  return found == scope->names.end() ? nullptr : found->second;
}

// The class or function of this name that one file alone defines; null: there is none, or several.
Ref Interpreter::only_defined(const std::string& name, Value::Kind kind) {
  const Code* found = nullptr;
  for (const auto& [path, code] : sources_.files) {
    if (name.empty() || !defines(*code, name)) continue;
    if (found != nullptr) return nullptr;
    found = code.get();
  }
  if (found == nullptr) return nullptr;
  const Scope* scope = run_file(*found, found->path().stem().string());
  const auto there = scope->names.find(name);
  return there == scope->names.end() || there->second->kind != kind ? nullptr : there->second;
}

Interpreter::Flow Interpreter::block(Node node, Frame& frame) {
  for (const Node& one : node.children()) {
    if (const Flow flow = statement(one, frame); flow != Flow::on) return flow;
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::statement(Node node, Frame& frame) {
  if (!spend()) return Flow::returned;
  visited_.insert(node.id());
  if (is_remark(node)) return Flow::on;
  const std::string_view kind = node.kind();
  if (kind == "expression_statement") {
    for (const Node& one : node.children()) {
      if (one.is("assignment")) {
        assignment(one, frame);
      } else if (one.is("augmented_assignment")) {
        augmented(one, frame);
      } else {
        expression(one, frame);
      }
    }
  } else if (kind == "return_statement") {
    const auto values = node.children();
    frame.result = values.empty() ? none() : expression(values.front(), frame);
    return Flow::returned;
  } else if (kind == "raise_statement") {
    failures_.push_back({"", node});
    return Flow::returned;
  } else if (kind == "assert_statement") {
    if (truth(expression(node.children().front(), frame)) == false) failures_.push_back({" does not hold", node});
  } else if (kind == "break_statement") {
    return Flow::broken;
  } else if (kind == "continue_statement") {
    return Flow::continued;
  } else if (kind == "if_statement") {
    return branch(node, frame);
  } else if (kind == "for_statement") {
    return loop(node, frame);
  } else if (kind == "while_statement") {
    return repeat(node, frame);
  } else if (kind == "try_statement") {
    return attempt(node, frame);
  } else if (kind == "with_statement") {
    std::vector<Node> named;
    targets(node.children().front(), named);
    for (const Node& one : named)
      assign(one.children().empty() ? one : one.children().front(), unknown("with " + std::string(one.text())), frame, node);
    return block(node.field("body"), frame);
  } else if (kind == "function_definition" || kind == "class_definition") {
    define(node, frame, false);
  } else if (kind == "decorated_definition") {
    const std::string_view text = node.text();
    define(node.field("definition"), frame, text.substr(0, text.find('\n')).find("dataclass") != std::string_view::npos);
  } else if (kind == "import_statement") {
    import(node, frame);
  } else if (kind == "import_from_statement") {
    import_from(node, frame);
  }
  return Flow::on;
}

// Of "a.b.c" (wording.h).
Ref Interpreter::asked(const std::string& chain, Frame& frame) {
  Ref value = nullptr;
  for (const auto part : std::views::split(chain, '.')) {
    const std::string word(part.begin(), part.end());
    value = value ? attribute(value, word) : name(word, frame);
  }
  return value;
}

// What a piece of code that is not followed would have set is unknown, told by its words and what its names stand for.
void Interpreter::forget(Node node, Frame& frame) {
  forgotten_.insert(node.id());
  std::set<std::string> names;
  asked_names(node, names);
  const std::string words_alone = wording(node);
  std::string words = words_alone, plain;
  for (const std::string& one : names) {
    if (one.starts_with('?')) {
      const std::size_t dot = one.rfind('.');
      const Ref object = asked(one.substr(1, dot - 1), frame);
      words += one + (object->kind == Value::Kind::object && held(object, one.substr(dot + 1)) ? " is" : " is not");
      continue;
    }
    const Ref value = asked(one, frame);
    if (value->kind != Value::Kind::external) words += "|" + one + "=" + written(*value);
    if (value->kind == Value::Kind::method) words += " of " + written(*value->self);
    std::set<const void*> seen;
    if (value->kind == Value::Kind::function && value->self != nullptr) words += " of " + read_by(value, value->self, seen);
    if (is_plain(*value)) plain += "|" + one + "=" + written(*value);
  }
  if (constructing_ == 0) facts_.push_back({words_alone + plain, node});
  std::vector<Node> changed;
  targets(node, changed);
  for (const Node& target : changed) assign(target, unknown(std::string(target.text()) + " after " + words), frame, node);
}

Interpreter::Flow Interpreter::branch(Node node, Frame& frame) {
  const auto holds = truth(expression(node.field("condition"), frame));
  if (!holds) {
    forget(node, frame);
    return Flow::on;
  }
  const auto alternatives = node.children();
  if (*holds) {
    for (const Node& other : alternatives) {
      if (other.is("else_clause") || other.is("elif_clause")) passed_.insert(other.id());
    }
    return block(node.field("consequence"), frame);
  }
  passed_.insert(node.field("consequence").id());
  for (std::size_t at = 0; at < alternatives.size();) {
    const Node other = alternatives[at++];
    if (other.is("else_clause")) return block(other.field("body"), frame);
    if (!other.is("elif_clause")) continue;
    const auto also = truth(expression(other.field("condition"), frame));
    if (!also) {
      forget(node, frame);
      return Flow::on;
    }
    if (*also) {
      for (; at < alternatives.size(); ++at) passed_.insert(alternatives[at].id());
      return block(other.field("consequence"), frame);
    }
    passed_.insert(other.field("consequence").id());
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::loop(Node node, Frame& frame) {
  const auto items = entries(expression(node.field("right"), frame));
  if (!items) {
    forget(node, frame);
    return Flow::on;
  }
  if (items->empty()) passed_.insert(node.field("body").id());
  for (const Ref& item : *items) {
    if (!spend()) return Flow::returned;
    assign(node.field("left"), item, frame, node);
    const Flow flow = block(node.field("body"), frame);
    if (flow == Flow::returned) return flow;
    if (flow == Flow::broken) return Flow::on;
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::repeat(Node node, Frame& frame) {
  for (;;) {
    const auto holds = truth(expression(node.field("condition"), frame));
    if (!holds || !spend()) {
      forget(node, frame);
      return Flow::on;
    }
    if (!*holds) return Flow::on;
    const Flow flow = block(node.field("body"), frame);
    if (flow == Flow::returned) return flow;
    if (flow == Flow::broken) return Flow::on;
  }
}

Interpreter::Flow Interpreter::attempt(Node node, Frame& frame) {
  const std::size_t before = failures_.size();
  const Flow flow = block(node.field("body"), frame);
  for (const Node& part : node.children()) {
    if (part.is("except_clause")) failures_.resize(std::min(before, failures_.size()));
    if (part.is("finally_clause")) block(part.children().back(), frame);
  }
  return flow;
}

void Interpreter::assignment(Node node, Frame& frame) {
  const Node right = node.field("right");
  if (!right) return;  // an annotation alone
  Ref value;
  if (right.is("assignment")) {
    assignment(right, frame);
    value = expression(right.field("left"), frame);
  } else {
    value = expression(right, frame);
  }
  assign(node.field("left"), value, frame, node);
}

void Interpreter::augmented(Node node, Frame& frame) {
  const Ref left = expression(node.field("left"), frame), right = expression(node.field("right"), frame);
  std::string_view op = node.field("operator").text();
  op.remove_suffix(1);
  if (left->kind == Value::Kind::list && op == "+") {
    if (const auto more = entries(right); more && spend(more->size())) {
      left->items.insert(left->items.end(), more->begin(), more->end());
      return;
    }
  }
  assign(node.field("left"), binary(op, left, right), frame, node);
}

void Interpreter::assign(Node target, const Ref& value, Frame& frame, Node whole) {
  if (target.is("identifier")) {
    frame.scope->names[std::string(target.text())] = value;
  } else if (target.is("attribute")) {
    const Ref object = expression(target.field("object"), frame);
    if (object->kind == Value::Kind::object) give(object, std::string(target.field("attribute").text()), value, whole);
  } else if (target.is("subscript")) {
    const Ref object = expression(target.field("value"), frame), key = expression(target.field("subscript"), frame);
    if (object->kind == Value::Kind::object && !object->layer.empty()) {
      if (key->kind == Value::Kind::integer || key->kind == Value::Kind::text)
        set(object, key->kind == Value::Kind::text ? key->text : std::to_string(key->integer), value, whole);
    } else if (object->kind == Value::Kind::list && key->kind == Value::Kind::integer) {
      const auto at = static_cast<std::size_t>(key->integer < 0 ? key->integer + std::ssize(object->items) : key->integer);
      if (at < object->items.size()) object->items[at] = value;
    } else if (object->kind == Value::Kind::mapping) {
      put(object, key, value);
    }
  } else if (target.is("pattern_list") || target.is("tuple_pattern") || target.is("list_pattern")) {
    const std::vector<Node> parts = target.children();
    const auto items = entries(value);
    for (std::size_t at = 0; at < parts.size(); ++at) {
      const bool known = items && items->size() == parts.size() && !parts[at].is("list_splat_pattern");
      assign(parts[at], known ? (*items)[at] : unknown(written(*value) + "[" + std::to_string(at) + "]"), frame, whole);
    }
  }
}

void Interpreter::define(Node node, Frame& frame, bool dataclass) {
  auto made = make({.kind = Value::Kind::function, .text = std::string(node.field("name").text()), .node = node, .scope = frame.scope});
  if (node.is("class_definition")) {
    made->kind = Value::Kind::type;
    made->integer = dataclass ? 1 : 0;
    if (const Node bases = node.field("superclasses")) made->items = arguments(bases, frame).positional;
    Scope* scope = heap_.scope(frame.scope, true);
    Frame body{.scope = scope, .globals = frame.globals, .self = {}, .owner = made, .result = {}, .code = frame.code};
    block(node.field("body"), body);
    made->scope = scope;
  } else {
    made->owner = frame.owner;
  }
  const Node above = node.parent();
  const bool setter = above.is("decorated_definition") && above.text().substr(0, above.text().find('\n')).ends_with(".setter");
  frame.scope->names[made->text + (setter ? ".setter" : "")] = made;
}

void Interpreter::import(Node node, Frame& frame) {
  for (const Node& one : node.children()) {
    const bool renamed = one.is("aliased_import");
    const std::string dotted(renamed ? one.field("name").text() : one.text());
    const std::string first = renamed ? dotted : dotted.substr(0, dotted.find('.'));
    auto made = make({.kind = Value::Kind::external, .text = first});
    made->scope = file(first, frame.code);
    frame.scope->names[renamed ? std::string(one.field("alias").text()) : first] = made;
  }
}

void Interpreter::import_from(Node node, Frame& frame) {
  const Node from = node.field("module_name");
  if (!from) return;
  const std::string dotted(from.text());
  const auto scope = file(dotted, frame.code);
  for (const Node& one : node.children()) {
    if (ts_node_eq(one.node, from.node)) continue;
    if (one.is("wildcard_import") && scope) {
      for (const auto& [name, value] : scope->names) frame.scope->names[name] = value;
      continue;
    }
    const std::string name(one.is("aliased_import") ? one.field("name").text() : one.text());
    const std::string as(one.is("aliased_import") ? one.field("alias").text() : one.text());
    if (scope && scope->names.contains(name)) {
      frame.scope->names[as] = scope->names.at(name);
    } else if (const Ref found = scope ? nullptr : defined((dotted.ends_with('.') ? dotted : dotted + ".") + name, frame.code)) {
      frame.scope->names[as] = found;
    } else {
      auto made = make({.kind = Value::Kind::external, .text = dotted + "." + name});
      made->scope = file(dotted + "." + name, frame.code);
      frame.scope->names[as] = made;
    }
  }
}

}  // namespace hotlens::layers
