#include "annotator/source/anchors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "annotator/source/match.h"
#include "annotator/source/normal_form.h"
#include "annotator/source/syntax.h"

namespace hotlens::source {

// A fact bound to the syntax of the executed text.
struct Anchor {
  std::uint32_t statement = kNoStatement;
  bool confirmed = false;
  bool whole = true;                  // the statement itself; else the bytes and tokens below
  std::uint32_t begin = 0, end = 0;   // of the expression, from the statement's first byte
  std::uint32_t first = 0, last = 0;  // its tokens in the statement's normal form, both inclusive
};

struct Anchors::Data {
  std::vector<Fact> facts;
  std::vector<Anchor> anchors;  // one per fact
  Tree executed;
};

namespace {

NormalTokens tokens_of(std::string_view text, const Statement& statement) {
  return normal_form(text, tokens_between(text, statement.begin, statement.end));
}

// Binds the facts of one text. Facts that are equal but for their key (a line that made many modules) are looked up once.
class Binder {
 public:
  Binder(const Tree& tree, std::span<const Fact> facts) : data_(tree.data()), syntax_(data_, statements_of(data_, facts)) {}

  Anchor bind(const Fact& fact) {
    const Range& range = fact.range;
    Key key{fact.role, fact.has_columns, range.begin, range.end, fact.function};
    auto [at, added] = known_.try_emplace(key);
    if (added) at->second = fact.has_columns ? bind_columns(fact) : bind_line(fact);
    return at->second;
  }

 private:
  using Key = std::tuple<Role, bool, Position, Position, std::string>;
  struct Run {
    std::uint32_t begin = 0, end = 0;  // indices of statements
  };

  const Statement& statement(std::uint32_t index) const { return data_.outline.statements[index]; }

  // The statements that touch a line, in the order of the text.
  static Run on_line(const Tree::Data& data, std::uint32_t line) {
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

  // All statements that a fact may mean.
  static std::vector<std::uint32_t> statements_of(const Tree::Data& data, std::span<const Fact> facts) {
    std::set<std::uint32_t> lines, found;
    for (const Fact& fact : facts) lines.insert(fact.range.begin.line);
    for (const std::uint32_t line : lines) {
      const Run run = on_line(data, line);
      for (std::uint32_t index = run.begin; index < run.end; ++index) found.insert(index);
    }
    return {found.begin(), found.end()};
  }

  // Python counts columns behind a byte order mark.
  Position in_text(Position at) const {
    if (at.line == 0 && data_.text.starts_with("\xEF\xBB\xBF")) at.column += 3;
    return at;
  }

  Anchor bind_columns(const Fact& fact) {
    std::uint32_t begin = 0, end = 0;
    bool exists = byte_of(data_.outline, data_.text, in_text(fact.range.begin), begin) &&
                  byte_of(data_.outline, data_.text, in_text(fact.range.end), end);
    std::uint32_t index = exists ? source::statement_at(data_.outline, begin) : kNoStatement;
    if (index == kNoStatement || begin >= end) {
      Anchor anchor = bind_line(fact);
      anchor.confirmed = false;
      return anchor;
    }
    const Statement& at = statement(index);
    Expression expression = syntax_.expression_at(index, begin, end);
    // Of a whole statement, a comprehension or lambda inside it may have been the code that ran.
    const bool whole = begin <= at.head && end >= at.end;
    const bool any = whole && fact.role == Role::definition;
    const std::vector<std::string>& scopes = any ? nested_scopes() : expression.scopes;
    Anchor anchor{.statement = index, .confirmed = fits(fact.role, expression, at) && in_function(fact, index, scopes)};
    if (fact.role == Role::class_line || whole) return anchor;
    NormalTokens tokens = tokens_of(data_.text, at);
    // An expression may begin with a parenthesis that the normal form leaves out; it never ends inside a token.
    auto first = std::ranges::lower_bound(tokens, begin, {}, &NormalToken::begin);
    auto last = std::ranges::upper_bound(tokens, end, {}, &NormalToken::end);
    if (last == tokens.begin() || std::prev(last) < first) return anchor;
    --last;
    bool bounded = (first->begin == begin || data_.text[begin] == '(') && (last->end == end || data_.text[end - 1] == ')');
    if (!bounded) return anchor;
    anchor.whole = false;
    anchor.begin = begin - at.begin;
    anchor.end = end - at.begin;
    anchor.first = static_cast<std::uint32_t>(first - tokens.begin());
    anchor.last = static_cast<std::uint32_t>(last - tokens.begin());
    return anchor;
  }

  // The statement of a line; among several on it, the first that fits the role.
  Anchor bind_line(const Fact& fact) {
    const Run run = on_line(data_, fact.range.begin.line);
    Anchor chosen;
    for (std::uint32_t index = run.end; index-- > run.begin;) {
      const bool fit = fits_line(fact.role, index) && in_function(fact, index, nested_scopes());
      if (fit || !chosen.confirmed) chosen = {.statement = index, .confirmed = fit};
    }
    return chosen;
  }

  static bool fits(Role role, const Expression& found, const Statement& at) {
    switch (role) {
      case Role::definition:
        return found.call || found.assignment || found.statement;
      case Role::constructor:
      case Role::call:
        return found.call;
      case Role::class_line:
        return at.kind == StatementKind::type;
      case Role::stage:
        return found.call || found.loop || found.context || found.statement || at.kind == StatementKind::loop;
      case Role::line:
        return true;
    }
    return false;
  }

  bool fits_line(Role role, std::uint32_t index) const {
    const Statement& at = statement(index);
    if (role == Role::class_line) return at.kind == StatementKind::type;
    if (role == Role::line || (role == Role::stage && at.kind == StatementKind::loop)) return true;
    if (syntax_.has_call(index)) return true;
    return role == Role::definition && at.kind == StatementKind::simple && syntax_.expression_at(index, at.begin, at.end).assignment;
  }

  // Without columns any lambda or comprehension of the line may be meant.
  static const std::vector<std::string>& nested_scopes() {
    static const std::vector<std::string> any{"<lambda>",  "<listcomp>", "<genexpr>",  "<dictcomp>",
                                              "<setcomp>", "<lambda>",   "<listcomp>", "<genexpr>"};
    return any;
  }

  bool in_function(const Fact& fact, std::uint32_t index, const std::vector<std::string>& scopes) const {
    if (fact.function.empty()) return true;
    const Statement& at = statement(index);
    if (names(fact.function, qualified_name(data_.outline, data_.text, at.scope), scopes)) return true;
    // A class or function may be named by itself: its own line belongs to both.
    bool scope = at.kind == StatementKind::type || at.kind == StatementKind::function;
    return scope && names(fact.function, qualified_name(data_.outline, data_.text, index), {});
  }

  const Tree::Data& data_;
  Syntax syntax_;
  std::map<Key, Anchor> known_;
};

// Puts anchors of an executed text into the current one.
class Placer {
 public:
  Placer(const Tree::Data& executed, const Tree::Data& current) : old_(executed), now_(current), matches_(match(executed, current)) {}

