// A batch size that was predicted, in a later profile of the script.
#pragma once

#include <filesystem>
#include <vector>

#include "annotator/advice/ledger.h"

namespace hotlens::advice {

// What was predicted of the bundle's batch size from the last bundle of another size, and what came of it, where the two differ by that
// alone; empty where nothing was, and where the ledger has it already.
std::vector<Record> seen_size(const Ledger& ledger, const std::vector<std::filesystem::path>& newest_first,
                              const std::filesystem::path& bundle);

}  // namespace hotlens::advice
