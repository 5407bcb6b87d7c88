// Edits of anything but what constructors make and what their `forward` calls: the recorded operators are those of the executed text.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/match/recorded_layers.h"
#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

// A text and what it makes.
struct Followed {
  const Sources& sources;
  const Interpreter& interpreter;
};

// Classes of layers that nothing makes and functions of packages that nothing calls (reach.h), by their definitions in both texts: what is
// edited or used in them has no part in the step.
struct Idle {
  std::set<const void*> then, now;
};
Idle idle_of(const Followed& executed, const Followed& edited, const Recorded& recorded);
bool is_inside(Node node, const std::set<const void*>& definitions);

// Where each file that was edited first differs, in the edited text.
std::vector<Line> edited_lines(const Sources& executed, const Sources& edited);

// The first line of a piece of code, for people.
std::string excerpt(Node code);

// Where the edited text ends with an exception, as the executed one did not.
std::optional<Unclear> failure(const Interpreter& executed, const Interpreter& edited);

// The first such edit that may have changed the step; nullopt: there is none. `was`: modules of the executed text; `compared`: methods of
// these that were compared call by call.
std::optional<Unclear> other_edit(const Followed& executed, const Followed& edited, const Modules& was,
                                  const std::set<const void*>& compared, const Idle& idle);

}  // namespace hotlens::layers
