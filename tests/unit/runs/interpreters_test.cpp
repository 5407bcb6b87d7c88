#include "server/runs/interpreters.h"

#include <fstream>

#include "tests/unit/catch.h"

using namespace hotlens::runs;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "hotlens-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

void make_environment(const fs::path& at, const std::string& torch = "") {
  fs::create_directories(at / "bin");
  std::ofstream(at / "pyvenv.cfg") << "home = /usr\n";
  std::ofstream(at / "bin/python") << "#!/bin/sh\n";
  fs::permissions(at / "bin/python", fs::perms::owner_all);
  if (torch.empty()) return;
  fs::create_directories(at / "lib/python3.12/site-packages/torch");
  fs::create_directories(at / ("lib/python3.12/site-packages/torch-" + torch + ".dist-info"));
}

}  // namespace

TEST_CASE("environments of any name are found, once, and those with PyTorch come first") {
  const Folder folder;
  make_environment(folder.path / "work/.venv");
  make_environment(folder.path / "work/gpu env", "2.5.1+cu124");
  make_environment(folder.path / "known");
  fs::create_directories(folder.path / "work/src/bin");
  std::ofstream(folder.path / "work/src/bin/python") << "no environment\n";
  const auto environment = [&](std::string_view name) -> std::optional<std::string> {
    return name == "VIRTUAL_ENV" ? std::optional((folder.path / "work/.venv").string()) : std::nullopt;
  };
  const std::vector<std::string> known{(folder.path / "known/bin/python").string(), (folder.path / "gone/bin/python").string(), "python"};
  CHECK(find_interpreters({folder.path / "work", folder.path / "work"}, known, environment) ==
        std::vector<Interpreter>{{folder.path / "work/gpu env/bin/python", "2.5.1+cu124"},
                                 {folder.path / "work/.venv/bin/python", ""},
                                 {folder.path / "known/bin/python", ""}});
}