  Anchors::Placement place(std::uint32_t index, const Anchor& anchor) {
    Anchors::Placement placed{.fact = index, .state = State::orphan, .confirmed = false, .range = {}, .statement = {}};
    if (anchor.statement == kNoStatement || matches_[anchor.statement].to == kNoStatement) return placed;
    const Match& match = matches_[anchor.statement];
    const Statement& was = old_.outline.statements[anchor.statement];
    const Statement& is = now_.outline.statements[match.to];
    placed.state = state(match, was, is);
    placed.statement = placed.range = range_of(now_.outline, is);
    placed.confirmed = anchor.confirmed;
    if (anchor.whole) {
      placed.confirmed = placed.confirmed && (match.same || was.kind == is.kind);
    } else if (std::optional<Range> inner = expression(anchor, match, was, is)) {
      placed.range = *inner;
    } else {
      placed.confirmed = false;
    }
    return placed;
  }

 private:
  State state(const Match& match, const Statement& was, const Statement& is) const {
    if (!match.same) return State::edited;
    if (!match.certain || was.around != is.around || was.key != is.key) return State::context;
    return was.line == is.line ? State::fresh : State::moved;
  }

  Range range(const Statement& is, std::uint32_t begin, std::uint32_t end) const {
    return {position_of(now_.outline, is, begin), position_of(now_.outline, is, end)};
  }

  std::optional<Range> expression(const Anchor& anchor, const Match& match, const Statement& was, const Statement& is) {
    std::string_view before = std::string_view(old_.text).substr(was.begin, was.end - was.begin);
    std::string_view after = std::string_view(now_.text).substr(is.begin, is.end - is.begin);
    if (before == after) return range(is, is.begin + anchor.begin, is.begin + anchor.end);
    const NormalTokens& now = tokens(now_tokens_, now_, match.to);
    if (match.same) return balanced(is, now[anchor.first].begin, now[anchor.last].end);
    return same_expression(anchor, is, tokens(old_tokens_, old_, anchor.statement), now);
  }

