#include "annotator/source/outline/lexer.h"

#include <algorithm>
#include <array>

#include "annotator/common/character.h"

namespace hotlens::source {
namespace {

using Text = std::string_view;
using Offset = std::uint32_t;

Offset size_of(Text text) {
  return static_cast<Offset>(text.size());
}

char at(Text text, Offset i) {
  return i < text.size() ? text[i] : '\0';
}

// Every byte of a non-ASCII character counts as a letter: Python allows far more of them in names than one wants to list.
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
}

Offset past_newline(Text text, Offset i) {
  return at(text, i) == '\r' && at(text, i + 1) == '\n' ? i + 2 : i + 1;
}

Offset skip_blank(Text text, Offset i) {
  for (;;) {
    char c = at(text, i);
    if (i == 0 && text.starts_with("\xEF\xBB\xBF")) {
      i = 3;
    } else if (c == ' ' || c == '\t' || c == '\f' || (c == '\0' && i < text.size())) {
      ++i;
    } else if (c == '#') {
      while (i < text.size() && !is_newline(text[i])) ++i;
    } else if (c == '\\' && is_newline(at(text, i + 1))) {
      i = past_newline(text, i + 1);
    } else {
      return i;
    }
  }
}

struct StringEnd {
  Offset end;
  bool closed;
  Offset looked_to;
};

StringEnd scan_string(Text text, Offset open, bool formatted);

// The end of a replacement field `{…}` of an f-string; `i` is behind the brace. Python 3.12 lets the outer quote appear inside.
Offset scan_field(Text text, Offset i, bool multiline, Offset& looked_to) {
  int depth = 1;
  while (i < text.size()) {
    char c = text[i];
    if (is_newline(c) && !multiline) return i;
    if (c == '{') {
      ++depth;
    } else if (c == '}') {
      if (--depth == 0) return i + 1;
    } else if (c == '"' || c == '\'') {
      StringEnd inner = scan_string(text, i, false);
      looked_to = std::max(looked_to, inner.looked_to);
      if (!inner.closed) return i;
      i = inner.end;
      continue;
    }
    ++i;
  }
  return i;
}

// `open` is at the quote. A single-quoted string ends at its line's end, an unclosed triple-quoted one at the end of the text.
StringEnd scan_string(Text text, Offset open, bool formatted) {
  char quote = text[open];
  bool triple = at(text, open + 1) == quote && at(text, open + 2) == quote;
  Offset i = open + (triple ? 3 : 1);
  Offset looked_to = 0;
  auto ends = [&](Offset end, bool closed) { return StringEnd{end, closed, std::max(end, looked_to)}; };
  while (i < text.size()) {
    char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      i = is_newline(text[i + 1]) ? past_newline(text, i + 1) : i + 2;
    } else if (c == quote) {
      if (!triple) return ends(i + 1, true);
      if (at(text, i + 1) == quote && at(text, i + 2) == quote) return ends(i + 3, true);
      ++i;
    } else if (is_newline(c) && !triple) {
      return ends(i, false);
    } else if (formatted && c == '{') {
      i = at(text, i + 1) == '{' ? i + 2 : scan_field(text, i + 1, triple, looked_to);
    } else {
      ++i;
    }
  }
  return ends(size_of(text), false);
}

bool is_string_prefix(Text word) {
  return word.size() <= 2 && std::ranges::all_of(word, [](char c) { return Text("rRbBuUfFtT").find(c) != Text::npos; });
}

bool is_formatted(Text prefix) {
  return prefix.find_first_of("fFtT") != Text::npos;
}

// 1.5e-3, 0xFF, 1_000j; a sign belongs to it only behind an exponent.
Offset scan_number(Text text, Offset i) {
  Offset begin = i;
  bool hex = at(text, i) == '0' && (at(text, i + 1) == 'x' || at(text, i + 1) == 'X');
  for (;; ++i) {
    char c = at(text, i);
    bool exponent_sign =
        (c == '+' || c == '-') && !hex && i > begin && (text[i - 1] == 'e' || text[i - 1] == 'E') && is_digit(at(text, i + 1));
    if (!is_word(c) && c != '.' && !exponent_sign) return i;
  }
}

Offset scan_operator(Text text, Offset i) {
  static constexpr std::array<Text, 5> three{"**=", "//=", ">>=", "<<=", "..."};
  static constexpr std::array<Text, 20> two{
      "**", "//", ">>", "<<", "==", "!=", "<=", ">=", "->", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", ":=", "<>"};
  Text rest = text.substr(i, 3);
  if (std::ranges::find(three, rest) != three.end()) return i + 3;
  if (std::ranges::find(two, rest.substr(0, 2)) != two.end()) return i + 2;
  return i + 1;
}

template <std::size_t N>
bool contains(const std::array<Text, N>& words, Text word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

Token next_token(Text text, Offset from) {
  Offset i = skip_blank(text, from);
  if (i >= text.size()) return {size_of(text), size_of(text), TokenKind::end};
  char c = text[i];
  if (is_newline(c)) return {i, past_newline(text, i), TokenKind::newline};
  if (c == '"' || c == '\'') {
    StringEnd string = scan_string(text, i, false);
    return {i, string.end, TokenKind::string, string.closed, string.looked_to};
  }
  if (is_digit(c) || (c == '.' && is_digit(at(text, i + 1)))) return {i, scan_number(text, i), TokenKind::number};
  if (!is_word(c)) return {i, scan_operator(text, i), TokenKind::op};
  Offset end = i + 1;
  while (is_word(at(text, end))) ++end;
  char next = at(text, end);
  Text word = text.substr(i, end - i);
  if ((next == '"' || next == '\'') && is_string_prefix(word)) {
    StringEnd string = scan_string(text, end, is_formatted(word));
    return {i, string.end, TokenKind::string, string.closed, string.looked_to};
  }
  return {i, end, TokenKind::word};
}

bool starts_statement(Text word) {
  static constexpr std::array<Text, 17> words{"def", "class", "return", "import",   "with",   "while",   "raise", "try",   "assert",
                                              "del", "pass",  "break",  "continue", "except", "finally", "elif",  "global"};
  return contains(words, word) || word == "nonlocal";
}

bool starts_compound(Text word) {
  static constexpr std::array<Text, 12> words{"if",     "elif",    "else", "for", "while", "try",
                                              "except", "finally", "with", "def", "class", "async"};
  return contains(words, word);
}

bool is_keyword(Text word) {
  static constexpr std::array<Text, 19> words{"if",  "elif",   "else",  "for",   "while",  "with",   "in",   "is",     "and", "or",
                                              "not", "return", "yield", "await", "lambda", "assert", "from", "import", "del"};
  return contains(words, word) || starts_statement(word);
}

}  // namespace hotlens::source
