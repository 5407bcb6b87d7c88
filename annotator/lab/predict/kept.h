// Predictions for other batch sizes, kept in the bundle that they are made from (`batch_sizes.json`, annotator/report/FORMATS.md), so that
// who shows the profile later has them too.
#pragma once

#include <filesystem>
#include <optional>

#include "annotator/lab/predict/batch_sizes.h"

namespace hotlens::lab {

std::filesystem::path kept_batch_sizes(const std::filesystem::path& bundle);

// Nothing where none are kept, or they are of another profile. A bundle may come from anybody: a point that cannot be is left out.
std::optional<BatchSizes> read_kept_batch_sizes(const std::filesystem::path& bundle, const std::string& profile);

// What is known now, and of the sizes that are not in it what was known before.
BatchSizes joined(BatchSizes now, const BatchSizes& before);

}  // namespace hotlens::lab
