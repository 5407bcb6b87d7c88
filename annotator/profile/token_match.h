// A recorded sequence of calls against what a body or a container can call: which attribute or entry each call went to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "annotator/source/evaluator.h"
#include "annotator/timeline/forest.h"

namespace hotlens::profile {

// One recorded call: of a module (`type` is its class), or of a function.
struct CallToken {
  std::string type;
  bool parametrized = false;  // torch gave the module a class of its own, which inherits from `type`
  std::uint32_t module = timeline::kNoNode;
  std::string function;
  source::Node definition;  // of the function, where it was found
  std::uint32_t frame = timeline::kNoNode;
};

struct TokenMatch {
  std::vector<source::ValueId> places;  // the attributes or entries it can have been
  std::optional<source::Spot> spot;     // the one expression that made the call
  // Of a function: what each of the calls it can have been gives it; empty where one of them tells nothing. They live as long as the
  // evaluator.
  std::vector<const std::vector<source::Argument>*> arguments;
};

class TokenMatcher {
 public:
  explicit TokenMatcher(source::Evaluator& evaluator) : evaluator_(evaluator) {}

  // One match per token. The same body with the same calls is matched once.
  const std::vector<TokenMatch>& in_function(source::Node function, source::ValueId self, const std::vector<CallToken>& tokens,
                                             const std::vector<source::Argument>* arguments = nullptr);
  const std::vector<TokenMatch>& in_container(source::ValueId container, const std::vector<CallToken>& tokens);
  // Whether the entries of a container can have made these calls.
  bool can_hold(source::ValueId container, const std::vector<CallToken>& tokens) { return align_entries(container, tokens).has_value(); }

 private:
  using Key = std::tuple<const void*, source::ValueId, const void*, std::string>;
  bool accepts(source::ValueId candidate, const CallToken& token) const;
  bool is_exact(source::ValueId candidate, const CallToken& token) const;
  std::vector<source::ValueId> accepted(const source::PatternCall& call, const CallToken& token) const;
  // How much is taken for granted: that every object that a body calls is a module, that nothing unknown is one.
  enum class Trust : std::uint8_t { likely, named, anything };
  std::optional<std::vector<std::vector<std::uint32_t>>> aligned(const source::Pattern& pattern, const std::vector<CallToken>& tokens,
                                                                 Trust trust) const;
  std::vector<TokenMatch> match(const source::Pattern& pattern, const std::vector<CallToken>& tokens);
  std::vector<const std::vector<source::Argument>*> given(const source::Pattern& pattern, const std::vector<std::uint32_t>& calls,
                                                          const CallToken& token) const;
  source::ValueId loop_element(const source::PatternCall& call, const CallToken& token) const;
  void order_elements(const source::Pattern& pattern, const std::vector<CallToken>& tokens,
                      const std::vector<std::vector<std::uint32_t>>& calls, std::vector<TokenMatch>& matches);
  std::optional<std::vector<std::vector<source::ValueId>>> align_entries(source::ValueId container, const std::vector<CallToken>& tokens);

  source::Evaluator& evaluator_;
  std::map<Key, std::vector<TokenMatch>> known_;
};

}  // namespace hotlens::profile
