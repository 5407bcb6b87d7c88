// Statements that change no step: what tells people something, takes the time, or keeps a number for later; and whatever comes after the
// last step of a script.
#pragma once

#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

// A text without them, where it is another one than `beside`; lines stay where they are. `waits`: to ask for a number is to wait for a
// device, so that `loss.item()` is no such statement.
Sources without_quiet_statements(const Sources& text, const Sources& beside, bool waits);

}  // namespace hotlens::layers
