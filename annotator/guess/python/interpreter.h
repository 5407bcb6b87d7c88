// One running function of the Evaluator: its names, the statements and expressions of its body.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "annotator/guess/python/evaluator.h"

namespace hotlens::guess {

// One way through an `if`, `try` or `match`.
struct Way {
  Node block, condition;  // null where none decides
};

class Interpreter {
 public:
  struct Frame {
    const Code* code = nullptr;
    std::shared_ptr<Scope> scope;  // null: no names yet
    ValueId self = kUnknown;
    ClassId owner = kNoClass;      // the class whose body holds the function, for super()
    TrailId trail = kNoTrail;      // the call that runs it
    std::uint32_t activation = 0;  // 0: a top level
  };
  Interpreter(Evaluator& evaluator, Frame frame, Pattern* pattern = nullptr) : e_(evaluator), frame_(std::move(frame)), pattern_(pattern) {
    if (!frame_.scope) frame_.scope = std::make_shared<Scope>();
  }

  // Runs a function's body as a method of `bound`, with the arguments of a call, unknown ones where there is no call to look at. Gives what
  // it returns.
  ValueId run_function(Node function, ValueId bound, const std::vector<Argument>* arguments);
  void run(Node block);
  ValueId evaluate(Node expression);
  ValueId call(ValueId callee, const std::vector<Argument>& arguments, Node site);
  void attach(ValueId object, const std::string& name, ValueId value, Node whole);
  void replace_entry(ValueId list, ValueId value, Node site);

 private:
  friend class Evaluator;
  friend struct KnownCalls;

  // Statements.
  void statement(Node node);
  void branches(Node node);
  bool keep_possible(std::vector<Way>& ways);
  void follow(const std::vector<Way>& ways, bool exhaustive);
  void loop(Node node);
  void begin_loop();
  void end_loop();
  void with(Node node);
  void define(Node node);
  void import_names(Node node);
  void leave_function(Node node);
  void leave_pass(Node node);
  void stop(Node node);

  // Assignments.
  void assign(Node target, ValueId value, Node whole);
  void assign_entry(Node target, ValueId value, Node whole);
  void assign_parts(Node target, ValueId value, Node whole);
  void attach_to(ValueId holder, const std::string& name, ValueId value, Node whole, bool alone);

  // Conditions.
  // Whether a condition holds, where what its names stand for tells.
  std::optional<bool> truth(Node condition);
  std::optional<bool> is_true(Node name);
  std::optional<bool> compares(Node comparison);
  // The one value of a name that no loop around this place changes; null where that is not known.
  const Value* settled(Node name);

  // Expressions.
  ValueId evaluate_parts(Node node);
  ValueId first_part(Node node);
  ValueId constant(Node node);
  ValueId computed(Node node);
  ValueId literal_string(Node node);
  ValueId literal_list(Node node);
  ValueId dictionary(Node node);
  ValueId comprehension(Node node);
  ValueId lambda(Node node);
  ValueId identifier(Node node);
  ValueId assignment(Node node);
  ValueId augmented(Node node);
  ValueId attribute(Node node);
  ValueId member(ValueId object, const std::string& name);
  ValueId member_of(ValueId id, const std::string& name);
  ValueId held_by_self(const std::string& name);
  ValueId choice(Node node);
  ValueId either(Node node);
  ValueId operation(Node node);
  ValueId subscript(Node node);
  std::string text_of(ValueId value) const;  // '*' where it is no text

  // Lists, mappings and containers.
  ValueId new_list(Value::Kind kind = Value::Kind::list);
  ValueId number();
  std::vector<Slot>& entries(ValueId list);
  void fill(ValueId list, ValueId value, const std::string& name, Node site, const Slot* like = nullptr);
  void fill_all(ValueId list, ValueId iterable, Node site);
  void fill_pairs(ValueId list, ValueId pairs, Node site);
  void add_pair(ValueId map, Node pair);
  void add_child(ValueId to, ValueId name, ValueId child, Node site);
  ValueId slice(ValueId of, Node key, Node site);
  ValueId element_of(ValueId iterable);
  std::optional<std::string> entry_name(ValueId name, ValueId value) const;
  Node entry_call(ValueId value) const;

  // Lists changed otherwise than at their end.
  void forget_order(ValueId lists);
  void remove(Node targets);

  // Calls.
  void bind(Node function, ValueId self, const std::vector<Argument>* given);
  std::vector<Argument> arguments(Node list);
  ValueId rest_of(const std::vector<Argument>& positional, std::size_t from, const std::vector<Argument>& arguments);
  ValueId call_expression(Node node);
  ValueId call_one(const Value& callee, const std::vector<Argument>& arguments, Node site);
  ValueId call_function(const Value& function, const std::vector<Argument>& arguments, Node site);
  ValueId call_external(const std::string& name, const std::vector<Argument>& arguments, Node site);
  ValueId call_method(const Value& method, const std::vector<Argument>& arguments, Node site);
  ValueId instantiate(ClassId type, const std::vector<Argument>& arguments, Node site);
  void note_call(ValueId callee, const std::vector<Argument>& given, Node site);
  TrailId trail_to(Node site);

  // The pattern under construction; all without effect when there is none.
  std::uint32_t state();
  void edge(std::uint32_t from, std::uint32_t to, std::int32_t call = -1);

  Evaluator& e_;
  Frame frame_;
  Pattern* pattern_;
  std::uint32_t at_ = 0;                                        // the pattern's current state
  std::vector<std::pair<std::uint32_t, std::uint32_t>> loops_;  // begin and end states, for continue and break
  std::vector<ValueId> returns_;
  bool stopped_ = false;  // behind an unconditional return or raise
};

// What a format string begins with, as "layer*" of "layer%d".
std::string before_hole(const std::string& text, char hole);

}  // namespace hotlens::guess
