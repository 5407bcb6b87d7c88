#include "annotator/source/outline/excerpt.h"

#include <string_view>

#include "annotator/source/outline/lexer.h"

namespace hotlens::source {
namespace {

// The word that says what a statement is.
std::string_view first_word(std::string_view text, const Statement& statement) {
  Token token = next_token(text, statement.head);
  if (text_of(text, token) == "async") token = next_token(text, token.end);
  return text_of(text, token);
}

std::string_view indentation(std::string_view text, std::uint32_t begin) {
  std::uint32_t line = begin;
  while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t')) --line;
  return text.substr(line, begin - line);
}

// What must stand before the statement, so that it may stand there.
std::string lead(std::string_view text, const Statement& statement) {
  if (statement.begin < statement.head) {  // the lines below a decorator are indented as it is
    const std::string_view indent = indentation(text, statement.begin);
    return indent.empty() ? "" : "if 0:\n" + std::string(indent);
  }
  const std::string_view word = first_word(text, statement);
  if (statement.kind == StatementKind::clause) return word == "except" || word == "finally" ? "try: pass\n" : "if 0: pass\n";
  return statement.kind == StatementKind::compound && word == "case" ? "match 0:\n " : "";
}

std::string_view body(std::string_view text, const Statement& statement) {
  if (statement.kind == StatementKind::simple) return "\n";
  const std::string_view word = first_word(text, statement);
  if (word == "try") return " pass\nfinally: pass\n";
  return word == "match" ? "\n case 0: pass\n" : " pass\n";
}

}  // namespace

Excerpt excerpt(std::string_view text, const Outline& outline, std::span<const std::uint32_t> statements) {
  Excerpt made{.text = {}, .statements = {statements.begin(), statements.end()}, .begins = {}};
  for (const std::uint32_t index : statements) {
    const Statement& statement = outline.statements[index];
    made.text += lead(text, statement);
    const std::size_t begin = made.text.size();
    made.begins.push_back(static_cast<std::uint32_t>(begin));
    made.text += text.substr(statement.begin, statement.end - statement.begin);
    // The grammar takes `type(x).y = z` for a type alias.
    if (std::string_view(made.text).substr(begin).starts_with("type(")) made.text[begin] = 'T';
    made.text += body(text, statement);
  }
  for (std::size_t i = 0; i + 1 < made.text.size(); ++i) {  // the grammar ends lines at "\n" only
    if (made.text[i] == '\r' && made.text[i + 1] != '\n') made.text[i] = '\n';
  }
  return made;
}

}  // namespace hotlens::source
