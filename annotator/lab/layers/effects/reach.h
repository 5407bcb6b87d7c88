// What the recorded step ran of the sources, and what of installed packages it has no part of: a package's file has hundreds of functions
// beside the few that a model runs (`resize_token_embeddings`), and what these do with an edited number changes nothing.
//
// Every line that a step runs of the project's files and of those that define layers is recorded. Of other files of packages no line is:
// functions of these are in reach where something that ran has a word of them.
#pragma once

#include <set>

#include "annotator/lab/layers/effects/other_edits.h"

namespace hotlens::layers {

// Definitions of functions of packages that neither the step nor the constructors run. `used`: definitions of classes of layers that are
// made.
std::set<const void*> out_of_reach(const Followed& text, const std::set<const void*>& used);

// Takes from classes of packages the methods that the step does not run: what is left says what a layer does.
void drop_idle_methods(const Followed& text, const std::set<const void*>& idle);

// Whether the step ran no line of a function of the project, of the executed text. False where it is not known which lines it ran.
bool is_outside_step(const Sources& executed, Node function);

// Whether a statement is part of a function that the step ran from its beginning, and the step passed it by.
bool was_passed_by(const Sources& sources, Node use);

}  // namespace hotlens::layers
