#include "server/runs/launch_variables.h"

#include <array>
#include <cstdlib>
#include <optional>

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnvironment = "env:";

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

struct Variable {
  std::string_view name;
  std::string (*value)(const LaunchPlace& place);
  bool of_file = false;
};

constexpr std::array<Variable, 13> kVariables{{
    {"workspaceFolder", [](const LaunchPlace& at) { return at.folder.string(); }},
    {"workspaceRoot", [](const LaunchPlace& at) { return at.folder.string(); }},
    {"workspaceFolderBasename", [](const LaunchPlace& at) { return at.folder.filename().string(); }},
    {"cwd", [](const LaunchPlace& at) { return at.folder.string(); }},
    {"userHome", [](const LaunchPlace&) { return environment("HOME"); }},
    {"pathSeparator", [](const LaunchPlace&) { return std::string("/"); }},
    {"/", [](const LaunchPlace&) { return std::string("/"); }},
    {"file", [](const LaunchPlace& at) { return at.file.string(); }, true},
    {"fileDirname", [](const LaunchPlace& at) { return at.file.parent_path().string(); }, true},
    {"fileBasename", [](const LaunchPlace& at) { return at.file.filename().string(); }, true},
    {"fileBasenameNoExtension", [](const LaunchPlace& at) { return at.file.stem().string(); }, true},
    {"relativeFile", [](const LaunchPlace& at) { return at.file.lexically_relative(at.folder).string(); }, true},
    {"relativeFileDirname", [](const LaunchPlace& at) { return at.file.lexically_relative(at.folder).parent_path().string(); }, true},
}};

std::optional<std::string> value_of(std::string_view name, const LaunchPlace& place) {
  if (name.starts_with(kEnvironment)) return environment(std::string(name.substr(kEnvironment.size())));
  for (const Variable& each : kVariables) {
    if (each.name == name && (!each.of_file || !place.file.empty())) return each.value(place);
  }
  return std::nullopt;
}

}  // namespace

std::expected<std::string, std::string> filled_in(std::string_view text, const LaunchPlace& place) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find("${", at), end = begin == std::string_view::npos ? begin : text.find('}', begin);
    made += text.substr(at, end == std::string_view::npos ? std::string_view::npos : begin - at);
    if (end == std::string_view::npos) break;
    const std::string_view name = text.substr(begin + 2, end - begin - 2);
    const auto value = value_of(name, place);
    if (!value) return std::unexpected("it uses `${" + std::string(name) + "}`");
    made += *value;
    at = end + 1;
  }
  return made;
}

}  // namespace hotlens::runs
