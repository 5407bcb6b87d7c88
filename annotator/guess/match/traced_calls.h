// What a bare trace recorded of a forward, as the source sees it: which calls ran directly inside a module or function, and which
// definition each frame belongs to.
//
// Frames that only pass on (torch's own, comprehensions, a module's own __call__) are looked through. A definition is found on the line
// that the trace names, else by name where the file has only one that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "annotator/guess/match/token_match.h"
#include "annotator/guess/python/evaluator.h"
#include "annotator/profile/build/module_calls.h"

namespace hotlens::guess {

// The files whose functions ran around the outermost modules: the training script and what it runs the model with. Torch's are left out.
std::vector<const Code*> scripts_of(const profile::ModuleCalls& calls, Library& library);

class TracedCalls {
 public:
  struct Function {
    Node node;  // null where it was not found
    bool by_line = false;
  };

  // All three must outlive it.
  TracedCalls(const profile::ModuleCalls& calls, Library& library, Evaluator& evaluator);

  // The definition of a frame's function, for a module of class `owner`.
  const Function& function(std::uint32_t frame, const std::string& owner);
  // The class of a module without what torch puts before it ("ParametrizedConv2d"), should it have.
  std::string class_of(std::uint32_t module) const;
  // The call of a module that a node is or runs in; kNoNode outside of modules.
  std::uint32_t module_around(std::uint32_t node) const;
  // Its class; empty outside of modules.
  std::string owner_of(std::uint32_t node) const;
  // Calls directly inside a node, in order; those of parametrizations, which torch makes where a weight is read, are left out.
  std::vector<CallToken> below(std::uint32_t node);
  // The user's functions that a module's call enters first: forward, or what wraps it.
  std::vector<std::uint32_t> first_frames(std::uint32_t node) const;

 private:
  bool passes_on(std::uint32_t node, const trace::PythonFrame& frame);

  const profile::ModuleCalls& calls_;
  Library& library_;
  Evaluator& evaluator_;
  std::vector<std::vector<std::uint32_t>> children_;  // per node
  std::vector<std::optional<Function>> functions_;    // per frame, once somebody asked
};

}  // namespace hotlens::guess
