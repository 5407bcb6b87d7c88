#include "server/runs/launchers.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "server/runs/words.h"

namespace hotlens::runs {
namespace {

using Words = std::vector<std::string>;

// What stands at the start of the line, and the module that it is.
struct Launcher {
  Words begin;
  std::string_view module;
};
const std::array kLaunchers{Launcher{{"torchrun"}, "torch.distributed.run"},
                            Launcher{{"-m", "torch.distributed.run"}, "torch.distributed.run"},
                            Launcher{{"-m", "torch.distributed.launch"}, "torch.distributed.launch"},
                            Launcher{{"accelerate", "launch"}, "accelerate.commands.launch"},
                            Launcher{{"accelerate-launch"}, "accelerate.commands.launch"},
                            Launcher{{"-m", "accelerate.commands.launch"}, "accelerate.commands.launch"}};

// `/env/bin/torchrun` is torchrun, of the interpreter that is found as usual.
std::string file_name(const std::string& word) {
  return std::filesystem::path(word).filename().string();
}

bool is_python(const std::string& word) {
  const std::string name = file_name(word);
  return name.starts_with("python") && std::ranges::all_of(name.substr(6), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

}  // namespace

Result<Words> launcher_command(std::string_view line, std::string_view home) {
  auto words = split_words(line, home);
  if (!words) return std::unexpected(Error{ErrorCode::usage, "cannot be read: " + words.error().message, {}});
  if (words->empty()) return words;
  if (words->size() > 1 && is_python(words->front()) && (*words)[1] == "-m") words->erase(words->begin());
  if (words->front() != "-m") words->front() = file_name(words->front());
  for (const Launcher& each : kLaunchers) {
    if (std::ranges::mismatch(each.begin, *words).in1 != each.begin.end()) continue;
    Words command{"-m", std::string(each.module)};
    command.insert(command.end(), words->begin() + static_cast<std::ptrdiff_t>(each.begin.size()), words->end());
    return command;
  }
  return std::unexpected(Error{
      ErrorCode::usage, "must be `torchrun …`, `accelerate launch …` or `python -m torch.distributed.run …`, without the script", {}});
}

}  // namespace hotlens::runs
