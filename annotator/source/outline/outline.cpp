#include "annotator/source/outline/outline.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "annotator/source/outline/logical_line.h"
#include "annotator/source/outline/normal_form.h"

namespace hotlens::source {
namespace {

std::vector<std::uint32_t> line_starts(std::string_view text) {
  std::vector<std::uint32_t> starts{0};
  starts.reserve(text.size() / 32);
  bool returns = text.find('\r') != std::string_view::npos;
  for (std::size_t i = 0;; ++i) {
    i = returns ? text.find_first_of("\r\n", i) : text.find('\n', i);
    if (i == std::string_view::npos) return starts;
    if (text[i] == '\n' || i + 1 == text.size() || text[i + 1] != '\n') starts.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

std::uint64_t chain(const Statement& statement) {
  return mix(mix(statement.around, statement.key), statement.hash);
}

// `else`, `except`, … belong to the statement before them: with it they change their key.
void link_downwards(std::vector<Statement>& statements) {
  std::vector<std::uint32_t> open;      // statements around the current one
  std::vector<std::uint32_t> previous;  // last sibling per depth of `open`
  previous.push_back(kNoStatement);
  for (std::uint32_t i = 0; i < statements.size(); ++i) {
    Statement& statement = statements[i];
    while (!open.empty() && statements[open.back()].level >= statement.level) {
      open.pop_back();
      previous.pop_back();
    }
    statement.parent = open.empty() ? kNoStatement : open.back();
    statement.around = 0;
    statement.scope = kNoStatement;
    if (!open.empty()) {
      const Statement& parent = statements[open.back()];
      bool scope = parent.kind == StatementKind::function || parent.kind == StatementKind::type;
      statement.scope = scope ? open.back() : parent.scope;
      statement.around = chain(parent);
    }
    statement.key = statement.own_key;
    std::uint32_t before = std::exchange(previous.back(), i);
    if (statement.kind == StatementKind::clause && before != kNoStatement) statement.key = mix(statement.own_key, statements[before].key);
    open.push_back(i);
    previous.push_back(kNoStatement);
  }
}

void link_upwards(std::vector<Statement>& statements) {
  for (Statement& statement : statements) statement.inside = 0;
  auto count = static_cast<std::uint32_t>(statements.size());
  for (Statement& statement : statements) statement.below = 0;
  for (std::uint32_t i = count; i-- > 0;) {
    Statement& statement = statements[i];
    statement.below = std::max(statement.below, i + 1);
    statement.deep = mix(mix(statement.hash, statement.key), statement.inside);
    if (statement.parent == kNoStatement) continue;
    Statement& parent = statements[statement.parent];
    parent.inside = mix(parent.inside, statement.deep);
    parent.below = std::max(parent.below, statement.below);
  }
}

// Statements are in the order of the text, so their lines are found in one walk over both.
void number_lines(Outline& outline) {
  const auto& lines = outline.lines;
  std::uint32_t line = 0;
  auto line_of = [&](std::uint32_t byte) {
    while (line + 1 < lines.size() && lines[line + 1] <= byte) ++line;
    return line;
  };
  for (Statement& statement : outline.statements) {
    statement.line = line_of(statement.head);
    statement.end_line = line_of(statement.end);
  }
}

void link(Outline& outline) {
  number_lines(outline);
  link_downwards(outline.statements);
  link_upwards(outline.statements);
}

void read_from(std::string_view text, std::uint32_t at, std::vector<Statement>& statements) {
  LineReader reader(text);
  while (reader.read(at, statements)) at = reader.next();
}

Statement shifted(Statement statement, std::uint32_t delta) {  // modulo 2^32, so a negative shift works as well
  statement.begin += delta;
  statement.head += delta;
  statement.end += delta;
  statement.name_begin += delta;
  statement.name_end += delta;
  statement.looked_to += delta;
  return statement;
}

// The first statement that must be read again: one whose end was decided by text the edit touches.
std::uint32_t first_touched(const std::vector<Statement>& statements, std::uint32_t start) {
  auto touched = std::ranges::find_if(statements, [&](const Statement& s) { return s.looked_to >= start; });
  auto index = static_cast<std::uint32_t>(touched - statements.begin());
  while (index > 0 && index < statements.size() && !statements[index].opens_line) --index;
  return index;
}

}  // namespace

Outline outline_of(std::string_view text) {
  Outline outline{.statements = {}, .lines = line_starts(text)};
  outline.statements.reserve(text.size() / 32);
  read_from(text, 0, outline.statements);
  link(outline);
  return outline;
}

Outline outline_after(const Outline& old, std::string_view text, std::uint32_t start, std::uint32_t old_end, std::uint32_t new_end) {
  std::uint32_t delta = new_end - old_end;
  const auto& before = old.statements;
  std::uint32_t keep = first_touched(before, start);
  Outline outline{.statements = {}, .lines = line_starts(text)};
  auto& statements = outline.statements;
  statements.reserve(before.size() + 16);
  statements.assign(before.begin(), before.begin() + keep);
  // The old statements that may follow unchanged: they open their line behind the edit.
  std::uint32_t resume = keep;
  LineReader reader(text);
  // What stood before the first statement (or behind the kept one) may hold the edit: read from the end of what is kept.
  std::uint32_t at = keep == 0 ? 0 : reader.line_behind(statements.back().end);
  for (;;) {
    std::uint32_t next_line = reader.first_token(at);
    if (next_line > new_end) {
      while (resume < before.size() && (before[resume].begin + delta < next_line || before[resume].begin <= old_end)) ++resume;
      bool same = resume < before.size() && before[resume].begin + delta == next_line && before[resume].opens_line &&
                  reader.line_start(next_line) > new_end;
      if (same) {
        for (std::uint32_t i = resume; i < before.size(); ++i) statements.push_back(shifted(before[i], delta));
        break;
      }
    }
    if (!reader.read(at, statements)) break;
    at = reader.next();
  }
  link(outline);
  return outline;
}

Position position_of(const Outline& outline, std::uint32_t byte) {
  auto behind = std::ranges::upper_bound(outline.lines, byte);
  auto line = static_cast<std::uint32_t>(behind - outline.lines.begin()) - 1;
  return {line, byte - outline.lines[line]};
}

bool byte_of(const Outline& outline, std::string_view text, Position at, std::uint32_t& byte) {
  if (at.line >= outline.lines.size()) return false;
  std::uint32_t begin = outline.lines[at.line];
  std::uint32_t end = at.line + 1 < outline.lines.size() ? outline.lines[at.line + 1] : static_cast<std::uint32_t>(text.size());
  while (end > begin && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
  byte = at.column < end - begin ? begin + at.column : end;
  return true;
}

Position position_of(const Outline& outline, const Statement& statement, std::uint32_t byte) {
  if (statement.line != statement.end_line || byte < statement.head || byte > statement.end) return position_of(outline, byte);
  return {statement.line, byte - outline.lines[statement.line]};
}

Range range_of(const Outline& outline, const Statement& statement) {
  return {{statement.line, statement.head - outline.lines[statement.line]},
          {statement.end_line, statement.end - outline.lines[statement.end_line]}};
}

std::uint32_t statement_at(const Outline& outline, std::uint32_t byte) {
  const auto& statements = outline.statements;
  auto behind = std::ranges::upper_bound(statements, byte, {}, &Statement::begin);
  if (behind == statements.begin()) return kNoStatement;
  auto index = static_cast<std::uint32_t>(behind - statements.begin()) - 1;
  return byte < statements[index].end ? index : kNoStatement;
}

std::string qualified_name(const Outline& outline, std::string_view text, std::uint32_t scope) {
  std::string name;
  for (; scope != kNoStatement; scope = outline.statements[scope].scope) {
    const Statement& statement = outline.statements[scope];
    std::string part(text.substr(statement.name_begin, statement.name_end - statement.name_begin));
    if (!name.empty()) part += (statement.kind == StatementKind::function ? ".<locals>." : ".") + name;
    name = std::move(part);
  }
  return name;
}

}  // namespace hotlens::source
