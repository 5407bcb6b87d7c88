// What a layer owns when it goes, or stays and is not called any more; and the names of those that stay.
#pragma once

#include <optional>
#include <string>

#include "annotator/lab/layers/match/alignment.h"
#include "annotator/lab/structure/draft.h"

namespace hotlens::layers {

// With the tensors of the layer, and of what it holds, goes all that the step does for them. The error: why that is not known.
std::optional<std::string> remove_tensors(lab::Draft& draft, const std::string& path);

// The same of a layer that is there and that no edited `forward` calls: its weights stay, without gradients.
std::optional<std::string> leave_uncalled(lab::Draft& draft, const std::string& path);

// Recorded paths become edited ones: of modules and what is below them.
void take_edited_paths(lab::Draft& draft, const Alignment& alignment);

}  // namespace hotlens::layers
