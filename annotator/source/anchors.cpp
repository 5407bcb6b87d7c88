#include "annotator/source/anchors.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "annotator/source/binding.h"
#include "annotator/source/match/match.h"

namespace hotlens::source {

struct Anchors::Data {
  std::vector<Fact> facts;
  std::vector<Anchor> anchors;  // one per fact
  Tree executed;
};

namespace {

// Puts anchors of an executed text into the current one.
class Placer {
 public:
  Placer(const Tree::Data& executed, const Tree::Data& current) : old_(executed), now_(current), matches_(match(executed, current)) {}

  Anchors::Placement place(std::uint32_t index, const Anchor& anchor) {
    Anchors::Placement placed{.fact = index, .state = State::orphan, .exact = false, .range = {}, .statement = {}};
    if (anchor.statement == kNoStatement || matches_[anchor.statement].to == kNoStatement) return placed;
    const Match& match = matches_[anchor.statement];
    const Statement& was = old_.outline.statements[anchor.statement];
    const Statement& is = now_.outline.statements[match.to];
    placed.state = state(match, was, is);
    placed.statement = placed.range = range_of(now_.outline, is);
    if (anchor.whole) {
      placed.exact = match.same || was.kind == is.kind;
    } else if (const std::optional<Range> inner = expression(anchor, match, was, is)) {
      placed.range = *inner;
      placed.exact = true;
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
  static constexpr std::array<std::string_view, 7> names{"definition", "constructor", "call", "class", "stage", "line", "statement"};
  return names[static_cast<std::size_t>(role)];
}

std::string_view name(State state) {
  static constexpr std::array<std::string_view, 5> names{"fresh", "moved", "context", "edited", "orphan"};
  return names[static_cast<std::size_t>(state)];
}

Anchors Anchors::bind(const Tree& executed, std::span<const Fact> facts) {
  return Anchors(std::make_shared<const Data>(Data{{facts.begin(), facts.end()}, bind_facts(executed.data(), facts), executed}));
}

std::vector<Anchors::Placement> Anchors::place(const Tree& current) const {
  Placer placer(data_->executed.data(), current.data());
  std::vector<Placement> placements;
  placements.reserve(data_->anchors.size());
  for (std::uint32_t i = 0; i < data_->anchors.size(); ++i) placements.push_back(placer.place(i, data_->anchors[i]));
  return placements;
}

std::vector<bool> Anchors::confirm(std::span<const Placement> placements) const {
  const std::vector<bool> fits = borne_out(data_->executed.data(), data_->facts, data_->anchors);
  std::vector<bool> confirmed;
  confirmed.reserve(placements.size());
  for (const Placement& placed : placements) confirmed.push_back(placed.exact && fits[placed.fact]);
  return confirmed;
}

std::span<const Fact> Anchors::facts() const {
  return data_->facts;
}

}  // namespace hotlens::source
