// Methods of lists, texts, mappings and modules.
#include <algorithm>
#include <array>
#include <cctype>

#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {
namespace {

using Kind = Value::Kind;

// `"layer_{}".format(2)`, `"layer_{0}"`; nullopt for other ways to write a field.
std::optional<std::string> formatted(std::string_view text, const std::vector<Ref>& values) {
  std::string all;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '}') return std::nullopt;
    if (text[at] != '{') {
      all += text[at];
      continue;
    }
    const std::size_t end = text.find('}', at);
    const std::string_view field = text.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    const bool numbered = field.size() == 1 && field[0] >= '0' && field[0] <= '9';
    const std::size_t place = numbered ? static_cast<std::size_t>(field[0] - '0') : next++;
    if (end == std::string_view::npos || (!field.empty() && !numbered) || place >= values.size()) return std::nullopt;
    const Value& value = *values[place];
    if (value.kind != Kind::integer && value.kind != Kind::text) return std::nullopt;
    all += value.kind == Kind::text ? value.text : std::to_string(value.integer);
    at = end;
  }
  return all;
}

}  // namespace

// `layers.insert(0, layer)`: those behind it get the next number.
void Interpreter::insert_layer(const Ref& container, std::int64_t at, const Ref& layer, Node site) {
  std::vector<Ref> items = *entries(container);
  const std::int64_t place = std::clamp<std::int64_t>(at < 0 ? at + std::ssize(items) : at, 0, std::ssize(items));
  items.insert(items.begin() + place, layer);
  for (std::size_t number = 0; number < items.size(); ++number)
    set(container, std::to_string(number), items[number], items[number]->kind == Kind::object ? items[number]->node : site);
}

// What changes a list, or asks it for one of its entries; null: something else, or it is not known.
Ref Interpreter::of_list(const Ref& self, const std::string& name, const std::vector<Ref>& with) {
  auto& items = self->items;
  const auto place = [&](std::size_t at) -> std::optional<std::ptrdiff_t> {
    if (at >= with.size()) return std::ssize(items) - 1;
    if (with[at]->kind != Kind::integer) return std::nullopt;
    return std::clamp<std::int64_t>(with[at]->integer < 0 ? with[at]->integer + std::ssize(items) : with[at]->integer, 0,
                                    std::ssize(items));
  };
  if (name == "reverse" && with.empty()) {
    std::ranges::reverse(items);
    return none();
  }
  if (name == "append" && with.size() == 1) {
    items.push_back(with[0]);
    return none();
  }
  if (name == "insert" && with.size() == 2 && place(0)) {
    items.insert(items.begin() + *place(0), with[1]);
    return none();
  }
  if (name == "pop" && with.size() <= 1 && place(0) && *place(0) >= 0 && *place(0) < std::ssize(items)) {
    const Ref gone = items[static_cast<std::size_t>(*place(0))];
    items.erase(items.begin() + *place(0));
    return gone;
  }
  if (name == "copy" && with.empty()) return list_of(items);
  if (name == "tolist") return self;
  const auto more = name == "extend" && with.size() == 1 ? entries(with[0]) : std::nullopt;
  if (!more || !spend(more->size())) return nullptr;
  items.insert(items.end(), more->begin(), more->end());
  return none();
}

// `dict(pairs, **named)`; null: it is not known what is in it.
Ref Interpreter::mapping_of(const Ref& from, const std::vector<std::pair<std::string, Ref>>& named) {
  Ref all = from != nullptr && from->kind == Kind::mapping ? make(*from) : make({.kind = Kind::mapping});
  const auto pairs = from == nullptr || from->kind == Kind::mapping ? std::optional(std::vector<Ref>()) : entries(from);
  if (!pairs) return nullptr;
  all->self = nullptr;  // a copy of a `__dict__` is nobody's
  for (const Ref& pair : *pairs) {
    if (pair->items.size() != 2) return nullptr;
    put(all, pair->items[0], pair->items[1]);
  }
  for (const auto& [key, value] : named) put(all, text_of(key), value);
  return all;
}

Ref Interpreter::children_of(const Ref& module, bool with_names) {
  Ref all = list_of({});
  for (const auto& [name, value] : module->attributes) {
    if (value->kind != Kind::object || value->layer.empty()) continue;
    Ref pair = list_of({text_of(name), value});
    pair->kind = Kind::tuple;
    all->items.push_back(with_names ? pair : value);
  }
  return all;
}

// `mapping[key] = value`.
void Interpreter::put(const Ref& mapping, const Ref& key, const Ref& value) {
  if (mapping->self != nullptr && key->kind == Kind::text) set(mapping->self, key->text, value, mapping->node);  // its `__dict__`
  if (const auto at = place_of(*mapping, *key)) {
    mapping->values[*at] = value;
  } else {
    mapping->items.push_back(key);
    mapping->values.push_back(value);
  }
}

