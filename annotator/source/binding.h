// Which statement and expression of the executed text a fact means, and whether the syntax there bears it out.
//
// Binding reads the outline only; of a line that holds several statements it asks tree-sitter which of them fits. Whether a fact is borne
// out is asked for by checks, not by editors, and parses every statement that has facts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "annotator/source/anchors.h"
#include "annotator/source/outline/normal_form.h"
#include "annotator/source/outline/tree_data.h"

namespace hotlens::source {

// A fact bound to the executed text.
struct Anchor {
  std::uint32_t statement = kNoStatement;
  bool whole = true;                  // the statement itself; else the bytes and tokens below
  std::uint32_t begin = 0, end = 0;   // of the expression, from the statement's first byte
  std::uint32_t first = 0, last = 0;  // its tokens in the statement's normal form, both inclusive
};

// One per fact.
std::vector<Anchor> bind_facts(const Tree::Data& executed, std::span<const Fact> facts);

// By fact: what stands there fits its role (a call, an assignment, a class, a loop, …) and its function.
std::vector<bool> borne_out(const Tree::Data& executed, std::span<const Fact> facts, std::span<const Anchor> anchors);

// The statement's tokens as formatters leave them.
NormalTokens tokens_of(std::string_view text, const Statement& statement);

}  // namespace hotlens::source
