#include "annotator/source/binding.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "annotator/source/outline/syntax.h"

namespace hotlens::source {
namespace {

struct Run {
  std::uint32_t begin = 0, end = 0;  // indices of statements
  std::uint32_t size() const { return end - begin; }
};

struct Bytes {
  std::uint32_t begin = 0, end = 0;  // of the text
};

// The statements that touch a line, in the order of the text.
Run on_line(const Tree::Data& data, std::uint32_t line) {
  const auto& lines = data.outline.lines;
  const auto& statements = data.outline.statements;
  if (line >= lines.size()) return {};
  const std::uint32_t begin = lines[line];
  const auto end = line + 1 < lines.size() ? lines[line + 1] : static_cast<std::uint32_t>(data.text.size());
  const auto behind = std::ranges::lower_bound(statements, end, {}, &Statement::begin);
  auto first = behind;
  while (first != statements.begin() && std::prev(first)->end > begin) --first;
  return {static_cast<std::uint32_t>(first - statements.begin()), static_cast<std::uint32_t>(behind - statements.begin())};
}

// Python counts columns behind a byte order mark.
Position in_text(const Tree::Data& data, Position at) {
  if (at.line == 0 && data.text.starts_with("\xEF\xBB\xBF")) at.column += 3;
  return at;
}

// Where an expression with known columns stands; nothing where the text has no such place.
std::optional<Bytes> bytes_of(const Tree::Data& data, const Fact& fact) {
  Bytes bytes;
  const bool exists = fact.has_columns && byte_of(data.outline, data.text, in_text(data, fact.range.begin), bytes.begin) &&
                      byte_of(data.outline, data.text, in_text(data, fact.range.end), bytes.end);
  return exists && bytes.begin < bytes.end ? std::optional(bytes) : std::nullopt;
}

bool is_whole(const Statement& statement, const Bytes& bytes) {
  return bytes.begin <= statement.head && bytes.end >= statement.end;
}

// Without columns any lambda or comprehension of the line may be meant.
const std::vector<std::string>& nested_scopes() {
  static const std::vector<std::string> any{"<lambda>",  "<listcomp>", "<genexpr>",  "<dictcomp>",
                                            "<setcomp>", "<lambda>",   "<listcomp>", "<genexpr>"};
  return any;
}

bool fits(Role role, const Expression& found, const Statement& at) {
  switch (role) {
    case Role::definition:
      // `REGISTRY[name]` may make what it gives, a generator what is taken from it.
      return found.call || found.subscript || found.unpacking || found.assignment || found.statement;
    case Role::constructor:
      return found.call || found.subscript;
    case Role::call:
      return found.call || found.loop || found.unpacking;  // an iterator calls when something is taken from it
    case Role::class_line:
      return at.kind == StatementKind::type;
    case Role::stage:
      return found.call || found.loop || found.context || found.statement || at.kind == StatementKind::loop;
    case Role::line:
    case Role::statement:
      return true;
  }
  return false;
}

// Judges facts by the syntax of some statements.
class Judge {
 public:
  Judge(const Tree::Data& data, std::span<const std::uint32_t> statements) : data_(data), syntax_(data, statements) {}

  // Of a fact whose columns are not known, or mean nothing in this text.
  bool fits_line(const Fact& fact, std::uint32_t index) const {
    return may_be(fact.role, index) && in_function(fact, index, nested_scopes());
  }

  bool fits_expression(const Fact& fact, std::uint32_t index, const Bytes& bytes) const {
    const Statement& at = data_.outline.statements[index];
    const Expression expression = syntax_.expression_at(index, bytes.begin, bytes.end);
    // Of a whole statement, a comprehension or lambda inside it may have been the code that ran.
    const bool any = fact.role == Role::definition && is_whole(at, bytes);
    return fits(fact.role, expression, at) && in_function(fact, index, any ? nested_scopes() : expression.scopes);
  }

 private:
  bool may_be(Role role, std::uint32_t index) const {
    const Statement& at = data_.outline.statements[index];
    if (role == Role::class_line) return at.kind == StatementKind::type;
    if (role == Role::line || role == Role::statement || (role == Role::stage && at.kind == StatementKind::loop)) return true;
    if (syntax_.has_call(index)) return true;
    return role == Role::definition && at.kind == StatementKind::simple && syntax_.expression_at(index, at.begin, at.end).assignment;
  }

  bool in_function(const Fact& fact, std::uint32_t index, const std::vector<std::string>& scopes) const {
    if (fact.function.empty()) return true;
    const Statement& at = data_.outline.statements[index];
    if (names(fact.function, qualified_name(data_.outline, data_.text, at.scope), scopes)) return true;
    // A class or function may be named by itself: its own line belongs to both.
    const bool scope = at.kind == StatementKind::type || at.kind == StatementKind::function;
    return scope && names(fact.function, qualified_name(data_.outline, data_.text, index), {});
  }

