#include "annotator/guess/match/token_match.h"

#include <algorithm>
#include <map>
#include <span>

namespace hotlens::guess {
namespace {

using attribution::kNoNode;
using Kind = Value::Kind;

// A lazy module is of the class that it is made for, once it has run.
bool is_of_class(const Class& made, const std::string& name) {
  return made.name == name || made.name == "Lazy" + name;
}

// Adds the entries of a container to an automaton, from state `at`; gives the state behind them. Entries added by one loop repeat together.
std::uint32_t add_entries(Pattern& pattern, std::span<const Slot> slots, std::size_t depth, std::uint32_t at) {
  while (!slots.empty()) {
    const Slot& first = slots.front();
    const bool repeats = first.loops.size() > depth;
    const auto same_loop = [&](const Slot& one) { return one.loops.size() > depth && one.loops[depth] == first.loops[depth]; };
    const auto end = repeats ? std::ranges::find_if_not(slots, same_loop) : slots.begin() + 1;
    const std::uint32_t next = pattern.states++;
    if (repeats) {
      const std::uint32_t head = pattern.states++;
      pattern.edges.push_back({at, head});
      pattern.edges.push_back({head, next});
      pattern.edges.push_back({add_entries(pattern, {slots.begin(), end}, depth + 1, head), head});
    } else {
      pattern.edges.push_back({at, next, static_cast<std::int32_t>(pattern.calls.size())});
      pattern.calls.push_back({.site = {}, .callee = first.value});
      if (first.optional) pattern.edges.push_back({at, next});
    }
    at = next;
    slots = {end, slots.end()};
  }
  return at;
}

Pattern pattern_of(const std::vector<Slot>& entries) {
  Pattern pattern;
  const std::uint32_t last = add_entries(pattern, entries, 0, 0);
  pattern.edges.push_back({last, 1});
  return pattern;
}

}  // namespace

bool TokenMatcher::accepts(ValueId candidate, const CallToken& token) const {
  const Value& value = evaluator_.at(evaluator_.object(candidate));
  switch (value.kind) {
    case Kind::unknown:
      return true;
    case Kind::instance:
      if (value.type == kNoClass) return true;
      if (token.is_module()) {
        const Class& type = evaluator_.type(value.type);
        return is_of_class(type, token.type) || (!evaluator_.is_module(value.type) && type.external.empty() && type.open);
      }
      return !evaluator_.is_module(value.type);  // an object of another kind: its __call__
    case Kind::function:
      return !token.is_module() && (value.name == token.function || (token.definition && token.definition.id() == value.node.id()));
    default:
      return false;
  }
}

bool TokenMatcher::is_exact(ValueId candidate, const CallToken& token) const {
  const Value& value = evaluator_.at(evaluator_.object(candidate));
  if (value.kind == Kind::function) return token.definition && token.definition.id() == value.node.id();
  return value.kind == Kind::instance && value.type != kNoClass && is_of_class(evaluator_.type(value.type), token.type);
}

std::vector<ValueId> TokenMatcher::accepted(const PatternCall& call, const CallToken& token) const {
  std::vector<ValueId> all = evaluator_.alternatives(call.callee);
  std::erase_if(all, [&](ValueId one) { return !accepts(one, token); });
  return all;
}

std::optional<std::vector<std::vector<std::uint32_t>>> TokenMatcher::aligned(const Pattern& pattern, const std::vector<CallToken>& tokens,
                                                                             bool likely) const {
  // Tokens repeat: what a call accepts depends on the class or function only.
  std::map<std::pair<std::uint32_t, std::string>, bool> answers;
  const auto fits = [&](std::uint32_t call, std::size_t token) {
    const CallToken& what = tokens[token];
    const std::string kind = what.is_module() ? what.type : '(' + std::to_string(what.frame);
    const auto [known, fresh] = answers.try_emplace({call, kind}, false);
    if (!fresh) return known->second;
    const std::vector<ValueId> values = accepted(pattern.calls[call], what);
    const auto named = [&](ValueId one) { return evaluator_.at(one).kind == Kind::place || is_exact(one, what); };
    return known->second = likely && what.is_module() ? std::ranges::any_of(values, named) : !values.empty();
  };
  if (!likely) return align(pattern, tokens.size(), fits);
  Pattern certain = pattern;
  std::erase_if(certain.edges,
                [&](const Pattern::Edge& edge) { return edge.skips >= 0 && pattern.calls[static_cast<std::size_t>(edge.skips)].likely; });
  return align(certain, tokens.size(), fits);
}

std::vector<TokenMatch> TokenMatcher::match(const Pattern& pattern, const std::vector<CallToken>& tokens) const {
  std::vector<TokenMatch> matches(tokens.size());
  auto found = aligned(pattern, tokens, true);
  if (!found) found = aligned(pattern, tokens, false);
  if (!found) return matches;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::vector<std::uint32_t>& calls = (*found)[i];
    // A call of something of the recorded class is a better explanation than a call of anything.
    prefer(calls, [&](std::uint32_t call) {
      return std::ranges::any_of(accepted(pattern.calls[call], tokens[i]), [&](ValueId one) { return is_exact(one, tokens[i]); });
    });
    std::vector<ValueId> places;
    for (const std::uint32_t call : calls) {
      for (const ValueId one : accepted(pattern.calls[call], tokens[i])) add_once(places, one);
    }
    matches[i].places = likeliest(std::move(places), tokens[i]);
    if (calls.size() == 1) matches[i].site = pattern.calls[calls.front()].site;
  }
  return matches;
}

std::vector<ValueId> TokenMatcher::likeliest(std::vector<ValueId> places, const CallToken& token) const {
  const auto exact = [&](ValueId one) { return is_exact(one, token); };
  if (!token.is_module()) prefer(places, exact);
  // Of the values that one attribute may have, the one whose class is the recorded one; unless it stands under a condition and one whose
  // class is not known, which it would replace, does not.
  const std::vector<ValueId> all = places;
  std::erase_if(places, [&](ValueId one) {
    const Value& value = evaluator_.at(one);
    const bool known = evaluator_.what(one).type != kNoClass;
    const auto better = [&](ValueId other) {
      const Value& rival = evaluator_.at(other);
      return exact(other) && rival.of == value.of && rival.name == value.name && (known || rival.depth.branches <= value.depth.branches);
    };
    return value.kind == Kind::place && !exact(one) && std::ranges::any_of(all, better);
  });
  return places;
}

bool TokenMatcher::can_hold(ValueId container, const std::vector<CallToken>& tokens) const {
  return aligned(pattern_of(evaluator_.entries(container)), tokens, false).has_value();
}

std::vector<TokenMatch> TokenMatcher::in_function(Node function, ValueId self, const std::vector<CallToken>& tokens) const {
  return match(evaluator_.calls_of(function, self), tokens);
}

std::vector<TokenMatch> TokenMatcher::in_container(ValueId container, const std::vector<CallToken>& tokens) const {
  return match(pattern_of(evaluator_.entries(container)), tokens);
}

}  // namespace hotlens::guess
