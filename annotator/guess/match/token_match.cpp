#include "annotator/guess/match/token_match.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace hotlens::guess {
namespace {

using attribution::kNoNode;
using Kind = Value::Kind;

constexpr std::size_t kMostCalls = 4;  // that a function's body is followed for, each with its own arguments

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
    if (token.module != kNoNode) {
      text += token.type + (token.parametrized ? "*#" : "#") + std::to_string(order.try_emplace(token.module, order.size()).first->second);
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
  static constexpr std::size_t kCountedLoops = 2;  // inside each other whose passes are told apart

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
      while (stop < slots.size() && slots[stop]->loops.size() > depth && slots[stop]->loops[depth].loop == slot.loops[depth].loop) ++stop;
      at = repeated({slots.begin() + static_cast<std::ptrdiff_t>(begin), slots.begin() + static_cast<std::ptrdiff_t>(stop)}, depth, at);
      begin = stop;
    }
    return at;
  }

  // The entries that one loop adds, any number of times.
  std::uint32_t repeated(const Slots& slots, std::size_t depth, std::uint32_t at) {
    const auto always = [&](const Slot* slot) { return slot->loops[depth].passes == kEveryPass; };
    const std::uint32_t head = state(), out = state();
    edge(at, head);
    edge(head, out);
    if (depth >= kCountedLoops || std::ranges::all_of(slots, always)) {
      edge(span(slots, depth + 1, head), head);
      return out;
    }
    const auto pass = [&](Passes which, std::uint32_t from) {
      Slots in;
      std::ranges::copy_if(slots, std::back_inserter(in), [&](const Slot* slot) { return (slot->loops[depth].passes & which) != 0; });
      return span(in, depth + 1, from);
    };
    edge(pass(kOnlyPass, head), out);
    const std::uint32_t between = state();
    edge(pass(kFirstPass, head), between);
    edge(pass(kMiddlePass, between), between);
    edge(pass(kLastPass, between), out);
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
      if (token.module != kNoNode) {
        const bool same = is_of_class(evaluator_.type(value.type), token.type);
        return same ||
               (!evaluator_.is_module(value.type) && evaluator_.type(value.type).external.empty() && evaluator_.type(value.type).open);
      }
      return !evaluator_.is_module(value.type);  // an object of another kind: its __call__
    case Kind::function:
      if (token.module != kNoNode) return false;
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
  // What has a parametrization may have lost it again; what has a class of its own got it somewhere.
  return value.kind == Kind::instance && value.type != kNoClass && is_of_class(evaluator_.type(value.type), token.type) &&
         (!token.parametrized || value.spot.known());
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
                                                                             Trust trust) const {
  // Tokens repeat: what a call accepts depends on the class or function only.
  std::map<std::pair<std::uint32_t, std::string>, bool> answers;
  const auto fits = [&](std::uint32_t call, std::size_t token) {
    const CallToken& what = tokens[token];
    const std::string kind = what.module != kNoNode ? what.type + (what.parametrized ? "*" : "") : '(' + std::to_string(what.frame);
    const auto [known, fresh] = answers.try_emplace({call, kind}, false);
    if (!fresh) return known->second;
    const std::vector<ValueId> values = accepted(pattern.calls[call], what);
    const auto named = [&](ValueId one) { return evaluator_.at(one).kind == Kind::place || is_exact(one, what); };
    const bool loose = what.module == kNoNode || trust == Trust::anything;
    return known->second = loose ? !values.empty() : std::ranges::any_of(values, named);
  };
  if (trust != Trust::likely) return align(pattern, tokens.size(), fits);
  Pattern certain = pattern;
  std::erase_if(certain.edges,
                [&](const Pattern::Edge& edge) { return edge.skips >= 0 && pattern.calls[static_cast<std::size_t>(edge.skips)].likely; });
  return align(certain, tokens.size(), fits);
}

std::vector<TokenMatch> TokenMatcher::match(const Pattern& pattern, const std::vector<CallToken>& tokens) {
  std::vector<TokenMatch> matches(tokens.size());
  auto found = aligned(pattern, tokens, Trust::likely);
  if (!found) found = aligned(pattern, tokens, Trust::named);
  if (!found) found = aligned(pattern, tokens, Trust::anything);
  if (!found) return matches;
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    std::vector<std::uint32_t>& calls = (*found)[token];
    // A call of something of the recorded class is a better explanation than a call of anything.
    const auto exact = [&](std::uint32_t call) {
      return std::ranges::any_of(accepted(pattern.calls[call], tokens[token]), [&](ValueId one) { return is_exact(one, tokens[token]); });
    };
    if (std::ranges::any_of(calls, exact)) std::erase_if(calls, [&](std::uint32_t call) { return !exact(call); });
    TokenMatch& match = matches[token];
    for (const std::uint32_t call : calls) {
      for (const ValueId one : accepted(pattern.calls[call], tokens[token])) {
        if (std::ranges::find(match.places, one) == match.places.end()) match.places.push_back(one);
      }
    }
    const auto defines = [&](ValueId one) { return tokens[token].module == kNoNode && is_exact(one, tokens[token]); };
    if (std::ranges::any_of(match.places, defines)) std::erase_if(match.places, std::not_fn(defines));
    // Of the values that one attribute may have, the one whose class is the recorded one; unless it stands under a condition and one whose
    // class is not known, which it would replace, does not.
    const std::vector<ValueId> all = match.places;
    std::erase_if(match.places, [&](ValueId one) {
      const bool known = evaluator_.at(evaluator_.object(one)).type != kNoClass;
      const auto better = [&](ValueId other) {
        return is_exact(other, tokens[token]) && evaluator_.at(other).of == evaluator_.at(one).of &&
               evaluator_.at(other).name == evaluator_.at(one).name &&
               (known || evaluator_.at(other).depth.branches <= evaluator_.at(one).depth.branches);
      };
      return evaluator_.at(one).kind == Kind::place && !is_exact(one, tokens[token]) && std::ranges::any_of(all, better);
    });
    if (calls.size() == 1) match.spot = pattern.calls[calls.front()].spot;
    if (tokens[token].module == kNoNode) match.arguments = given(pattern, calls, tokens[token]);
  }
  order_elements(pattern, tokens, *found, matches);
  return matches;
}

