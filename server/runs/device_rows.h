// Measurements of devices that are kept for this user: one file each in the cache folder, named by the device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "annotator/advice/devices/row.h"
#include "server/runs/discovery.h"

namespace hotlens::runs {

// `$XDG_CACHE_HOME/hotlens/devices`, or the same below HOME. The error says that neither is set.
Result<std::filesystem::path> device_folder(const Environment& environment);

// Keeps a row's text under its device's name, in place of an older one.
Result<void> keep_row(const devices::Row& row, const std::string& text, const std::filesystem::path& folder);

// The kept row of the device of exactly this name; of a CPU (more than 0) with this number of threads.
std::optional<devices::Row> kept_row(std::string_view name, std::int64_t threads, const std::filesystem::path& folder);

// Of the device of this name, kept for this user, else as its vendor publishes it.
std::optional<devices::Row> peaks_of(std::string_view name, std::int64_t threads, const Environment& environment);

// A file, or the kept row whose name holds `wanted` (in any case). The error names what is kept, and what to do.
Result<devices::Row> find_row(const std::string& wanted, const std::filesystem::path& folder);

}  // namespace hotlens::runs
