// Reads logical lines: the tokens up to the line end that counts, and the statements among them.
//
// A line end inside brackets does not count. A bracket that is never closed would swallow the text behind it; it is taken as broken when a
// word that cannot stand inside brackets opens a line, and the statement is then read again, ending where the next one begins.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "annotator/source/outline/lexer.h"
#include "annotator/source/outline/outline.h"

namespace hotlens::source {

class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  // Appends the statements of the first logical line at or behind the line start `at` (decorators go with what they decorate). False: none
  // left.
  bool read(std::uint32_t at, std::vector<Statement>& statements);
  // Where the line behind the one just read begins.
  std::uint32_t next() const { return next_; }

  // The first token at or behind `at` that is not a line end; the text's size when there is none.
  std::uint32_t first_token(std::uint32_t at) const;
  std::uint32_t line_behind(std::uint32_t statement_end) const;
  std::uint32_t line_start(std::uint32_t byte) const;

 private:
  void collect(Token first);
  bool collect_whole(Token first);
  void collect_broken(Token first);
  void look_at(const Token& token);
  bool opens_statement(Token token);
  bool swallows_code(const Token& string, bool bare);
  bool decorates_next();
  Token token_behind_newlines(std::uint32_t at) const;
  std::uint32_t indentation(std::uint32_t byte) const;
  std::string_view word(std::size_t i) const;
  bool is_op(const Token& token, char op) const;
  std::size_t header_size(std::size_t head) const;
  void emit(std::size_t head, std::vector<Statement>& statements);
  Statement statement(std::size_t first, std::size_t last, std::uint32_t level) const;

  std::string_view text_;
  std::vector<Token> tokens_;  // of the current logical line, decorators first
  std::uint32_t next_ = 0;
  std::uint32_t looked_to_ = 0;
};

}  // namespace hotlens::source
