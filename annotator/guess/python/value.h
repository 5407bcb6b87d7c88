// What static resolution knows of a Python value: which class, function, module instance or list it may be, and where it was made.
//
// Values live in one Values table and are named by their number; kUnknown stands for everything that cannot be told. Instances and lists
// may grow while their constructor is followed; everything else never changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "annotator/source/outline/code.h"

namespace hotlens::guess {

using source::Binding;
using source::Code;
using source::Node;
using ValueId = std::uint32_t;
constexpr ValueId kUnknown = 0;
using ClassId = std::uint32_t;
constexpr ClassId kNoClass = 0xffffffff;
using TrailId = std::uint32_t;
constexpr TrailId kNoTrail = 0xffffffff;

template <class All, class T>
bool contains(const All& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

template <class T>
void add_once(std::vector<T>& all, const T& one) {
  if (!contains(all, one)) all.push_back(one);
}

// Leaves those alone, should there be any.
template <class T, class Is>
void prefer(std::vector<T>& all, const Is& is) {
  if (std::ranges::any_of(all, is)) std::erase_if(all, std::not_fn(is));
}

// One call on the way to where a value was made, innermost first. `activation` numbers the execution of the function around the call.
struct Trail {
  TrailId outer = kNoTrail;
  std::uint32_t activation = 0;
  Node call;
};

// Names of one running function, and of the functions around it.
struct Scope {
  std::unordered_map<std::string, ValueId> names;
  std::shared_ptr<Scope> outer;
};

struct Argument {
  std::string name;  // of a keyword argument
  ValueId value = kUnknown;
  bool splat = false;  // `*value` or `**value`
  Node node;           // as written; null where it was not
};

// Where something is made: how many loops and conditions stand around it.
struct Depth {
  std::uint32_t loops = 0, branches = 0;
};

// Something that has a name or a position in an object: an attribute, an entry of a list or container.
struct Slot {
  std::string name;  // attribute, key or fixed position; '*' stands for any part that is not known
  ValueId value = kUnknown;
  std::vector<std::uint32_t> loops;  // that add it again and again, outermost first
  bool optional = false;             // added under a condition
};

struct Value {
  enum class Kind : std::uint8_t {
    unknown,
    constant,  // none, a number, a text: never a module
    text,      // a text that matters as a name; '*' for unknown parts
    type,      // a class
    function,  // a function, method or lambda; bound when `self` is set
    method,    // a method of a value that we know by its name only: list.append
    file,      // an imported Python file
    external,  // something of a package that is not read, by dotted name
    instance,  // of `type`, or of a class that is not known
    list,      // list, tuple, iterator
    mapping,   // dict
    element,   // one entry of `of`
    place,     // `inner` as the attribute or entry `name` of `of`, attached at `node`
    super,     // super() of `self`, after `type`
    partial,   // functools.partial
    any,       // one of `options`
  };
  Kind kind = Kind::unknown;
  std::string name;
  Node node;  // type, function: its definition; file: its root; place: the statement or call that attached it, null where not known
  ClassId type = kNoClass;
  ValueId self = kUnknown, of = kUnknown, inner = kUnknown;
  std::vector<Argument> arguments;  // instance: of its constructor; partial: those given
  std::vector<Slot> slots;          // instance: attributes; list, mapping and containers: entries are in `entries`
  std::vector<Slot> entries;
  std::vector<ValueId> options;
  std::shared_ptr<Scope> scope;  // function: the names around it
  TrailId trail = kNoTrail;      // instance: where it was made
  Depth depth;                   // list, instance: where it was made; place of an attribute: where it was attached
  bool ready = false;            // instance: its constructor was followed
  bool certain = false;          // place: attached in every case, and the only one under its name then
};

struct Class {
  std::string name;            // without its package
  std::string external;        // dotted name of a class whose source is not read
  Node node;                   // class_definition; null for an external one
  std::vector<ClassId> order;  // method resolution, itself first
  bool open = false;           // a base is not known
  std::unordered_map<std::string, std::vector<Binding>> names;
};

enum class Container : std::uint8_t { none, sequential, list, mapping };

}  // namespace hotlens::guess
