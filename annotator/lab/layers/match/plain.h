// Both texts without edits of one kind, so that the rest of them can be compared.
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

// Without edits: what was taken out says the same in both.
template <class Edit>
struct Plain {
  Sources executed, edited;
  std::vector<Edit> edits;
};

// Nullopt: nothing of the kind is written otherwise, or nothing is known of it.
template <class Edit>
using TakenOut = std::expected<std::optional<Plain<Edit>>, Unclear>;

}  // namespace hotlens::layers