  const Tree::Data& data_;
  Syntax syntax_;
};

// The statements of lines that hold several and have facts which do not say where on the line they stand.
std::vector<std::uint32_t> crowded(const Tree::Data& data, std::span<const Fact> facts) {
  std::set<std::uint32_t> found;
  for (const Fact& fact : facts) {
    if (fact.has_columns) continue;
    const Run run = on_line(data, fact.range.begin.line);
    for (std::uint32_t index = run.begin; run.size() > 1 && index < run.end; ++index) found.insert(index);
  }
  return {found.begin(), found.end()};
}

class Binder {
 public:
  Binder(const Tree::Data& data, std::span<const Fact> facts) : data_(data), judge_(data, crowded(data, facts)) {}

  Anchor bind(const Fact& fact) {
    const std::optional<Bytes> bytes = bytes_of(data_, fact);
    if (!bytes) return on_line_of(fact);
    const std::uint32_t index = source::statement_at(data_.outline, bytes->begin);
    return index == kNoStatement ? on_line_of(fact) : expression_of(fact, index, *bytes);
  }

 private:
  // The statement of a line; among several on it, the first that fits the role, or else the first.
  Anchor on_line_of(const Fact& fact) const {
    const Run run = on_line(data_, fact.range.begin.line);
    if (run.size() == 0) return {};
    std::uint32_t chosen = run.begin;
    while (run.size() > 1 && chosen < run.end && !judge_.fits_line(fact, chosen)) ++chosen;
    return {.statement = chosen < run.end ? chosen : run.begin};
  }

  Anchor expression_of(const Fact& fact, std::uint32_t index, const Bytes& bytes) {
    const Statement& at = data_.outline.statements[index];
    Anchor anchor{.statement = index};
    if (fact.role == Role::class_line || is_whole(at, bytes)) return anchor;
    const NormalTokens& tokens = tokens_in(index);
    // An expression may begin with a parenthesis that the normal form leaves out; it never ends inside a token.
    const auto first = std::ranges::lower_bound(tokens, bytes.begin, {}, &NormalToken::begin);
    auto last = std::ranges::upper_bound(tokens, bytes.end, {}, &NormalToken::end);
    if (last == tokens.begin() || std::prev(last) < first) return anchor;
    --last;
    const bool bounded =
        (first->begin == bytes.begin || data_.text[bytes.begin] == '(') && (last->end == bytes.end || data_.text[bytes.end - 1] == ')');
    if (!bounded) return anchor;
    anchor.whole = false;
    anchor.begin = bytes.begin - at.begin;
    anchor.end = bytes.end - at.begin;
    anchor.first = static_cast<std::uint32_t>(first - tokens.begin());
    anchor.last = static_cast<std::uint32_t>(last - tokens.begin());
    return anchor;
  }

  const NormalTokens& tokens_in(std::uint32_t index) {
    const auto [at, added] = tokens_.try_emplace(index);
    if (added) at->second = tokens_of(data_.text, data_.outline.statements[index]);
    return at->second;
  }

  const Tree::Data& data_;
  Judge judge_;
  std::unordered_map<std::uint32_t, NormalTokens> tokens_;  // by statement
};

}  // namespace

NormalTokens tokens_of(std::string_view text, const Statement& statement) {
  return normal_form(text, tokens_between(text, statement.begin, statement.end));
}

std::vector<Anchor> bind_facts(const Tree::Data& executed, std::span<const Fact> facts) {
  Binder binder(executed, facts);
  std::vector<Anchor> anchors;
  anchors.reserve(facts.size());
  for (const Fact& fact : facts) anchors.push_back(binder.bind(fact));
  return anchors;
}

std::vector<bool> borne_out(const Tree::Data& executed, std::span<const Fact> facts, std::span<const Anchor> anchors) {
  std::set<std::uint32_t> statements;
  for (const Anchor& anchor : anchors) {
    if (anchor.statement != kNoStatement) statements.insert(anchor.statement);
  }
  const Judge judge(executed, std::vector(statements.begin(), statements.end()));
  std::vector<bool> found(facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::uint32_t index = anchors[i].statement;
    if (index == kNoStatement) continue;
    const std::optional<Bytes> bytes = bytes_of(executed, facts[i]);
    const bool at_columns = bytes && source::statement_at(executed.outline, bytes->begin) == index;
    found[i] = at_columns ? judge.fits_expression(facts[i], index, *bytes) : !facts[i].has_columns && judge.fits_line(facts[i], index);
  }
  return found;
}

}  // namespace hotlens::source
