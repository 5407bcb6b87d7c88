// Numbers that change no step, wherever a script has them: how many epochs there are, how often it prints, how far gradients are clipped,
// what a term of the loss counts.
#pragma once

#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

// A loop that goes from step to step, itself or in functions that it calls: whoever edits how often changes none of them. Not one within a
// step: `for _ in range(critics):`.
bool goes_over_steps(Node loop);

// Whether a statement may take steps when it runs: a loop that does, a call of a function or a method of the file that does,
// `trainer.fit()`.
bool may_take_steps(Node statement);

// The edited text with the executed one's numbers where only such were edited. Lines stay where they are.
Sources without_quiet_numbers(const Sources& executed, const Sources& edited);

}  // namespace hotlens::layers