  // The bytes with the parentheses just outside them, left out of the normal form, that close what is open inside.
  Range balanced(const Statement& is, std::uint32_t begin, std::uint32_t end) const {
    const Tokens all = tokens_between(now_.text, is.begin, is.end);
    auto first = std::ranges::lower_bound(all, begin, {}, &Token::begin), last = std::ranges::lower_bound(all, end, {}, &Token::begin);
    int open = 0, unopened = 0;
    for (auto token = first; token != last; ++token) {
      const std::string_view word = text_of(now_.text, *token);
      if (word == "(" || word == "[" || word == "{") ++open;
      if ((word == ")" || word == "]" || word == "}") && --open < 0) ++unopened, open = 0;
    }
    for (; unopened > 0 && first != all.begin() && text_of(now_.text, *std::prev(first)) == "("; --unopened) begin = (--first)->begin;
    for (; open > 0 && last != all.end() && text_of(now_.text, *last) == ")"; --open, ++last) end = last->end;
    return range(is, begin, end);
  }

  // In an edited statement: the one place that has the expression's tokens, or else the one call of the same callee.
  std::optional<Range> same_expression(const Anchor& anchor, const Statement& is, const NormalTokens& was, const NormalTokens& now) const {
    std::span<const NormalToken> wanted = std::span(was).subspan(anchor.first, anchor.last - anchor.first + 1);
    if (auto found = only_place(now, wanted)) return balanced(is, now[*found].begin, now[*found + wanted.size() - 1].end);
    auto open = std::ranges::find_if(wanted, [&](const NormalToken& token) { return old_.text[token.begin] == '('; });
    if (open == wanted.begin() || open == wanted.end()) return std::nullopt;
    auto callee = wanted.first(static_cast<std::size_t>(open - wanted.begin()) + 1);
    auto found = only_place(now, callee);
    if (!found) return std::nullopt;
    std::size_t close = closing(now, *found + callee.size() - 1);
    if (close == now.size()) return std::nullopt;
    return range(is, now[*found].begin, now[close].end);
  }

  std::size_t closing(const NormalTokens& tokens, std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens.size(); ++i) {
      char c = tokens[i].end - tokens[i].begin == 1 ? now_.text[tokens[i].begin] : '\0';
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i;
    }
    return tokens.size();
  }

  static std::optional<std::size_t> only_place(std::span<const NormalToken> tokens, std::span<const NormalToken> wanted) {
    auto found = std::ranges::search(tokens, wanted, {}, &NormalToken::hash, &NormalToken::hash);
    if (found.empty()) return std::nullopt;
    auto again =
        std::ranges::search(std::ranges::subrange(found.begin() + 1, tokens.end()), wanted, {}, &NormalToken::hash, &NormalToken::hash);
    if (!again.empty()) return std::nullopt;
    return static_cast<std::size_t>(found.begin() - tokens.begin());
  }

  using Cache = std::map<std::uint32_t, NormalTokens>;

  static const NormalTokens& tokens(Cache& cache, const Tree::Data& data, std::uint32_t index) {
    auto [at, added] = cache.try_emplace(index);
    if (added) at->second = tokens_of(data.text, data.outline.statements[index]);
    return at->second;
  }

  const Tree::Data& old_;
  const Tree::Data& now_;
  std::vector<Match> matches_;
  Cache old_tokens_, now_tokens_;
};

}  // namespace

std::string_view name(Role role) {
  static constexpr std::string_view names[] = {"definition", "constructor", "call", "class", "stage", "line"};
  return names[static_cast<std::size_t>(role)];
}

std::string_view name(State state) {
  static constexpr std::string_view names[] = {"fresh", "moved", "context", "edited", "orphan"};
  return names[static_cast<std::size_t>(state)];
}

Anchors Anchors::bind(const Tree& executed, std::span<const Fact> facts) {
  Binder binder(executed, facts);
  std::vector<Anchor> anchors;
  anchors.reserve(facts.size());
  for (const Fact& fact : facts) anchors.push_back(binder.bind(fact));
  return Anchors(std::make_shared<const Data>(Data{{facts.begin(), facts.end()}, std::move(anchors), executed}));
}

std::vector<Anchors::Placement> Anchors::place(const Tree& current) const {
  Placer placer(data_->executed.data(), current.data());
  std::vector<Placement> placements;
  placements.reserve(data_->anchors.size());
  for (std::uint32_t i = 0; i < data_->anchors.size(); ++i) placements.push_back(placer.place(i, data_->anchors[i]));
  return placements;
}

std::span<const Fact> Anchors::facts() const {
  return data_->facts;
}

}  // namespace hotlens::source