// What calls of a function give it. Where it is only passed on, nobody knows what it is called with.
std::vector<const std::vector<Argument>*> TokenMatcher::given(const Pattern& pattern, const std::vector<std::uint32_t>& calls,
                                                              const CallToken& token) const {
  const auto takes = [&](ValueId one) { return accepts(one, token); };
  std::vector<const std::vector<Argument>*> all;
  for (const std::uint32_t index : calls) {
    const PatternCall& call = pattern.calls[index];
    const bool itself = std::ranges::any_of(evaluator_.alternatives(call.callee), takes) && std::ranges::none_of(call.passed, takes);
    if (!itself || !evaluator_.hold_modules(call.arguments) || calls.size() > kMostCalls) return {};
    all.push_back(&call.arguments);
  }
  return all;
}

// The variable of a loop over a container that a call calls, or is given to call: `checkpoint(layer, x)`.
ValueId TokenMatcher::loop_element(const PatternCall& call, const CallToken& token) const {
  const auto ordered = [&](ValueId one) { return evaluator_.at(one).kind == Kind::element && evaluator_.at(one).ordered; };
  if (ordered(call.callee)) return call.callee;
  const auto takes = [&](ValueId one) { return accepts(one, token); };
  if (std::ranges::any_of(evaluator_.alternatives(call.callee), takes)) return kUnknown;
  const auto given = std::ranges::find_if(call.arguments, ordered, &Argument::value);
  return given != call.arguments.end() ? given->value : kUnknown;
}

// Calls of a loop's variable go to the entries of the container in their order.
void TokenMatcher::order_elements(const Pattern& pattern, const std::vector<CallToken>& tokens,
                                  const std::vector<std::vector<std::uint32_t>>& calls, std::vector<TokenMatch>& matches) {
  std::map<ValueId, std::vector<std::size_t>> by_element;
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    const auto element_of = [&](std::uint32_t call) { return loop_element(pattern.calls[call], tokens[token]); };
    const ValueId element = calls[token].empty() ? kUnknown : element_of(calls[token].front());
    const auto same = [&](std::uint32_t call) { return element_of(call) == element; };
    const bool known = element != kUnknown && tokens[token].module != kNoNode;
    if (known && std::ranges::all_of(calls[token], same)) by_element[element].push_back(token);
  }
  for (const auto& [element, list] : by_element) {
    std::vector<CallToken> distinct;
    std::vector<std::size_t> position(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto seen = std::ranges::find(distinct, tokens[list[i]].module, &CallToken::module);
      position[i] = static_cast<std::size_t>(seen - distinct.begin());
      if (seen == distinct.end()) distinct.push_back(tokens[list[i]]);
    }
    const auto entries = align_entries(evaluator_.at(element).of, distinct);
    for (std::size_t i = 0; entries && i < list.size(); ++i) matches[list[i]].places = (*entries)[position[i]];
  }
}

std::optional<std::vector<std::vector<ValueId>>> TokenMatcher::align_entries(ValueId container, const std::vector<CallToken>& tokens) {
  const Pattern pattern = EntriesPattern(evaluator_.entries(container)).take();
  const auto fits = [&](std::uint32_t call, std::size_t token) { return !accepted(pattern.calls[call], tokens[token]).empty(); };
  const auto found = align(pattern, tokens.size(), fits);
  if (!found) return std::nullopt;
  std::vector<std::vector<ValueId>> places(tokens.size());
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    for (const std::uint32_t call : (*found)[token]) {
      for (const ValueId one : accepted(pattern.calls[call], tokens[token])) places[token].push_back(one);
    }
    const auto exact = [&](ValueId one) { return is_exact(one, tokens[token]); };
    if (std::ranges::any_of(places[token], exact)) std::erase_if(places[token], [&](ValueId one) { return !exact(one); });
  }
  return places;
}

const std::vector<TokenMatch>& TokenMatcher::in_function(Node function, ValueId self, const std::vector<CallToken>& tokens,
                                                         const std::vector<Argument>* arguments) {
  const auto [known, fresh] = known_.try_emplace({function.id(), self, arguments, signature(tokens)});
  if (fresh) known->second = match(evaluator_.calls_of(function, self, arguments), tokens);
  return known->second;
}

const std::vector<TokenMatch>& TokenMatcher::in_container(ValueId container, const std::vector<CallToken>& tokens) {
  const auto [known, fresh] = known_.try_emplace({nullptr, container, nullptr, signature(tokens)});
  if (!fresh) return known->second;
  known->second.resize(tokens.size());
  if (const auto places = align_entries(container, tokens)) {
    for (std::size_t i = 0; i < tokens.size(); ++i) known->second[i].places = (*places)[i];
  }
  return known->second;
}

}  // namespace hotlens::guess
