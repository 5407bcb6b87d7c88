// A recorded sequence of calls against what a body or a container can call: which attribute or entry each call went to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/attribution/structure/forest.h"
#include "annotator/guess/python/evaluator.h"

namespace hotlens::guess {

// One recorded call: of a module (`type` is its class), or of a function.
struct CallToken {
  std::uint32_t node = 0;  // into ModuleCalls::nodes
  std::string type;
  std::uint32_t module = attribution::kNoNode;
  std::string function;
  Node definition;  // of the function, where it was found
  std::uint32_t frame = attribution::kNoNode;

  bool is_module() const { return module != attribution::kNoNode; }
};

struct TokenMatch {
  std::vector<ValueId> places;  // the attributes or entries it can have been
  Node site;                    // the one expression that made the call; null where that is not known
};

class TokenMatcher {
 public:
  explicit TokenMatcher(Evaluator& evaluator) : evaluator_(evaluator) {}

  // One match per token.
  std::vector<TokenMatch> in_function(Node function, ValueId self, const std::vector<CallToken>& tokens) const;
  std::vector<TokenMatch> in_container(ValueId container, const std::vector<CallToken>& tokens) const;
  // Whether the entries of a container can have made these calls.
  bool can_hold(ValueId container, const std::vector<CallToken>& tokens) const;

 private:
  bool accepts(ValueId candidate, const CallToken& token) const;
  bool is_exact(ValueId candidate, const CallToken& token) const;
  std::vector<ValueId> likeliest(std::vector<ValueId> places, const CallToken& token) const;
  std::vector<ValueId> accepted(const PatternCall& call, const CallToken& token) const;
  // `likely`: every object that a body calls is taken for a module, nothing unknown for one.
  std::optional<std::vector<std::vector<std::uint32_t>>> aligned(const Pattern& pattern, const std::vector<CallToken>& tokens,
                                                                 bool likely) const;
  std::vector<TokenMatch> match(const Pattern& pattern, const std::vector<CallToken>& tokens) const;

  Evaluator& evaluator_;
};

}  // namespace hotlens::guess
