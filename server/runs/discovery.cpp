#include "server/runs/discovery.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "annotator/common/own_program.h"
#include "server/runs/mark.h"
#include "server/runs/progress.h"

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

fs::path expanded(std::string_view setting, const fs::path& workspace, const Environment& environment) {
  if (setting.starts_with("~/")) return fs::path(environment("HOME").value_or("/")) / setting.substr(2);
  const fs::path path(setting);
  return path.is_absolute() ? path : workspace / path;
}

Result<Python> from_setting(std::string_view setting, const fs::path& workspace, const Environment& environment) {
  if (!setting.contains('/')) {
    if (const auto found = on_path(setting, environment)) return Python{*found, "setting"};
  }
  const fs::path path = expanded(setting, workspace, environment);
  if (is_executable(path)) return Python{path, "setting"};
  if (is_executable(path / "bin/python")) return Python{path / "bin/python", "setting"};
  return std::unexpected(Error{ErrorCode::not_found,
                               "The Python that is set, " + std::string(setting) + ", is not an executable file. Correct the setting " +
                                   "`hotlens.python` (or `--python`), or remove it to search.",
                               path.string()});
}

bool holds_recorder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "__main__.py", ignored);
}

std::vector<fs::path> python_folders(const fs::path& lib) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(lib, ignored)) {
    if (entry.path().filename().string().starts_with("python")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

}  // namespace

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> cache_folder(const Environment& environment) {
  if (const auto cache = environment("XDG_CACHE_HOME")) return fs::path(*cache);
  return environment("HOME").transform([](const std::string& home) { return fs::path(home) / ".cache"; });
}

std::optional<fs::path> on_path(std::string_view name, const Environment& environment) {
  const std::string folders = environment("PATH").value_or("");
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    fs::path candidate = fs::path(folders.substr(begin, end - begin)) / name;
    if (candidate.is_absolute() && is_executable(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Result<Python> find_python(std::string_view setting, const fs::path& workspace, const Environment& environment) {
  if (!setting.empty()) return from_setting(setting, workspace, environment);
  if (const auto active = environment("VIRTUAL_ENV")) {
    const fs::path path = fs::path(*active) / "bin/python";
    if (is_executable(path)) return Python{path, "VIRTUAL_ENV"};
  }
  for (const char* folder : {".venv", "venv"}) {
    const fs::path path = workspace / folder / "bin/python";
    if (!workspace.empty() && is_executable(path)) return Python{path, folder};
  }
  for (const char* name : {"python3", "python"}) {
    if (const auto found = on_path(name, environment)) return Python{*found, "PATH"};
  }
  return std::unexpected(Error{ErrorCode::not_found,
                               "No Python was found: VIRTUAL_ENV is not set, the workspace has no .venv, and python3 is not on PATH. "
                               "Set `hotlens.python` (or `--python`) to the interpreter that has torch.",
                               {}});
}

Result<fs::path> find_recorder(const fs::path& program) {
  const fs::path prefix = program.parent_path().parent_path();
  std::vector<fs::path> candidates{prefix / "share/hotlens/recorder/hotlens"};
  for (const fs::path& python : python_folders(prefix / "lib")) {
    for (const char* kind : {"site-packages", "dist-packages"}) candidates.push_back(python / kind / "hotlens");
  }
  const auto found = std::ranges::find_if(candidates, holds_recorder);
  if (found != candidates.end()) return *found;
  return std::unexpected(Error{ErrorCode::not_found,
                               "The recorder that belongs to this program is missing (looked in " + candidates.front().string() +
                                   " and the Python packages under " + (prefix / "lib").string() + "). Install Hotlens again.",
                               prefix.string()});
}

Result<fs::path> find_recorder() {
  const auto program = own_program();
  if (!program) return std::unexpected(program.error());
  return find_recorder(*program);
}

std::vector<std::string> profile_command(const fs::path& python, const fs::path& recorder, const ProfileOptions& options,
                                         const std::vector<std::string>& command) {
  std::vector<std::string> argv{python.string(), (recorder / "__main__.py").string(), "record"};
  const auto add = [&](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  if (!options.out.empty()) add({"--out", options.out.string()});
  if (options.warmup) add({"--warmup", std::to_string(*options.warmup)});
  if (options.steps) add({"--steps", std::to_string(*options.steps)});
  if (!options.step.empty()) add({"--step", options.step});
  if (options.keep_going) add({"--keep-going"});
  if (!options.batch_sizes.empty()) add({"--batch-sizes", options.batch_sizes});
  for (const std::string& number : options.vary) add({"--vary", number});
  if (options.progress) add({"--progress-fd", std::to_string(kProgressFd)});
  add({"--mark", new_mark()});
  add({"--"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

}  // namespace hotlens::runs
