// The mark of a run: how its bundle's name ends, so that it is found where the script could not say so (it may close the progress pipe).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hotlens::runs {

// Six hexadecimal digits, others each time.
std::string new_mark();

// What a run of this command (profile_command in discovery.h) has left; nothing where it has left no complete bundle.
std::optional<std::filesystem::path> bundle_left(const std::vector<std::string>& command);

}  // namespace hotlens::runs
