#include "annotator/guess/python/library.h"

#include <algorithm>

#include "annotator/common/file.h"

namespace hotlens::guess {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFiles = 300;          // by import, twice that by trace; a model of the corpus needs 40
constexpr std::size_t kLargestFile = 4'000'000;  // bytes; generated sources beyond that are nobody's model

std::string as_path(std::string_view dotted) {
  std::string path(dotted);
  std::ranges::replace(path, '.', '/');
  return path;
}

// A trace's path is hostile text: only a plain relative or absolute path of a Python file is looked up.
bool usable(std::string_view path) {
  return path.ends_with(".py") && path.find("..") == std::string_view::npos && path.find('\0') == std::string_view::npos &&
         path.size() < 4096;
}

}  // namespace

const Code* Library::file(const fs::path& path) {
  return open(path, kMostFiles);
}

const Code* Library::open(const fs::path& named, std::size_t most) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(named, error);  // one file, one set of classes, by whatever links it is reached
  const auto [known, fresh] = files_.try_emplace(path);
  if (!fresh) return known->second.get();
  if (files_.size() > most) return nullptr;
  Result<std::string> text = read_file(path, kLargestFile);
  if (!text) return nullptr;
  known->second = std::make_unique<Code>(path, std::move(*text));
  return known->second.get();
}

const Code* Library::below(const fs::path& folder, std::string_view dotted) {
  std::error_code error;
  const fs::path base = folder / as_path(dotted);
  for (const fs::path& path : {fs::path(base).concat(".py"), base / "__init__.py"}) {
    if (fs::is_regular_file(path, error)) return file(path);
  }
  return nullptr;
}

const Code* Library::module(std::string_view dotted, const Code& from) {
  if (dotted.starts_with('.')) {
    fs::path folder = from.path().parent_path();
    for (dotted.remove_prefix(1); dotted.starts_with('.'); dotted.remove_prefix(1)) folder = folder.parent_path();
    return below(folder, dotted);
  }
  if (const auto known = modules_.find(dotted); known != modules_.end()) return known->second;
  const Code* found = nullptr;
  for (auto root = roots_.begin(); found == nullptr && root != roots_.end(); ++root) found = below(*root, dotted);
  return modules_[std::string(dotted)] = found;
}

const Code* Library::traced(std::string_view path) {
  if (!usable(path)) return nullptr;
  if (const auto known = traced_.find(path); known != traced_.end()) return known->second;
  const Code* found = nullptr;
  std::error_code error;
  for (const fs::path& root : roots_) {
    const fs::path wanted = path.starts_with('/') ? fs::path(path) : root / path;
    const bool contained = std::ranges::mismatch(root, wanted).in1 == root.end();
    if (found == nullptr && contained && fs::is_regular_file(wanted, error)) found = open(wanted, 2 * kMostFiles);
  }
  return traced_[std::string(path)] = found;
}

}  // namespace hotlens::guess
