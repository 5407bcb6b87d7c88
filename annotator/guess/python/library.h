// The Python files that static resolution may read: by import name, by the path a trace gives, by path.
//
// Roots are folders that could stand on sys.path: workspace folders, the folders of open files, an environment's site-packages. A file is
// read and parsed when someone first asks for it and kept; how many and how large is bounded. Nothing is listed or searched recursively, so
// the size of a workspace does not matter. Not safe for several threads.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/source/outline/code.h"

namespace hotlens::guess {

using source::Code;
using source::Node;

class Library {
 public:
  explicit Library(std::vector<std::filesystem::path> roots) : roots_(std::move(roots)) {}

  // Null: no such file, too large, or too many read already.
  const Code* file(const std::filesystem::path& path);
  // "torchvision.models.resnet" seen from `from`; leading dots as in an import statement.
  const Code* module(std::string_view dotted, const Code& from);
  // "transformers/models/bert/modeling_bert.py": as a trace names a file, below a root or absolute; never outside the roots.
  const Code* traced(std::string_view path);

  const std::map<std::filesystem::path, std::unique_ptr<Code>>& files() const { return files_; }

 private:
  const Code* open(const std::filesystem::path& path, std::size_t most);
  const Code* below(const std::filesystem::path& folder, std::string_view dotted);

  std::vector<std::filesystem::path> roots_;
  std::map<std::filesystem::path, std::unique_ptr<Code>> files_;  // null: not readable
  std::map<std::string, const Code*, std::less<>> traced_, modules_;
};

}  // namespace hotlens::guess
