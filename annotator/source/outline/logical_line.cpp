#include "annotator/source/outline/logical_line.h"

#include <algorithm>
#include <array>
#include <span>

#include "annotator/common/character.h"
#include "annotator/source/outline/normal_form.h"

namespace hotlens::source {
namespace {

// Lines inside one bracket after which a line that is not indented ends it. Only unindented tables of data are longer; without a bound a
// text of unclosed brackets would take quadratic time.
constexpr int kLongBracket = 200;
// Tokens of `a.b.c.d =` that are looked at.
constexpr int kLongTarget = 16;
constexpr std::uint32_t kTab = 8;  // Python's own tab stop for indentation

int depth_change(std::string_view text, const Token& token) {
  if (token.kind != TokenKind::op || token.end - token.begin != 1) return 0;
  char c = text[token.begin];
  if (c == '(' || c == '[' || c == '{') return 1;
  return c == ')' || c == ']' || c == '}' ? -1 : 0;
}

// Words that can stand behind an expression on its line.
bool follows_expression(std::string_view word) {
  static constexpr std::array<std::string_view, 11> words{"if", "else", "for", "async", "in", "is", "not", "and", "or", "as", "from"};
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

bool LineReader::is_op(const Token& token, char op) const {
  return token.kind == TokenKind::op && token.end - token.begin == 1 && text_[token.begin] == op;
}

std::string_view LineReader::word(std::size_t i) const {
  return i < tokens_.size() && tokens_[i].kind == TokenKind::word ? text_of(text_, tokens_[i]) : std::string_view{};
}

Token LineReader::token_behind_newlines(std::uint32_t at) const {
  Token token = next_token(text_, at);
  while (token.kind == TokenKind::newline) token = next_token(text_, token.end);
  return token;
}

std::uint32_t LineReader::first_token(std::uint32_t at) const {
  return token_behind_newlines(at).begin;
}

std::uint32_t LineReader::line_start(std::uint32_t byte) const {
  while (byte > 0 && !is_newline(text_[byte - 1])) --byte;
  return byte;
}

std::uint32_t LineReader::line_behind(std::uint32_t statement_end) const {
  Token token = next_token(text_, statement_end);
  while (token.kind != TokenKind::newline && token.kind != TokenKind::end) token = next_token(text_, token.end);
  return token.end;
}

std::uint32_t LineReader::indentation(std::uint32_t byte) const {
  std::uint32_t width = 0;
  for (std::uint32_t i = line_start(byte); i < byte; ++i) {
    if (text_[i] == '\t') {
      width = (width / kTab + 1) * kTab;
    } else if (text_[i] == '\f') {
      width = 0;
    } else if (text_[i] == ' ') {
      ++width;
    }
  }
  return width;
}

void LineReader::look_at(const Token& token) {
  looked_to_ = std::max({looked_to_, token.end, token.looked_to});
}

// Whether a token at the start of a line shows that no bracket can be open: `return`, `class`, `self.a =`.
bool LineReader::opens_statement(Token token) {
  look_at(token);
  if (token.kind != TokenKind::word) return false;
  if (starts_statement(text_of(text_, token))) return true;
  for (int i = 0; i < kLongTarget; ++i) {
    Token dot = next_token(text_, token.end);
    look_at(dot);
    if (!is_op(dot, '.')) return i > 0 && is_op(dot, '=');
    token = next_token(text_, dot.end);
    look_at(token);
    if (token.kind != TokenKind::word) return false;
  }
  return false;
}

// Whether a string over several lines was never meant to: it ends at the quotes that open the next one. Then a word follows those, or, when
// the string is a statement of its own (a docstring being typed), a function or class of an outer block stands in it.
bool LineReader::swallows_code(const Token& string, bool bare) {
  std::string_view inside = text_of(text_, string);
  if (inside.find_first_of("\r\n") == std::string_view::npos) return false;
  if (!string.closed) return string.end == text_.size();
  Token after = next_token(text_, string.end);
  look_at(after);
  if (after.kind == TokenKind::number || (after.kind == TokenKind::word && !follows_expression(text_of(text_, after)))) return true;
  if (!bare) return false;
  std::uint32_t indent = indentation(string.begin);
  for (std::size_t at = inside.find_first_of("\r\n"); at != std::string_view::npos; at = inside.find_first_of("\r\n", at + 1)) {
    std::size_t word = inside.find_first_not_of(" \t", at + 1);
    if (word == std::string_view::npos) break;
    bool opens = inside.substr(word).starts_with("def ") || inside.substr(word).starts_with("class ");
    if (opens && indentation(string.begin + static_cast<std::uint32_t>(word)) < indent) return true;
  }
  return false;
}

// False when a bracket or a string stays open; looked_to_ then tells how far that was looked for.
bool LineReader::collect_whole(Token first) {
  int depth = 0, lines = 0;
  std::uint32_t indent = indentation(first.begin);
  for (Token token = first;; token = next_token(text_, token.end)) {
    look_at(token);
    next_ = token.end;
    if (token.kind == TokenKind::end) return depth == 0;
    if (token.kind == TokenKind::newline) {
      if (depth == 0) return true;
      Token following = token_behind_newlines(token.end);
      if (opens_statement(following)) return false;
      if (++lines > kLongBracket && indentation(following.begin) <= indent && depth_change(text_, following) >= 0) return false;
      continue;
    }
    if (token.kind == TokenKind::string && swallows_code(token, token.begin == first.begin)) return false;
    depth = std::max(0, depth + depth_change(text_, token));
    tokens_.push_back(token);
  }
}

void LineReader::collect_broken(Token first) {
  int depth = 0;
  std::uint32_t indent = indentation(first.begin);
  bool compound = starts_compound(text_of(text_, first));
  for (Token token = first;; token = next_token(text_, token.end)) {
    look_at(token);
    next_ = token.end;
    if (token.kind == TokenKind::end) return;
    if (token.kind == TokenKind::newline) {
      if (depth == 0 || compound) return;
      Token following = token_behind_newlines(token.end);
      look_at(following);
      bool closes = depth_change(text_, following) < 0;
      if ((indentation(following.begin) <= indent && !closes) || opens_statement(following)) return;
      continue;
    }
    if (token.kind == TokenKind::string && swallows_code(token, token.begin == first.begin)) {
      std::size_t line_end = text_.find_first_of("\r\n", token.begin);
      if (line_end < token.end) token.end = static_cast<std::uint32_t>(line_end);
    }
    depth = std::max(0, depth + depth_change(text_, token));
    tokens_.push_back(token);
  }
}

void LineReader::collect(Token first) {
  std::size_t before = tokens_.size();
  if (collect_whole(first)) return;
  tokens_.resize(before);
  collect_broken(first);
}

bool LineReader::decorates_next() {
  Token following = token_behind_newlines(next_);
  look_at(following);
  std::string_view first = text_of(text_, following);
  return first == "@" || first == "def" || first == "class" || first == "async";
}

bool LineReader::read(std::uint32_t at, std::vector<Statement>& statements) {
  tokens_.clear();
  looked_to_ = 0;
  Token first = token_behind_newlines(at);
  if (first.kind == TokenKind::end) return false;
  std::size_t head = 0;
  collect(first);
  while (is_op(tokens_[head], '@') && decorates_next()) {
    head = tokens_.size();
    collect(token_behind_newlines(next_));
  }
  emit(head, statements);
  return true;
}

// Tokens of the header of a compound statement, its colon included; 0 for a simple statement.
std::size_t LineReader::header_size(std::size_t head) const {
  bool soft = (word(head) == "match" || word(head) == "case") && tokens_.size() > head + 2 && is_op(tokens_.back(), ':');
  if (soft) return tokens_.size() - head;
  if (!starts_compound(word(head))) return 0;
  int depth = 0, lambdas = 0;
  for (std::size_t i = head; i < tokens_.size(); ++i) {
    depth = std::max(0, depth + depth_change(text_, tokens_[i]));
    if (depth > 0) continue;
    if (word(i) == "lambda") ++lambdas;
    if (is_op(tokens_[i], ':') && --lambdas < 0) return i + 1 - head;
  }
  return tokens_.size() - head;
}

Statement LineReader::statement(std::size_t first, std::size_t last, std::uint32_t level) const {
  NormalTokens normal = normal_form(text_, std::span(tokens_).subspan(first, last - first));
  Statement made;
  made.hash = made.own_key = hash_of(normal);
  made.tokens = static_cast<std::uint32_t>(normal.size());
  made.begin = made.head = tokens_[first].begin;
  made.end = tokens_[last - 1].end;
  made.looked_to = looked_to_;
  made.level = level;
  return made;
}

namespace {

StatementKind kind_of(std::string_view word) {
  if (word == "def") return StatementKind::function;
  if (word == "class") return StatementKind::type;
  if (word == "for" || word == "while") return StatementKind::loop;
  if (word == "elif" || word == "else" || word == "except" || word == "finally") return StatementKind::clause;
  return StatementKind::compound;
}

}  // namespace

void LineReader::emit(std::size_t head, std::vector<Statement>& statements) {
  std::uint32_t level = 2 * indentation(tokens_.front().begin);
  std::size_t first = statements.size(), behind = head;
  if (std::size_t size = header_size(head); size > 0) {
    std::size_t keyword = word(head) == "async" ? head + 1 : head;
    Statement header = statement(0, head + size, level);
    header.kind = kind_of(word(keyword));
    header.head = tokens_[head].begin;
    bool named = header.kind == StatementKind::function || header.kind == StatementKind::type;
    if (named && !word(keyword + 1).empty()) {
      header.name_begin = tokens_[keyword + 1].begin;
      header.name_end = tokens_[keyword + 1].end;
      header.own_key = mix(hash_of(word(keyword)), hash_of(word(keyword + 1)));
    }
    statements.push_back(header);
    behind = head + size;
    ++level;
  } else {
    behind = 0;  // decorators with nothing to decorate
  }
  int depth = 0;
  for (std::size_t i = behind, start = behind; i <= tokens_.size(); ++i) {
    bool ends = i == tokens_.size() || (depth == 0 && is_op(tokens_[i], ';'));
    if (ends && i > start) statements.push_back(statement(start, i, level));
    if (ends) start = i + 1;
    if (i < tokens_.size()) depth = std::max(0, depth + depth_change(text_, tokens_[i]));
  }
  for (std::size_t i = first; i < statements.size(); ++i) statements[i].opens_line = statements[i].begin == tokens_.front().begin;
}

}  // namespace hotlens::source
