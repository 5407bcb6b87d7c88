// Anchors: facts about source text that survive edits.
//
// A Fact says that something was seen at a range of the *executed* text. anchors() binds facts to syntax of that text (qualified function,
// statement, token hash, neighbours); place() finds the same syntax in the text as it is now and says how sure it is. Pure functions over
// immutable trees; nothing here knows profiles, traces or editors. Lines and columns are 0-based, columns count UTF-8 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/source/outline/tree.h"

namespace hotlens::source {

enum class Role : std::uint8_t { definition, constructor, call, class_line, stage, line, statement };
enum class State : std::uint8_t {
  fresh,    // same statement, same surroundings, same line
  moved,    // same statement and surroundings on another line
  context,  // same statement, its callable or class around it changed
  edited,   // the statement that stands in its place differs
  orphan,   // nothing in the text fits any more
};

std::string_view name(Role role);
std::string_view name(State state);

struct Fact {
  Role role = Role::definition;
  Range range;  // whole line (columns 0, 0) where the columns are not known
  bool has_columns = true;
  std::string function;   // qualified name as Python writes it: "Net.forward", "Net.__init__.<locals>.<listcomp>", "<module>"
  std::uint32_t key = 0;  // the caller's own number; carried through
};

// Facts of one file bound to the syntax of its executed text.
class Anchors {
 public:
  static Anchors bind(const Tree& executed, std::span<const Fact> facts);

  // Where a fact stands in a text now.
  struct Placement {
    std::uint32_t fact = 0;  // index into facts()
    State state = State::orphan;
    bool exact = false;  // the expression itself was found, in a statement of the same kind
    Range range;         // the expression, call or class header; meaningless for orphan
    Range statement;     // the whole (simple) statement or the header of a compound one; its last line carries the hint
  };

  // One placement per fact, in the order of facts().
  std::vector<Placement> place(const Tree& current) const;

  // By placement: it is exact, and the executed syntax bears its fact out (a call, an assignment, a class, a loop of that function). Parses
  // all statements with facts.
  std::vector<bool> confirm(std::span<const Placement> placements) const;

  std::span<const Fact> facts() const;

 private:
  struct Data;
  explicit Anchors(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace hotlens::source
