// What only makes layers and computes numbers: code whose whole effect is followed, so that it may come, go or change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "annotator/lab/layers/effects/other_edits.h"

namespace hotlens::layers {

// Part of an expression: whoever has the whole has the value.
bool is_part(Node node);
// A call of Python's own that computes: `max(a, b)`, `range(n)`.
bool is_computed(Node call);
// Numbers, texts, names and what is computed of them, without any call of something that is not known.
bool is_plain_code(Node node);
bool is_init(Node function);

class Building {
 public:
  Building(const Followed& executed, const Followed& edited);

  // Layers, and lists of them: made here, or named.
  bool is_building(Node node) const;
  // Statements that only make layers and compute numbers.
  bool builds_only(Node block) const;
  bool is_building_statement(Node statement) const;
  bool built(Node call) const;
  // Whether it is a class or function of the project that was followed.
  bool is_own(Node call) const;
  // Whether all modules that hold something under this name hold one and the same plain value in both texts.
  bool is_the_same(const std::string& attribute) const;
  // Whether a function of the project ran for a module that was made, and the recorded step ran none of it.
  bool makes_alone(Node function) const;
  // Definitions of the project of what is called, in the edited text.
  std::vector<Node> definitions(Node call) const;
  // The `__init__` of a class, or of what it derives from.
  std::vector<Node> constructors(Node type, int depth = 0) const;

 private:
  const Followed &executed_, &edited_;
  std::map<std::string, std::vector<Node>, std::less<>> definitions_;  // functions and classes by their name
  std::map<std::string, std::vector<Node>> executed_functions_;        // by qualified name
  mutable int depth_ = 0;
};

}  // namespace hotlens::layers
