// Python's tokens, as far as statements need them.
//
// The lexer never fails: what is not Python is a run of one-byte operators, an unclosed string ends with its line (a triple-quoted one with
// the text). It knows nothing of brackets or indentation; outline.cpp joins tokens to logical lines. Offsets are bytes of the whole text.
#pragma once

#include <cstdint>
#include <string_view>

namespace hotlens::source {

enum class TokenKind : std::uint8_t { word, number, string, op, newline, end };

struct Token {
  std::uint32_t begin = 0, end = 0;
  TokenKind kind = TokenKind::end;
  bool closed = true;           // false: a string without its closing quotes
  std::uint32_t looked_to = 0;  // of a string: the text up to here decided where it ends, which may lie before that
};

// The token at or after `at`; blanks, comments and joined line ends (backslash) before it are skipped. A newline token is "\n", "\r\n" or
// "\r".
Token next_token(std::string_view text, std::uint32_t at);

inline std::string_view text_of(std::string_view text, const Token& token) {
  return text.substr(token.begin, token.end - token.begin);
}

// Words that can stand nowhere inside brackets: one of them at the start of a line ends an unclosed bracket.
bool starts_statement(std::string_view word);
// Words that begin a compound statement or one of its clauses, without the soft keywords.
bool starts_compound(std::string_view word);
// Words after which a parenthesis cannot be a call.
bool is_keyword(std::string_view word);

}  // namespace hotlens::source
