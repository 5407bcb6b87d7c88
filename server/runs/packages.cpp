#include "server/runs/packages.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "annotator/common/file.h"

namespace hotlens::runs {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostAbove = 8;  // deeper package trees than that have a root of their own
constexpr std::size_t kMostPth = std::size_t{1} << 20;

void add(std::vector<fs::path>& list, const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error) && std::ranges::find(list, folder) == list.end()) list.push_back(folder);
}

// A .pth file names one folder a line; lines that begin with `import` are code and not run.
void add_pth(std::vector<fs::path>& list, const fs::path& site) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(site, error)) {
    if (entry.path().extension() != ".pth") continue;
    std::istringstream in(read_file(entry.path(), kMostPth).value_or(std::string()));
    for (std::string line; std::getline(in, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty() && !line.starts_with('#') && !line.starts_with("import")) add(list, site / line);
    }
  }
}

void add_prefix(std::vector<fs::path>& list, const fs::path& prefix) {
  std::error_code error;
  std::vector<fs::path> sites;
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(prefix / lib, error)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      add(sites, entry.path() / "site-packages");
      add(sites, entry.path() / "dist-packages");
    }
  }
  add(sites, prefix / "Lib" / "site-packages");
  for (const fs::path& site : sites) add(list, site);
  for (const fs::path& site : sites) add_pth(list, site);
}

}  // namespace

std::vector<fs::path> package_folders(const fs::path& python) {
  std::vector<fs::path> list;
  add_prefix(list, python.parent_path().parent_path());
  std::error_code error;
  const fs::path installed = fs::canonical(python, error);
  if (list.empty() && !error) add_prefix(list, installed.parent_path().parent_path());
  return list;
}

std::vector<fs::path> import_folders(const fs::path& file) {
  std::vector<fs::path> list;
  for (fs::path folder = file.parent_path(); folder.has_relative_path() && list.size() < kMostAbove; folder = folder.parent_path()) {
    add(list, folder);
  }
  return list;
}

}  // namespace hotlens::runs
