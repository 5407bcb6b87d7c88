// The line that sets the batch size: what other sizes would cost, and the edits that set them.
#pragma once

#include <vector>

#include "server/features/features.h"

namespace hotlens::features {

std::vector<Lens> batch_size_lenses(const FileView& view, const Options& options);
// On that line alone: one edit of exactly the number for each size that was predicted.
std::vector<Action> batch_size_actions(const FileView& view, LineRange lines, const Options& options);

}  // namespace hotlens::features
