#include "server/runs/discovery.h"
#include "server/runs/mark.h"
#include "server/runs/packages.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "server/runs/words.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::runs;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "hotlens-runs-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }

  fs::path file(const fs::path& relative, bool executable = false) const {
    const fs::path full = path / relative;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << "#!/bin/sh\n";
    if (executable) fs::permissions(full, fs::perms::owner_all);
    return full;
  }

  fs::path path;
};

Environment fixed(std::map<std::string, std::string, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace

TEST_CASE("the first Python in the documented order wins") {
  const Folder folder;
  const fs::path set = folder.file("set/python", true), active = folder.file("active/bin/python", true);
  const fs::path local = folder.file("work/.venv/bin/python", true), other = folder.file("work/venv/bin/python", true);
  const fs::path global = folder.file("bin/python3", true);
  const Environment all = fixed({{"VIRTUAL_ENV", (folder.path / "active").string()}, {"PATH", (folder.path / "bin").string()}});
  const Environment path_only = fixed({{"PATH", "relative:" + (folder.path / "bin").string()}});
  const fs::path work = folder.path / "work";

  CHECK(find_python(set.string(), work, all)->path == set);
  CHECK(find_python("", work, all)->path == active);
  CHECK(find_python("", work, path_only)->path == local);
  fs::remove(local);
  CHECK(find_python("", work, path_only)->path == other);
  fs::remove(other);
  CHECK(find_python("", work, path_only)->path == global);
  CHECK(find_python("", work, path_only)->origin == "PATH");
}

TEST_CASE("a setting may be a name, a relative path, a home path or an environment's folder") {
  const Folder folder;
  const fs::path named = folder.file("bin/python3.12", true), inside = folder.file("work/env/bin/python", true);
  const Environment environment = fixed({{"PATH", (folder.path / "bin").string()}, {"HOME", folder.path.string()}});
  const fs::path work = folder.path / "work";
  CHECK(find_python("python3.12", work, environment)->path == named);
  CHECK(find_python("env/bin/python", work, environment)->path == inside);
  CHECK(find_python("env", work, environment)->path == inside);
  CHECK(find_python("~/bin/python3.12", work, environment)->path == named);
}

TEST_CASE("a wrong setting is an error that names it, not a search") {
  const Folder folder;
  folder.file("bin/python3", true);
  const fs::path plain = folder.file("not-executable");
  const Environment environment = fixed({{"PATH", (folder.path / "bin").string()}});
  for (const std::string& setting : {std::string("/no/such/python"), plain.string()}) {
    const auto found = find_python(setting, folder.path, environment);
    REQUIRE_FALSE(found);
    CHECK(found.error().message.contains(setting));
    CHECK(found.error().message.contains("hotlens.python"));
  }
}

TEST_CASE("no Python at all says what to do") {
  const Folder folder;
  const auto found = find_python("", folder.path, fixed({{"PATH", "/nonexistent"}}));
  REQUIRE_FALSE(found);
  CHECK(found.error().message.contains("hotlens.python"));
}

TEST_CASE("the recorder is beside the program or in the environment's packages") {
  const Folder folder;
  const fs::path program = folder.file("bin/hotlens", true);
  CHECK_FALSE(find_recorder(program));
  const fs::path wheel = folder.file("lib/python3.11/site-packages/hotlens/__main__.py");
  CHECK(*find_recorder(program) == wheel.parent_path());
  const fs::path shared = folder.file("share/hotlens/recorder/hotlens/__main__.py");
  CHECK(*find_recorder(program) == shared.parent_path());
}

TEST_CASE("the recorder's command keeps the script's words untouched") {
  auto argv = profile_command("/py", "/rec", {.warmup = 2, .steps = 4, .step = "loader", .out = "/w"}, {"train.py", "--steps", "9", "a b"});
  std::ranges::find(argv, "--mark")[1] = "0a1b2c";
  CHECK(argv == std::vector<std::string>{
                    "/py",    "/rec/__main__.py", "record", "--out",  "/w",     "--warmup", "2",        "--steps", "4", "--step",
                    "loader", "--progress-fd",    "3",      "--mark", "0a1b2c", "--",       "train.py", "--steps", "9", "a b"});
  CHECK(quoted(argv).ends_with("-- train.py --steps 9 'a b'"));
  argv = profile_command("/py", "/rec", {.batch_sizes = "6,8"}, {"train.py"});
  CHECK(std::ranges::find(argv, "--batch-sizes")[1] == "6,8");
  CHECK(quoted({"it's", "", "$(x)"}) == "'it'\\''s' '' '$(x)'");
}

TEST_CASE("what a run has left is found by the mark of its name, when it is complete") {
  const Folder folder;
  const fs::path store = folder.path / ".hotlens/profiles", made = store / "20261123T080000Z-0a1b2c";
  const auto left = [](const fs::path& out, const std::string& mark) {
    return bundle_left({"/py", "--out", out.string(), "--mark", mark, "--", "--mark", "ffffff"});
  };
  folder.file(".hotlens/profiles/20261123T080000Z-ffffff/manifest.json");
  folder.file(".hotlens/profiles/20261123T080000Z-0a1b2c.partial/manifest.json");
  fs::create_directories(made);
  CHECK_FALSE(left(folder.path, "0a1b2c"));
  CHECK_FALSE(left(folder.path / "none", "0a1b2c"));
  folder.file(".hotlens/profiles/20261123T080000Z-0a1b2c/manifest.json");
  for (const fs::path& out : {folder.path, folder.path / "", folder.path / ".hotlens", store, store / ""}) {
    CHECK(left(out, "0a1b2c") == made);
  }
  CHECK_FALSE(left(folder.path, "b2c"));
  CHECK_FALSE(bundle_left({"/py", "--out", folder.path.string(), "--", "--mark", "0a1b2c"}));
}

TEST_CASE("every command has a mark of its own") {
  const std::string first = new_mark();
  CHECK(first.size() == 6);
  CHECK(first.find_first_not_of("0123456789abcdef") == std::string::npos);
  const auto one = profile_command("/py", "/rec", {}, {"t.py"}), two = profile_command("/py", "/rec", {}, {"t.py"});
  CHECK(one != two);
}

TEST_CASE("packages lie beside the interpreter, and where .pth files say") {
  const Folder folder;
  const fs::path python = folder.file("venv/bin/python", true);
  const fs::path site = folder.file("venv/lib/python3.11/site-packages/torch/__init__.py").parent_path().parent_path();
  const fs::path editable = folder.file("checkout/pkg/__init__.py").parent_path().parent_path();
  std::ofstream(site / "editable.pth") << "import os; os.abort()\n# comment\n" << editable.string() << "\r\n/no/such/folder\n";
  CHECK(package_folders(python) == std::vector<fs::path>{site, editable});
  CHECK(package_folders(folder.path / "none/bin/python").empty());
}

TEST_CASE("a file's imports are looked for in the folders above it, nearest first") {
  const Folder folder;
  const fs::path file = folder.file("src/pkg/models/net.py");
  const std::vector<fs::path> folders = import_folders(file);
  REQUIRE(folders.size() >= 3);
  CHECK(folders[0] == folder.path / "src/pkg/models");
  CHECK(folders[1] == folder.path / "src/pkg");
  CHECK(folders[2] == folder.path / "src");
}
