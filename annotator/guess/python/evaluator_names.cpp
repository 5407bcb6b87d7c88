// What a name of the top level means, through imports and other files.
#include <algorithm>
#include <cctype>

#include "annotator/guess/python/dotted_name.h"
#include "annotator/guess/python/interpreter.h"

namespace hotlens::guess {
namespace {

using Kind = Value::Kind;

// Whether a name begins like its module, as in `from .clip import *` for CLIPModel: there it is looked for first, for a package may have
// hundreds of such imports.
bool named_after(std::string_view name, std::string_view module) {
  std::string stem = last_part(module);
  std::erase(stem, '_');
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return !stem.empty() && name.size() > stem.size() &&
         std::equal(stem.begin(), stem.end(), name.begin(), [&](char b, char a) { return same(a, b); });
}

}  // namespace

ValueId Evaluator::import_module(const std::string& dotted, const Code& from) {
  if (!is_known_name(dotted)) {
    if (const Code* code = library_.module(dotted, &from)) return add({.kind = Kind::file, .name = dotted, .node = code->root()});
  }
  return external(dotted);
}

ValueId Evaluator::binding(const Code& code, const Binding& bound) {
  switch (bound.kind) {
    case Binding::Kind::type:
      return type_value(class_of(bound.node));
    case Binding::Kind::function:
      return add({.kind = Kind::function, .name = std::string(bound.node.field("name").text()), .node = bound.node});
    case Binding::Kind::value:
      return Interpreter(*this, {.code = &code}).evaluate(bound.node);
    case Binding::Kind::module:
      return import_module(bound.module, code);
    case Binding::Kind::member: {
      const std::string separator = bound.module.ends_with('.') ? "" : ".";
      const std::string dotted = bound.module + separator + bound.name;
      if (is_known_name(bound.module)) return external(dotted);
      const Code* file = library_.module(bound.module, &code);
      if (file != nullptr) {
        if (const ValueId value = name_in(*file, bound.name); value != kUnknown) return value;
      }
      if (const Code* below = library_.module(dotted, &code)) return add({.kind = Kind::file, .name = dotted, .node = below->root()});
      return file != nullptr ? kUnknown : external(dotted);
    }
    case Binding::Kind::star:
      break;
  }
  return kUnknown;
}

ValueId Evaluator::name_in(const Code& code, const std::string& name) {
  const auto [known, fresh] = names_.try_emplace({&code, name}, kUnknown);  // unknown while it is looked for: imports may be circular
  if (!fresh) return known->second;
  std::vector<ValueId> values;
  if (const auto bound = code.names().find(name); bound != code.names().end()) {
    for (const Binding& one : bound->second) {
      if (const ValueId value = binding(code, one); at(value).kind != Kind::constant) values.push_back(value);
    }
  }
  for (const bool kin : {true, false}) {
    if (!values.empty()) break;
    for (const Binding& star : code.star_imports()) {
      if (is_known_name(star.module) || named_after(name, star.module) != kin) continue;
      const Code* file = library_.module(star.module, &code);
      if (file == nullptr || !file->may_bind(name)) continue;
      if (const ValueId value = name_in(*file, name); value != kUnknown) values.push_back(value);
    }
  }
  return names_[{&code, name}] = any(values);
}

}  // namespace hotlens::guess
