// The modules of a trace on the lines that make and call them, without a bundle: from the source alone.
//
// A trace with stacks tells the class of every module, which function called it, and in which order. The source tells what a class holds
// and what a function can call. Both are matched from the root down: the calls of a function's body are an automaton, and a module gets
// the attribute that every way through it gives. What several ways give differently stays unknown, unless all stand on one line. Nothing
// is executed, and every line found is a guess from the text as it is now, not from the text that ran.
#pragma once

#include <cstdint>
#include <vector>

#include "annotator/guess/python/library.h"
#include "annotator/profile/build/module_calls.h"
#include "annotator/source/outline/code.h"

namespace hotlens::guess {

struct PlacedModule {
  Node attached, constructed;  // as Module's; null where not known
  Node type;                   // the class statement
  bool by_line = false;        // the trace's lines fit the source; else only names did
};

struct PlacedCall {
  Node site;
  std::vector<std::uint32_t> modules;  // into ModuleCalls::modules
  std::int64_t calls = 0;
};

struct Placement {
  std::vector<PlacedModule> modules;  // as ModuleCalls::modules
  std::vector<PlacedCall> calls;
};

// Nodes point into the library's files. Cost: linear in the calls, for bodies that differ; bounded by the evaluator's budget.
Placement match_skeleton(const profile::ModuleCalls& calls, Library& library);

}  // namespace hotlens::guess
