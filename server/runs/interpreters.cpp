#include "server/runs/interpreters.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

// A workspace folder may hold thousands of entries, and a list of more interpreters is none to choose from.
constexpr std::size_t kMostEntries = 2000, kMostInterpreters = 30;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (found.size() == kMostEntries) break;
    found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

// `torch-2.5.1+cu124.dist-info` is 2.5.1+cu124.
std::string torch_in(const fs::path& packages) {
  constexpr std::string_view kBegin = "torch-", kEnd = ".dist-info";
  std::error_code ignored;
  if (!fs::is_directory(packages / "torch", ignored)) return "";
  for (const auto& entry : fs::directory_iterator(packages, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBegin) && name.ends_with(kEnd) && name.size() > kBegin.size() + kEnd.size())
      return name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  }
  return "";
}

// In the environment that the interpreter lies in: a virtual environment's python is a link, which is not followed.
std::string torch_of(const fs::path& python) {
  for (const fs::path& folder : entries_of(python.parent_path().parent_path() / "lib")) {
    if (!folder.filename().string().starts_with("python")) continue;
    for (const char* kind : {"site-packages", "dist-packages"}) {
      if (std::string version = torch_in(folder / kind); !version.empty()) return version;
    }
  }
  return "";
}

// Environments of any name, known by what `python -m venv` writes.
std::vector<fs::path> environments_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::path& entry : entries_of(folder)) {
    if (fs::is_regular_file(entry / "pyvenv.cfg", ignored)) found.push_back(entry / "bin/python");
  }
  return found;
}

}  // namespace

std::vector<Interpreter> find_interpreters(const std::vector<fs::path>& folders, const std::vector<std::string>& known,
                                           const Environment& environment) {
  std::vector<fs::path> places;
  for (const fs::path& folder : folders) std::ranges::copy(environments_in(folder), std::back_inserter(places));
  if (const auto active = environment("VIRTUAL_ENV")) places.push_back(fs::path(*active) / "bin/python");
  if (const auto active = environment("CONDA_PREFIX")) places.push_back(fs::path(*active) / "bin/python");
  std::ranges::copy_if(known, std::back_inserter(places), [](const fs::path& path) { return path.is_absolute(); });
  for (const char* name : {"python3", "python"}) {
    if (const auto found = on_path(name, environment)) places.push_back(*found);
  }
  std::vector<Interpreter> list;
  for (const fs::path& place : places) {
    const fs::path path = place.lexically_normal();
    const bool is_new = std::ranges::find(list, path, &Interpreter::path) == list.end();
    if (is_new && list.size() < kMostInterpreters && is_executable(path)) list.push_back({.path = path, .torch = torch_of(path)});
  }
  std::ranges::stable_partition(list, [](const Interpreter& each) { return !each.torch.empty(); });
  return list;
}

}  // namespace hotlens::runs
