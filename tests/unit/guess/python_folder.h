// Python files for one test.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace hotlens::guess {

// A folder of Python files that is gone after the test.
class PythonFolder {
 public:
  PythonFolder() : path_(std::filesystem::temp_directory_path() / ("hotlens-skeleton-" + std::to_string(std::random_device()()))) {
    std::filesystem::create_directories(path_);
  }
  ~PythonFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PythonFolder(const PythonFolder&) = delete;
  PythonFolder& operator=(const PythonFolder&) = delete;

  PythonFolder& write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return *this;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace hotlens::guess
