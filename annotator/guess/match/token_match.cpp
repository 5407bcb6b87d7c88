#include "annotator/guess/match/token_match.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace hotlens::guess {
namespace {

using attribution::kNoNode;
using Kind = Value::Kind;

// Leaves those alone, should there be any.
template <class T, class Is>
void prefer(std::vector<T>& all, const Is& is) {
  if (std::ranges::any_of(all, is)) std::erase_if(all, std::not_fn(is));
}

// A lazy module of torch is of the class that it is made for, once it has run.
bool is_of_class(const Class& made, const std::string& name) {
  const bool lazy = made.external.starts_with("torch.nn.") && made.name.starts_with("Lazy");
  return made.name == name || (lazy && made.name.substr(4) == name);
}

// Two sequences with the same signature match alike. Modules count by class and by which of them are the same.
std::string signature(const std::vector<CallToken>& tokens) {
  std::string text;
  std::map<std::uint32_t, std::size_t> order;
  for (const CallToken& token : tokens) {
    if (token.is_module()) {
      text += token.type + "#" + std::to_string(order.try_emplace(token.module, order.size()).first->second);
    } else {
      text += '(' + std::to_string(token.frame);
    }
    text += ' ';
  }
  return text;
}

// The entries of a container as an automaton: entries added by one loop repeat together.
class EntriesPattern {
 public:
  explicit EntriesPattern(const std::vector<Slot>& slots) {
    Slots all;
    for (const Slot& slot : slots) all.push_back(&slot);
    const std::uint32_t last = span(all, 0, 0);
    pattern_.edges.push_back({last, 1, -1});
  }
  Pattern take() { return std::move(pattern_); }

 private:
  using Slots = std::vector<const Slot*>;

  std::uint32_t state() { return pattern_.states++; }
  void edge(std::uint32_t from, std::uint32_t to) { pattern_.edges.push_back({from, to, -1}); }

  std::uint32_t span(const Slots& slots, std::size_t depth, std::uint32_t at) {
    for (std::size_t begin = 0; begin < slots.size();) {
      const Slot& slot = *slots[begin];
      if (slot.loops.size() <= depth) {
        const std::uint32_t next = state();
        pattern_.calls.push_back({.spot = {}, .callee = slot.value, .passed = {}});
        pattern_.edges.push_back({at, next, static_cast<std::int32_t>(pattern_.calls.size() - 1)});
        if (slot.optional) edge(at, next);
        at = next;
        ++begin;
        continue;
      }
      std::size_t stop = begin;
      while (stop < slots.size() && slots[stop]->loops.size() > depth && slots[stop]->loops[depth] == slot.loops[depth]) ++stop;
      at = repeated({slots.begin() + static_cast<std::ptrdiff_t>(begin), slots.begin() + static_cast<std::ptrdiff_t>(stop)}, depth, at);
      begin = stop;
    }
    return at;
  }

  // The entries that one loop adds, any number of times.
  std::uint32_t repeated(const Slots& slots, std::size_t depth, std::uint32_t at) {
    const std::uint32_t head = state(), out = state();
    edge(at, head);
    edge(head, out);
    edge(span(slots, depth + 1, head), head);
    return out;
  }

  Pattern pattern_;
};

}  // namespace

bool TokenMatcher::accepts(ValueId candidate, const CallToken& token) const {
  const Value& value = evaluator_.at(evaluator_.object(candidate));
  switch (value.kind) {
    case Kind::unknown:
      return true;
    case Kind::instance:
      if (value.type == kNoClass) return true;
      if (token.is_module()) {
        const bool same = is_of_class(evaluator_.type(value.type), token.type);
        return same ||
               (!evaluator_.is_module(value.type) && evaluator_.type(value.type).external.empty() && evaluator_.type(value.type).open);
      }
      return !evaluator_.is_module(value.type);  // an object of another kind: its __call__
    case Kind::function:
      if (token.is_module()) return false;
      return token.definition ? token.definition.id() == value.node.id() || value.name == token.function : value.name == token.function;
    case Kind::partial:
      return std::ranges::any_of(evaluator_.alternatives(value.inner), [&](ValueId one) { return accepts(one, token); });
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
  std::vector<ValueId> out;
  for (const ValueId one : evaluator_.alternatives(call.callee)) {
    if (accepts(one, token)) out.push_back(one);
  }
  for (const ValueId one : call.passed) {
    if (accepts(one, token)) out.push_back(one);
  }
  return out;
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

std::vector<TokenMatch> TokenMatcher::match(const Pattern& pattern, const std::vector<CallToken>& tokens) {
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
    matches[i].places = likeliest(called(pattern, calls, tokens[i]), tokens[i]);
    if (calls.size() == 1) matches[i].spot = pattern.calls[calls.front()].spot;
  }
  return matches;
}

// Everything that one of the calls can have called.
std::vector<ValueId> TokenMatcher::called(const Pattern& pattern, const std::vector<std::uint32_t>& calls, const CallToken& token) const {
  std::vector<ValueId> all;
  for (const std::uint32_t call : calls) {
    for (const ValueId one : accepted(pattern.calls[call], token)) add_once(all, one);
  }
  return all;
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

bool TokenMatcher::can_hold(ValueId container, const std::vector<CallToken>& tokens) {
  return aligned(EntriesPattern(evaluator_.entries(container)).take(), tokens, false).has_value();
}

const std::vector<TokenMatch>& TokenMatcher::in_function(Node function, ValueId self, const std::vector<CallToken>& tokens) {
  const auto [known, fresh] = known_.try_emplace({function.id(), self, signature(tokens)});
  if (fresh) known->second = match(evaluator_.calls_of(function, self), tokens);
  return known->second;
}

const std::vector<TokenMatch>& TokenMatcher::in_container(ValueId container, const std::vector<CallToken>& tokens) {
  const auto [known, fresh] = known_.try_emplace({nullptr, container, signature(tokens)});
  if (fresh) known->second = match(EntriesPattern(evaluator_.entries(container)).take(), tokens);
  return known->second;
}

}  // namespace hotlens::guess
