#include "server/runs/scratch.h"

#include <cstdlib>
#include <string>

namespace hotlens::runs {

namespace fs = std::filesystem;

Scratch::Scratch(std::string_view purpose) {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / ("hotlens-" + std::string(purpose) + "-XXXXXX")).string();
  if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
}

Scratch::~Scratch() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace hotlens::runs
