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
#include <tuple>
#include <vector>

#include "annotator/guess/python/afterwards.h"
#include "annotator/guess/python/call_pattern.h"
#include "annotator/guess/python/library.h"
#include "annotator/guess/python/value.h"

namespace hotlens::guess {

class Evaluator {
 public:
  // `later`: what may have been done to objects after they were made; each of it counts as one more way for what it changes.
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
  bool derives(ClassId type, std::string_view name) const;  // from a class of that name, or is it
  bool is_module(ClassId type) const;                       // certainly an nn.Module
  bool is_torch(ClassId type) const;                        // a class of torch itself: what it makes inside stands on no user's line

  // Everything a value may be: places, instances, functions …, without sets and loops around them.
  std::vector<ValueId> alternatives(ValueId value) const;
  // A place's object, else the value itself.
  ValueId object(ValueId value) const;
  // Every attribute and entry that an object was given as, in the order in which that happened.
  const std::vector<ValueId>& places_of(ValueId object) const;
  // Two values that are one object which somebody was seen to make.
  bool is_same_made(ValueId a, ValueId b) const;
  // The objects of classes of that name which a script makes, by its top level or by functions of it that nothing calls there.
  std::vector<ValueId> made_by(const Code& script, std::string_view type);
  // The attribute of an object: the places it was attached at. Unknown where there is none.
  ValueId attribute(ValueId object, std::string_view name);
  // Where a parametrization was given to an object, as a place for the modules that torch makes for it; kUnknown where none was.
  ValueId parametrization(ValueId object);
  // Entries of a container object, in order, as places.
  const std::vector<Slot>& entries(ValueId object);
  // The calls on the way to where an object was made, innermost first; only those outside torch.
  std::vector<Spot> made_at(ValueId object) const;

  // What the body of `function` calls when it runs as a method of `self` (or inside one, for a nested function); with the arguments of the
  // call where that is known.
  const Pattern& calls_of(Node function, ValueId self, const std::vector<Argument>* arguments = nullptr);
  // Whether any of them is a module, or holds some: only these tell what a body calls.
  bool hold_modules(const std::vector<Argument>& arguments) const;

 private:
  friend class Interpreter;
  // Blocks and expressions inside each other, followed helpers included: what is deeper is no model's source.
  static constexpr int kNesting = 600;

  ValueId add(Value value);
  ValueId any(const std::vector<ValueId>& options);
  ValueId name_in(const Code& code, const std::string& name);
  // What a name means by the imports and definitions of the functions written around `inside`.
  ValueId name_around(Node inside, const std::string& name);
  ValueId binding(const Code& code, const Binding& binding);
  ValueId import_module(const std::string& dotted, const Code& from);
  ValueId external(const std::string& dotted);
  ClassId external_class(const std::string& dotted);
  ValueId type_value(ClassId type);
  ValueId method(ClassId type, std::string_view name, ValueId self, std::size_t after = 0);
  void construct(ValueId instance);
  // What each field of a dataclass or named tuple holds, in their order: what its constructor is given, else what stands in the class;
  // unknown where nobody knows what it is given. Nothing for other classes.
  std::vector<Slot> fields(ClassId type, const std::vector<Argument>* given);
  void follow_later(ValueId instance);
  void follow_replacement(ValueId instance, const Afterwards::Given& given);
  std::vector<ClassId> resolution_order(ClassId type) const;
  // What an attribute holds on the way that is being followed, where a statement on this way gave it; kUnknown where none did.
  ValueId assigned(ValueId holder, std::string_view name) const;
  // Drops what was assigned since; what stood below it says nothing any more.
  void leave_way(std::size_t mark);
  Depth depth() const { return {static_cast<std::uint32_t>(loops_.size()), branch_depth_, undecided_}; }
  // The loops around something that is made now and put into what was made at `outer`.
  std::vector<LoopUse> loops_since(Depth outer) const;
  bool spend() { return budget_ > floor_ && budget_-- > floor_; }

  // Conditions met while it lives say nothing about the loops' passes afterwards.
  class KeptPasses {
   public:
    explicit KeptPasses(Evaluator& evaluator);
    ~KeptPasses();
    KeptPasses(const KeptPasses&) = delete;
    KeptPasses& operator=(const KeptPasses&) = delete;

   private:
    Evaluator& evaluator_;
    std::vector<Passes> kept_;
  };

  // While it lives, no more than `most` expressions are followed.
  class Allowance {
   public:
    Allowance(Evaluator& evaluator, std::int64_t most) : evaluator_(evaluator), floor_(evaluator.floor_) {
      evaluator.floor_ = std::max(floor_, evaluator.budget_ - most);
    }
    ~Allowance() { evaluator_.floor_ = floor_; }
    Allowance(const Allowance&) = delete;
    Allowance& operator=(const Allowance&) = delete;

   private:
    Evaluator& evaluator_;
    std::int64_t floor_;
  };

  Library& library_;
  std::deque<Value> values_;
  std::deque<Class> classes_;
  std::vector<Trail> trails_;
  std::map<const void*, ClassId> class_by_node_;
  std::map<std::string, ClassId, std::less<>> class_by_name_;
  std::map<std::pair<const Code*, std::string>, ValueId> names_;
  std::map<ClassId, ValueId> some_, type_values_;
  std::map<ValueId, ValueId> parametrizations_;
  std::map<ValueId, std::vector<ValueId>> places_;   // by object
  std::map<const void*, Code::Names> names_around_;  // by function
  std::map<std::pair<ValueId, ClassId>, ValueId> made_as_;
  std::map<std::tuple<const void*, ValueId, const std::vector<Argument>*>, Pattern> patterns_;
  std::uint32_t next_activation_ = 1, next_loop_ = 1, branch_depth_ = 0, undecided_ = 0;
  Afterwards later_;
  std::set<const void*> ran_;  // functions that were followed
  // A loop that is being followed. Its index and what its bounds are called tell which passes a condition means.
  struct Loop {
    std::uint32_t id = 0;
    ValueId index = kUnknown;    // of the variable that counts the passes
    std::string first, count;    // its first value, and the one it never reaches; as written
    Passes passes = kEveryPass;  // in which the statements that are being followed run
  };
  // Objects that are noted when they are made.
  struct Watched {
    std::string type;  // the class's name
    std::vector<ValueId>* made = nullptr;
  };
  struct Assigned {
    ValueId holder = kUnknown;
    std::string name;
    ValueId value = kUnknown;
  };
  Watched watched_;
  std::vector<Assigned> assigned_;   // under the conditions being followed, latest last
  std::vector<Loop> loops_;          // being followed, outermost first
  int depth_ = 0, nesting_ = 0;      // of followed calls; of blocks and expressions
  std::int64_t budget_, floor_ = 0;  // expressions left, and how many must be left over
};

}  // namespace hotlens::guess
