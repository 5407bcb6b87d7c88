// A folder of a test's own, gone with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hotlens::test {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotlens-test-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(root); }

  std::filesystem::path write(const std::filesystem::path& name, const std::string& text = "") const {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
    return root / name;
  }
  std::filesystem::path program(const std::filesystem::path& name, const std::string& text = "#!/bin/sh\n") const {
    const std::filesystem::path file = write(name, text);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  std::string text(const std::filesystem::path& name) const {
    std::ostringstream out;
    out << std::ifstream(root / name).rdbuf();
    return out.str();
  }

  std::filesystem::path root;
};

}  // namespace hotlens::test
