// Where the parts of a profiling run are: the user's Python, our recorder, and the command that joins them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::runs {

// The environment as a function, so that a test needs no setenv. process_environment() reads the real one.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

// Where this user's programs keep what can be made again: XDG_CACHE_HOME, else ~/.cache; nullopt where neither is set.
std::optional<std::filesystem::path> cache_folder(const Environment& environment);

// A file, not a folder, that this user may run.
bool is_executable(const std::filesystem::path& path);

// The first executable of that name in an absolute folder of PATH; a relative entry would run what a workspace holds.
std::optional<std::filesystem::path> on_path(std::string_view name, const Environment& environment);

struct Python {
  std::filesystem::path path;
  std::string origin;  // "setting", "VIRTUAL_ENV", ".venv", "PATH": for messages and `doctor`
};

// The first that exists: the explicit setting, VIRTUAL_ENV, `.venv` or `venv` in the workspace, python3 or python on PATH. A setting that
// names no executable is an error, not a reason to take another interpreter.
Result<Python> find_python(std::string_view setting, const std::filesystem::path& workspace, const Environment& environment);

// The recorder's package folder (it holds __main__.py): beside the program in the build tree and in an installation, in site-packages in a
// wheel.
Result<std::filesystem::path> find_recorder(const std::filesystem::path& program);
Result<std::filesystem::path> find_recorder();  // of this program

struct ProfileOptions {
  std::optional<int> warmup, steps;  // absent: the recorder's own defaults
  std::string step;                  // what marks a step: optimizer, forward or loader; empty: what the loop does shows it
  bool keep_going = false;
  std::string batch_sizes;        // `6,8`: whose operators are recorded too
  std::vector<std::string> vary;  // `BLOCK`, `BLOCK=32,48`: numbers with whose other values they are
  bool progress = true;           // report on kProgressFd
  std::filesystem::path out;      // the folder that holds `.hotlens/profiles`
};

// PYTHON RECORDER/__main__.py record … -- COMMAND. `command` is the script and its arguments, or "-m", the module and its arguments.
std::vector<std::string> profile_command(const std::filesystem::path& python, const std::filesystem::path& recorder,
                                         const ProfileOptions& options, const std::vector<std::string>& command);

}  // namespace hotlens::runs
