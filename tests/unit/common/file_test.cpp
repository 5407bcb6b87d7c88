#include "annotator/common/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/catch.h"

using namespace hotlens;
namespace fs = std::filesystem;

namespace {

// bundle/ with everything that a name in it may lead to.
struct Folder {
  fs::path around = fs::temp_directory_path() / ("hotlens-file-" + std::to_string(::getpid()));
  fs::path bundle = around / "bundle";

  Folder() {
    fs::create_directories(bundle / "files");
    std::ofstream(bundle / "files" / "model.py") << "x = 1\n";
    std::ofstream(around / "secret") << "secret";
    fs::create_symlink(around / "secret", bundle / "out");
    fs::create_symlink("/dev/zero", bundle / "endless");
    fs::create_symlink(bundle / "files" / "model.py", bundle / "in");
    fs::create_directory_symlink(around, bundle / "up");
    ::mkfifo((bundle / "pipe").c_str(), 0600);
  }
  ~Folder() { fs::remove_all(around); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

TEST_CASE("a regular file is read whole, up to the size that was allowed") {
  const Folder folder;
  const fs::path file = folder.bundle / "files" / "model.py";
  CHECK(read_file(file, 6) == "x = 1\n");
  const auto larger = read_file(file, 5);
  REQUIRE_FALSE(larger.has_value());
  CHECK(larger.error().message.find("larger than") != std::string::npos);
  std::ofstream(file) << std::string(300'000, 'y');
  CHECK(read_file(file, 300'000).value().size() == 300'000);
  std::ofstream(file, std::ios::trunc).flush();
  CHECK(read_file(file, 0) == "");
}

TEST_CASE("a file of the kernel, which says that it is empty, is read and bounded") {
  CHECK(read_file("/proc/self/status", 1 << 20).value().find("VmRSS") != std::string::npos);
  CHECK_FALSE(read_file("/proc/self/status", 10).has_value());
}

TEST_CASE("devices, pipes and folders are refused at once") {
  const Folder folder;
  for (const fs::path& path :
       {fs::path("/dev/zero"), folder.bundle / "endless", folder.bundle / "pipe", folder.bundle, fs::path("/dev/tty")}) {
    CAPTURE(path);
    const auto read = read_file(path, 1 << 20);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().where == path.string());
  }
  CHECK(read_file(folder.bundle / "none", 9).error().code == ErrorCode::not_found);
}

TEST_CASE("a file has to lie in its folder, whatever links lead to it") {
  const Folder folder;
  CHECK(read_file_inside(folder.bundle, folder.bundle / "in", 99) == "x = 1\n");
  for (const char* name : {"out", "up/secret", "../secret", "endless", "up/bundle/../secret"}) {
    CAPTURE(name);
    CHECK_FALSE(read_file_inside(folder.bundle, folder.bundle / name, 99).has_value());
  }
  CHECK(read_file_inside(folder.bundle, folder.bundle / "none", 99).error().code == ErrorCode::not_found);
  CHECK(is_inside(folder.bundle / "in", folder.bundle));
  CHECK_FALSE(is_inside(folder.around / "bundleother", folder.bundle));
}