Ref Interpreter::of_text(const Ref& self, const std::string& name, const std::vector<Ref>& with) {
  const std::string& text = self->text;
  if (with.empty() && (name == "lower" || name == "upper")) {
    std::string other = text;
    std::ranges::transform(other, other.begin(),
                           [&](unsigned char one) { return static_cast<char>(name == "lower" ? std::tolower(one) : std::toupper(one)); });
    return text_of(std::move(other));
  }
  if (with.size() != 1 || with[0]->kind != Kind::text || with[0]->text.empty()) return nullptr;
  const std::string& part = with[0]->text;
  if (name == "startswith") return boolean_value(text.starts_with(part));
  if (name == "endswith") return boolean_value(text.ends_with(part));
  if (name != "split" || !spend(text.size())) return nullptr;
  Ref all = list_of({});
  std::size_t at = 0;
  for (std::size_t end = text.find(part); end != std::string::npos; end = text.find(part, at)) {
    all->items.push_back(text_of(text.substr(at, end - at)));
    at = end + part.size();
  }
  all->items.push_back(text_of(text.substr(at)));
  return all;
}

Ref Interpreter::of_mapping(const Ref& self, const std::string& name, const Arguments& given) {
  const auto& with = given.positional;
  if (with.empty() && (name == "items" || name == "values" || name == "keys")) {
    if (name != "items") return list_of(name == "keys" ? self->items : self->values);
    Ref all = list_of({});
    for (std::size_t at = 0; at < self->items.size(); ++at) {
      Ref pair = list_of({self->items[at], self->values[at]});
      pair->kind = Kind::tuple;
      all->items.push_back(pair);
    }
    return all;
  }
  if (with.empty() && name == "copy") return mapping_of(self, {});
  if (name == "update" && with.size() < 2 && (with.empty() || with[0]->kind == Kind::mapping)) {
    const Ref more = mapping_of(with.empty() ? nullptr : with[0], given.named);
    for (std::size_t at = 0; at < more->items.size(); ++at) put(self, more->items[at], more->values[at]);
    return none();
  }
  if (with.empty() || !is_plain(*with[0])) return nullptr;
  const auto at = place_of(*self, *with[0]);
  if (name == "setdefault" && with.size() == 2) {
    if (at) return self->values[*at];
    put(self, with[0], with[1]);
    return with[1];
  }
  if (name != "get" && name != "pop") return nullptr;
  if (!at) return with.size() > 1 ? with[1] : name == "get" ? none() : nullptr;
  const Ref found = self->values[*at];
  if (name == "pop") {
    self->items.erase(self->items.begin() + static_cast<std::ptrdiff_t>(*at));
    self->values.erase(self->values.begin() + static_cast<std::ptrdiff_t>(*at));
  }
  return found;
}

Ref Interpreter::method(const Ref& self, const std::string& name, const Arguments& given, Node site) {
  constexpr std::array<std::string_view, 9> kThemselves{"to", "cuda", "cpu", "train", "eval", "float", "half", "double", "requires_grad_"};
  if (self->kind == Kind::object && !self->layer.empty()) {
    if (std::ranges::find(kThemselves, name) != kThemselves.end()) return self;
    const auto& with = given.positional;
    if ((name == "children" || name == "named_children") && with.empty()) return children_of(self, name == "named_children");
    if (name == "append" && with.size() == 1) {
      set(self, std::to_string(entries(self).value_or(std::vector<Ref>()).size()), with[0], site);
      return self;
    }
    if (name == "extend" && with.size() == 1) {
      fill(self, given, site);
      return self;
    }
    if (name == "insert" && with.size() == 2 && with[0]->kind == Kind::integer && entries(self)) {
      insert_layer(self, with[0]->integer, with[1], site);
      return none();
    }
    if ((name == "add_module" || name == "register_module" || name == "register_buffer" || name == "register_parameter") &&
        with.size() >= 2 && with[0]->kind == Kind::text) {
      set(self, with[0]->text, with[1], site);
      return none();
    }
  }
  if (self->kind == Kind::object && self->layer.empty()) {
    if (const Ref other = reshaped(self, name, given)) return other;
  }
  if (self->kind == Kind::object && self->self->text.ends_with("ArgumentParser")) {
    if (name == "add_argument") {
      self->items.push_back(make({.kind = Kind::object, .node = site, .self = self->self, .given = given}));
      return none();
    }
    if (name == "parse_args" && given.positional.empty()) return parse_arguments(self);
  }
  if (self->kind == Kind::list) {
    if (const Ref known = of_list(self, name, given.positional)) return known;
  }
  if ((self->kind == Kind::real || self->kind == Kind::integer) && name == "item") return self;
  if (self->kind == Kind::text && name == "format" && given.named.empty() && given.complete) {
    if (const auto text = formatted(self->text, given.positional); text && spend(text->size())) return text_of(*text);
  }
  if (self->kind == Kind::text) {
    if (const Ref known = of_text(self, name, given.positional)) return known;
  }
  if (self->kind == Kind::mapping) {
    if (const Ref known = of_mapping(self, name, given)) return known;
  }
  note(name, given, site);
  return unknown(written_call(written(*self) + "." + name, given));
}

}  // namespace hotlens::layers
