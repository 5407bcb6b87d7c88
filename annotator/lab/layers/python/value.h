// Values of a Python program that is followed on paper: numbers, texts, lists, classes, objects; and what nobody can know without running
// it, which carries the words that make it, so that two unknowns of the same words are the same.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/source/outline/code.h"

namespace hotlens::layers {

using source::Node;
struct Value;
using Ref = Value*;  // in a Heap

struct Scope {
  std::map<std::string, Ref, std::less<>> names;
  Scope* outer = nullptr;
  bool is_class = false;  // its names are no names of the functions inside
};

struct Arguments {
  std::vector<Ref> positional;
  std::vector<std::pair<std::string, Ref>> named;
  bool complete = true;  // false: `*rest` that is not known
};

struct Value {
  enum class Kind : std::uint8_t {
    unknown,
    none,
    boolean,
    integer,
    real,
    text,
    list,
    tuple,
    mapping,
    function,
    type,
    object,
    external,
    method
  };
  Kind kind = Kind::unknown;
  std::int64_t integer = 0;  // boolean: 0 or 1
  double real = 0;
  std::string text;         // unknown: the words; external: dotted name; method: its name; type: the class's name
  std::vector<Ref> items;   // list, tuple; keys of a mapping; bases of a type
  std::vector<Ref> values;  // of a mapping
  Node node;                // function, type: the definition; object: the call that made it
  Scope* scope = nullptr;   // function: the names around it; type: what its body binds
  Ref self = nullptr;       // function, method: what it is bound to; object: its type or external; mapping: whose `__dict__` it is
  Ref owner = nullptr;      // function: the class whose body holds it
  std::vector<std::pair<std::string, Ref>> attributes;  // object, in order
  Arguments given;                                      // object of an external class: what it was made with
  std::string layer;                                    // object: the class of torch.nn that it is, or derives from; empty: none
  std::map<std::string, Node> attached;                 // object: where each attribute was given
};

// Where the values and scopes of a comparison live, until it ends: objects hold their methods and these hold the objects.
class Heap {
 public:
  Ref value(Value made) { return &values_.emplace_back(std::move(made)); }
  Scope* scope(Scope* outer, bool is_class = false) {
    return &scopes_.emplace_back(Scope{.names = {}, .outer = outer, .is_class = is_class});
  }

 private:
  std::deque<Value> values_;
  std::deque<Scope> scopes_;
};

// As one line: equal lines are equal values.
std::string written(const Value& value, int depth = 0);
std::string written_call(const std::string& callee, const Arguments& given);

// What a call is given under a name; null: nothing.
Ref named(const Arguments& given, std::string_view name);

// What an object itself has under a name; null: nothing.
Ref attribute_of(const Value& object, std::string_view name);

// Where a mapping has a key.
std::optional<std::size_t> place_of(const Value& mapping, const Value& key);

// None, a number or a text.
bool is_plain(const Value& value);
// Of a whole or real number.
std::optional<double> real_of(const Value& value);

}  // namespace hotlens::layers
