// The recorded program of a model whose layers were edited: tensors with their new shapes, and the arguments that layers hand to their
// operators. Literal sizes between layers are followed when the program first runs (annotator/lab/program/follow.h).
#pragma once

#include <expected>
#include <vector>

#include "annotator/lab/layers/changes.h"
#include "annotator/lab/program/follow.h"
#include "annotator/lab/structure/draft.h"

namespace hotlens::layers {

struct Rewritten {
  lab::Program program;
  std::vector<lab::Numbers> numbers;    // by module of the program, and of the script
  std::vector<lab::Numbers> cuts;       // of them, of Around::cuts
  std::vector<lab::Numbers> attention;  // the same, of Around::attention
  std::vector<lab::TensorId> recorded;  // of every tensor id: its id in the recorded program; empty: the same
};

// What a draft of its program has become.
void adopt(Rewritten& rewritten, lab::Finished finished);

std::expected<Rewritten, Unclear> rewrite(lab::Program program, const Changes& changes);

}  // namespace hotlens::layers
