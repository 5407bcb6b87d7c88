// The variables of VS Code's launch.json: `${workspaceFolder}`, `${file}`, `${env:HOME}` and their like.
#pragma once

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

namespace hotlens::runs {

struct LaunchPlace {
  std::filesystem::path folder, file;  // of the workspace; the script, or empty
};

// The text with its variables filled in. The error, half a sentence, names one that cannot be: VS Code would ask somebody, or an extension.
std::expected<std::string, std::string> filled_in(std::string_view text, const LaunchPlace& place);

}  // namespace hotlens::runs
