// The outline of a Python text: its statements, who stands inside whom, and a hash of what each says.
//
// tree-sitter is exact about expressions, but while someone types, an unclosed bracket turns the rest of a file into one error node, and
// every statement behind it would lose its place until the bracket is closed. Statements need less than a grammar: logical lines and
// indentation. So the outline is read from tokens. Where a bracket or string stays open, the statement ends where the next one begins by
// its indentation or by a word that cannot stand inside brackets; everything else keeps its statement. In a text that parses, the outline's
// statements are those of the grammar (a test compares them).
//
// Statements are in the order of the text, a compound statement's header before its body. After an edit only the lines around it are read
// again; the rest is copied and shifted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/source/outline/position.h"

namespace hotlens::source {

inline constexpr std::uint32_t kNoStatement = 0xffffffff;

enum class StatementKind : std::uint8_t { simple, function, type, loop, clause, compound };

struct Statement {
  // What its own text says.
  std::uint64_t hash = 0;     // normal form; of the header only, decorators included, for a compound statement
  std::uint64_t own_key = 0;  // what makes it the same statement among its siblings: kind and name for functions and classes, else the hash
  std::uint32_t begin = 0;    // first byte, decorators included
  std::uint32_t head = 0;     // first byte without decorators
  std::uint32_t end = 0;      // behind the last token; of the header for a compound statement
  std::uint32_t name_begin = 0, name_end = 0;  // of a function or class
  std::uint32_t looked_to = 0;                 // the reader saw the text up to here when it decided where the statement ends
  std::uint32_t level = 0;                     // indentation; a body on the header's line is one deeper
  std::uint32_t tokens = 0;                    // in normal form
  StatementKind kind = StatementKind::simple;
  bool opens_line = true;  // false behind a semicolon, with nothing before it too, or a header on the same line

  // Where it stands.
  std::uint32_t line = 0, end_line = 0;  // of head and of end
  std::uint32_t parent = kNoStatement;   // the compound statement around it
  std::uint32_t scope = kNoStatement;    // the function or class around it
  std::uint32_t below = 0;               // index behind the last statement inside it
  std::uint64_t key = 0;                 // own_key; for else, except, … with what they belong to
  std::uint64_t around = 0;              // hash of all headers around it
  std::uint64_t inside = 0;              // hash of everything below it
  std::uint64_t deep = 0;                // hash of it and everything below it
};

struct Outline {
  std::vector<Statement> statements;
  std::vector<std::uint32_t> lines;  // first byte of every line; "\n", "\r\n" and a lone "\r" end a line
};

Outline outline_of(std::string_view text);
// The outline of `text`, which is `old_text` with bytes [start, old_end) replaced by [start, new_end) of `text`.
Outline outline_after(const Outline& old, std::string_view text, std::uint32_t start, std::uint32_t old_end, std::uint32_t new_end);

Position position_of(const Outline& outline, std::uint32_t byte);
// The same for a byte of a statement, without a search where the statement is on one line.
Position position_of(const Outline& outline, const Statement& statement, std::uint32_t byte);
// The byte of a position; past the end of a line it is the line's end. False for a line that does not exist.
bool byte_of(const Outline& outline, std::string_view text, Position at, std::uint32_t& byte);

// The statement without its decorators.
Range range_of(const Outline& outline, const Statement& statement);

// The index of the last statement that begins at or before the byte and ends behind it; kNoStatement in blanks and comments.
std::uint32_t statement_at(const Outline& outline, std::uint32_t byte);
// "Net.__init__.<locals>.block": as Python writes it; "" at the top level.
std::string qualified_name(const Outline& outline, std::string_view text, std::uint32_t scope);

}  // namespace hotlens::source
