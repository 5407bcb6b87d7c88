// Follows constructors and forward methods without running them: which modules an object holds, and what a body calls.
//
// Expressions are given sets of possible values; both branches of a condition are followed, a loop's body once, helper functions into
// their bodies. Arguments that are not known stay unknown, and so does everything computed from numbers. Work is bounded: what lies beyond
// the bound is unknown. Method resolution order is depth first with the last mention kept, which equals Python's for trees and diamonds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "annotator/guess/python/call_pattern.h"
#include "annotator/guess/python/library.h"
#include "annotator/guess/python/value.h"

namespace hotlens::guess {

// Gives a variable another value while it lives.
template <class T>
class Temporarily {
 public:
  Temporarily(T& variable, std::type_identity_t<T> value) : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Temporarily() { variable_ = std::move(before_); }
  Temporarily(const Temporarily&) = delete;
  Temporarily& operator=(const Temporarily&) = delete;

 private:
  T& variable_;
  T before_;
};

// What scripts may do to a model after it was made: the methods that they call, the attributes that they set from outside. A guess from the
// text alone: which object a name means there is not looked into.
struct Afterwards {
  // `anything.name = value`, `setattr(anything, "name", value)`; what `self` is given is left out.
  struct Given {
    std::string name;    // '*' where it is not known: `setattr(anything, name, value)`, `anything._modules[name] = value`
    bool entry = false;  // `anything.name[…] = value`
    Node value, statement;
  };
  std::set<std::string, std::less<>> called;  // `anything.name(…)`
  std::vector<Given> given;
};

Afterwards afterwards(const std::vector<const Code*>& scripts);

class Evaluator {
 public:
  // `later`: each of it counts as one more way for what it changes.
  explicit Evaluator(Library& library, Afterwards later = {});

  const Value& at(ValueId value) const { return values_[value]; }
  const Class& type(ClassId type) const { return classes_[type]; }

  // The class a definition makes.
  ClassId class_of(Node definition);
  // The class a name means in a file's top level; kNoClass when it means none, or several.
  ClassId class_named(const Code& code, std::string_view name);
  // An object of a class of which nothing else is known; the same one each time.
  ValueId some(ClassId type);
  // An object made like `value`, whose class was not known, now that it is.
  ValueId made_as(ValueId value, ClassId type);
  Container container(ClassId type) const;
  bool inherits(ClassId type, ClassId base) const;          // from that class, or is it
  bool derives(ClassId type, std::string_view name) const;  // from a class of that name, or is it
  bool is_module(ClassId type) const;                       // certainly an nn.Module
  bool is_torch(ClassId type) const;                        // a class of torch itself: what it makes inside stands on no user's line

  // Everything a value may be: places, instances, functions …, without sets and loops around them.
  std::vector<ValueId> alternatives(ValueId value) const;
  // The value that is one of several.
  ValueId any(const std::vector<ValueId>& options);
  // A place's object, else the value itself.
  ValueId object(ValueId value) const;
  const Value& what(ValueId value) const { return at(object(value)); }
  // Every attribute and entry that an object was given as, in the order in which that happened.
  const std::vector<ValueId>& places_of(ValueId object) const;
  // Two values that are one object which somebody was seen to make.
  bool is_same_made(ValueId a, ValueId b) const;
  // The objects of classes of that name which a script makes, by its top level or by functions of it that nothing calls there.
  std::vector<ValueId> made_by(const Code& script, std::string_view type);
  // The attribute of an object: the places it was attached at. Unknown where there is none.
  ValueId attribute(ValueId object, std::string_view name);
  // Entries of a container object, in order, as places.
  const std::vector<Slot>& entries(ValueId object);
  // The call that made an object; null where nobody was seen to.
  Node made_at(ValueId object) const;

  // What the body of `function` calls when it runs as a method of `self`.
  const Pattern& calls_of(Node function, ValueId self);

 private:
  friend class Interpreter;
  friend struct KnownCalls;
  // Blocks and expressions inside each other, followed helpers included: what is deeper is no model's source.
  static constexpr int kNesting = 600;

  ValueId add(Value value);
  ValueId name_in(const Code& code, const std::string& name);
  ValueId binding(const Code& code, const Binding& binding);
  ValueId import_module(const std::string& dotted, const Code& from);
  ValueId external(const std::string& dotted);
  ClassId external_class(const std::string& dotted);
  ValueId type_value(ClassId type);
  ValueId method(ClassId type, std::string_view name, ValueId self, std::size_t after = 0);
  ValueId class_attribute(ClassId type, const std::string& name);
  ValueId at_top_level(Node expression);
  void construct(ValueId instance);
  void run_method(Node function, ValueId self, ClassId owner, const std::vector<Argument>* given);
  void follow_later(ValueId instance);
  void follow_given(ValueId instance, const Afterwards::Given& given);
  Container form(const Value& value) const;  // of a plain list or mapping as of a container
  bool iterates(const Value& value) const;   // a loop over it sees its entries
  Depth depth() const { return {static_cast<std::uint32_t>(loops_.size()), branch_depth_}; }
  // The loops around something that is made now and put into what was made at `outer`.
  std::vector<std::uint32_t> loops_since(Depth outer) const;
  bool spend() { return budget_ > floor_ && budget_-- > floor_; }

  // The least budget that may be left, where no more than `most` expressions are to be followed.
  std::int64_t floor_for(std::int64_t most) const { return std::max(floor_, budget_ - most); }

  // The loops being followed, and one more: while they are these, what is made is made again and again.
  std::vector<std::uint32_t> one_more_loop();

  Library& library_;
  std::deque<Value> values_;
  std::deque<Class> classes_;
  std::vector<Trail> trails_;
  std::map<const void*, ClassId> class_by_node_;
  std::map<std::string, ClassId, std::less<>> class_by_name_;
  std::map<std::pair<const Code*, std::string>, ValueId> names_;
  std::map<ClassId, ValueId> some_, type_values_;
  std::map<ValueId, std::vector<ValueId>> places_;  // by object
  std::map<std::pair<ValueId, ClassId>, ValueId> made_as_;
  std::map<std::pair<const void*, ValueId>, Pattern> patterns_;
  std::uint32_t next_activation_ = 1, next_loop_ = 1, branch_depth_ = 0;
  Afterwards later_;
  std::set<const void*> ran_;          // functions that were followed
  std::string watched_;                // the name of the class whose objects are noted when they are made
  std::vector<ValueId> watched_made_;  // those
  std::vector<std::uint32_t> loops_;   // being followed, outermost first
  int depth_ = 0, nesting_ = 0;        // of followed calls; of blocks and expressions
  std::int64_t budget_, floor_ = 0;    // expressions left, and how many must be left over
};

}  // namespace hotlens::guess
