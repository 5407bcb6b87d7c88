#include "server/lab/build.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens;
using namespace hotlens::lab;
namespace fs = std::filesystem;

namespace {

using hotlens::test::Folder;

runs::Environment fixed(std::map<std::string, std::string, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

// An environment with torch in it, as pip leaves it.
fs::path environment_with_torch(const Folder& folder) {
  const fs::path torch = "env/lib/python3.11/site-packages/torch";
  folder.write(torch / "version.py", "from typing import Optional\n__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n");
  folder.write(torch / "include/ATen/core/Tensor.h");
  folder.write(torch / "lib/libtorch_cpu.so");
  return folder.program("env/bin/python");
}

fs::path sources(const Folder& folder) {
  folder.write("share/hotlens/lab/annotator/lab/worker/worker.cpp", "int main() {}");
  return folder.root / "share/hotlens/lab";
}

}  // namespace

TEST_CASE("the torch of a Python is found on the disk alone") {
  const Folder folder;
  const auto torch = find_torch(environment_with_torch(folder));
  REQUIRE(torch);
  CHECK(torch->version == "2.13.0+cpu");
  CHECK(torch->folder.filename() == "torch");
}

TEST_CASE("a Python without torch is named, with the folders that were searched") {
  const Folder folder;
  folder.write("env/lib/python3.11/site-packages/numpy/__init__.py");
  const auto torch = find_torch(folder.program("env/bin/python"));
  REQUIRE(!torch);
  CHECK_THAT(torch.error().message, Catch::Contains("has no torch") && Catch::Contains("site-packages") && Catch::Contains("--python"));
}

TEST_CASE("a changed source, another torch and another place of torch make another worker") {
  const Folder folder;
  const auto environment = fixed({{"XDG_CACHE_HOME", "/cache"}});
  auto torch = find_torch(environment_with_torch(folder));
  REQUIRE(torch);
  const fs::path lab = sources(folder);
  const auto first = cached_worker(*torch, lab, environment);
  REQUIRE(first);
  CHECK(first->string().starts_with("/cache/hotlens/lab/2.13.0+cpu-"));
  CHECK(cached_worker(*torch, lab, environment).value() == *first);
  folder.write("share/hotlens/lab/annotator/lab/worker/worker.cpp", "int main() { return 1; }");
  const auto second = cached_worker(*torch, lab, environment);
  CHECK(second.value() != *first);
  torch->folder = "/elsewhere/torch";
  CHECK(cached_worker(*torch, lab, environment).value() != *second);
}

TEST_CASE("the cache is in the home folder where no other is named, and nowhere without") {
  const Folder folder;
  const auto torch = find_torch(environment_with_torch(folder));
  const auto worker = cached_worker(*torch, sources(folder), fixed({{"HOME", "/home/me"}}));
  REQUIRE(worker);
  CHECK(worker->string().starts_with("/home/me/.cache/hotlens/lab/"));
  CHECK(!cached_worker(*torch, sources(folder), fixed({})));
}

TEST_CASE("the compiler is the user's, and gets this torch's own headers, libraries and ABI") {
  const Folder folder;
  const auto torch = find_torch(environment_with_torch(folder));
  const fs::path plain = folder.program("bin/g++"), named = folder.program("bin/my-c++");
  const std::string path = (folder.root / "bin").string();
  const auto command = compile_command(*torch, sources(folder), "/cache/lab", fixed({{"PATH", path}}));
  REQUIRE(command);
  CHECK(command->front() == plain.string());
  const auto has = [&](const std::string& word) { return std::ranges::find(*command, word) != command->end(); };
  CHECK(has((torch->folder / "include").string()));
  CHECK(has("-ltorch_cpu"));
  CHECK(!has("-ltorch_cuda"));
  CHECK(has("-D_GLIBCXX_USE_CXX11_ABI=1"));
  CHECK(compile_command(*torch, sources(folder), "/cache/lab", fixed({{"PATH", path}, {"CXX", "my-c++"}}))->front() == named.string());
  folder.write("env/lib/python3.11/site-packages/torch/share/cmake/Torch/TorchConfig.cmake",
               "set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=0\")");
  const auto older = compile_command(*torch, sources(folder), "/cache/lab", fixed({{"PATH", path}}));
  CHECK(std::ranges::find(*older, "-D_GLIBCXX_USE_CXX11_ABI=0") != older->end());
}

TEST_CASE("what is missing for a worker is said, with what to install") {
  const Folder folder;
  const auto torch = find_torch(environment_with_torch(folder));
  const auto without_compiler = compile_command(*torch, sources(folder), "/cache/lab", fixed({{"PATH", "/nowhere"}}));
  REQUIRE(!without_compiler);
  CHECK_THAT(without_compiler.error().message, Catch::Contains("g++ 12") && Catch::Contains("Everything else works"));
  folder.program("bin/g++");
  fs::remove_all(torch->folder / "include");
  const auto without_headers = compile_command(*torch, sources(folder), "/cache/lab", fixed({{"PATH", (folder.root / "bin").string()}}));
  REQUIRE(!without_headers);
  CHECK_THAT(without_headers.error().message, Catch::Contains("no C++ headers") && Catch::Contains("2.13.0+cpu"));
  CHECK(!find_sources(folder.root / "elsewhere/bin/hotlens"));
}
