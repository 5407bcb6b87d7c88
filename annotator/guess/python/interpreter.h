// One running function of the Evaluator: its names, the statements and expressions of its body.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "annotator/guess/python/evaluator.h"

namespace hotlens::guess {

class Interpreter {
 public:
  struct Frame {
    const Code* code = nullptr;
    std::shared_ptr<Scope> scope;
    ValueId self = kUnknown;
    ClassId owner = kNoClass;      // the class whose body holds the function, for super()
    TrailId trail = kNoTrail;      // the call that runs it
    std::uint32_t activation = 0;  // 0: a top level
    Depth depth;                   // where it began
  };
  Interpreter(Evaluator& evaluator, Frame frame, Pattern* pattern = nullptr) : e_(evaluator), frame_(std::move(frame)), pattern_(pattern) {}

  ValueId evaluate(Node expression);
  void run(Node block);
  ValueId returned();  // any of the values returned; of a generator the list of what it yields
  const std::shared_ptr<Scope>& scope() const { return frame_.scope; }

  ValueId call(ValueId callee, const std::vector<Argument>& arguments, Node site);
  ValueId evaluate_outside(Node expression);
  std::vector<Argument> splat_names(const std::vector<Argument>* arguments) const;
  // What `*rest` holds in a call.
  ValueId rest_of(const std::vector<Argument>& positional, std::size_t from, const std::vector<Argument>& arguments);

 private:
  // Statements.
  void statement(Node node);
  void branches(Node node);
  // The passes of a loop in which a condition may hold, and those in which it may not.
  struct Outcomes {
    Passes yes = kEveryPass, no = kEveryPass;
    bool decided() const { return (yes & no) == 0; }
  };
  Outcomes outcomes(Node condition, const Evaluator::Loop& loop);
  Outcomes outcomes_inside(Node condition, const Evaluator::Loop& loop);
  Outcomes compared(Node comparison, const Evaluator::Loop& loop);
  // Whether a condition holds, where what its names stand for tells.
  std::optional<bool> truth(Node condition);
  std::optional<bool> truth_inside(Node condition);
  std::optional<bool> truth_of_call(Node call);
  std::optional<bool> truth_of_comparison(Node comparison);
  // The one value of a name that no loop around this place changes; null where that is not known.
  const Value* settled(Node name);
  void count_passes(Node target, Node iterable, Evaluator::Loop& loop);
  // The ways of an `if`, one after the other: in which passes of the loops around it each runs, and what follows it.
  class Decisions {
   public:
    Decisions(Interpreter& at, bool conditions);
    void enter(Node condition);  // null: that of an `else`
    void leave(bool stopped);
    void finish(bool exhaustive);

   private:
    Interpreter& at_;
    std::vector<Passes> open_, after_;  // per loop: left for the ways to come; of the ways that reach the end
    bool decided_;
  };
  void loop(Node node);
  void assign(Node target, ValueId value, Node whole);
  void augmented(Node node);
  void attach(ValueId object, const std::string& name, ValueId value, Node whole);
  void attach_to(ValueId holder, const std::string& name, ValueId value, Node whole, bool alone);
  void define(Node node);

  // Expressions.
  ValueId expression(Node node);
  ValueId identifier(Node node);
  ValueId member(ValueId object, const std::string& name);
  ValueId held_by_self(const std::string& name);
  ValueId subscript(Node node);
  ValueId call_expression(Node node);
  ValueId comprehension(Node node);
  ValueId literal_list(Node node);
  ValueId dictionary(Node node);
  ValueId conditional(Node node);
  ValueId operation(Node node);
  ValueId yielded(Node node);
  std::string text_value(Node node);
  std::vector<Argument> arguments(Node list);
  ValueId element_of(ValueId iterable);
  bool counts_from_first(ValueId index) const;
  void fill(ValueId list, ValueId value, const std::string& name, Node site);
  void fill_all(ValueId list, ValueId iterable, Node site);
  void fill_pairs(ValueId list, ValueId pairs, Node site);

  // Lists changed in place.
  std::optional<std::int64_t> place_in_list(Node index) const;
  std::vector<std::size_t> entries_at(ValueId list, std::optional<std::int64_t> place) const;
  bool happens_once(ValueId list) const;
  void replace_entry(ValueId list, Node index, ValueId value, Node site);
  void insert_entry(ValueId list, Node index, ValueId value, Node site);
  void take_out(ValueId list, std::optional<std::int64_t> place);
  void forget_order(ValueId list);
  void turn_round(ValueId list);
  void shuffle(ValueId list);
  bool change_list(ValueId list, const std::string& name, const std::vector<Argument>& arguments, Node site);
  void remove(Node target);

  // Calls.
  ValueId call_one(ValueId callee, const std::vector<Argument>& arguments, Node site);
  ValueId call_function(const Value& function, const std::vector<Argument>& arguments, Node site);
  ValueId call_external(const std::string& name, const std::vector<Argument>& arguments, Node site);
  ValueId call_method(const Value& method, const std::vector<Argument>& arguments, Node site);
  ValueId mapped(const std::vector<Argument>& arguments, Node site);
  ValueId parametrized(ValueId module, Node site);
  ValueId any_key(ValueId mapping);
  ValueId instantiate(ClassId type, const std::vector<Argument>& arguments, Node site);
  std::optional<std::string> entry_name(ValueId name, ValueId value) const;
  void note_call(ValueId callee, const std::vector<Argument>& arguments, Node site);
  TrailId trail_to(Node site);
  Spot spot(Node node) const;
  Spot entry_spot(ValueId value) const;

  // The pattern under construction; all without effect when there is none.
  std::uint32_t state();
  void edge(std::uint32_t from, std::uint32_t to, std::int32_t call = -1);
  void dead() { at_ = state(); }

  friend class Evaluator;
  Evaluator& e_;
  Frame frame_;
  Pattern* pattern_;
  std::uint32_t at_ = 0;                                        // the pattern's current state
  std::vector<std::pair<std::uint32_t, std::uint32_t>> loops_;  // begin and end states, for continue and break
  std::vector<ValueId> returns_;
  ValueId yields_ = kUnknown;  // a list, of a generator
  bool stopped_ = false;       // behind an unconditional return or raise
};

// A format string with '*' for what is put in; `percent`: "%d", else "{}".
std::string with_holes(const std::string& text, bool percent);

void bind_parameters(Interpreter& at, Node function, ValueId self, const std::vector<Argument>* arguments, Scope& scope);

}  // namespace hotlens::guess
