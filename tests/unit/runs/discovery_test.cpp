#include "server/runs/discovery.h"
#include "server/runs/mark.h"
#include "server/runs/packages.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "server/runs/words.h"
#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens;
using namespace hotlens::runs;
namespace fs = std::filesystem;

namespace {

using hotlens::test::Folder;

Environment fixed(std::map<std::string, std::string, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace

TEST_CASE("the first Python in the documented order wins") {
  const Folder folder;
  const fs::path set = folder.program("set/python"), active = folder.program("active/bin/python");
  const fs::path local = folder.program("work/.venv/bin/python"), other = folder.program("work/venv/bin/python");
  const fs::path global = folder.program("bin/python3");
  const Environment all = fixed({{"VIRTUAL_ENV", (folder.root / "active").string()}, {"PATH", (folder.root / "bin").string()}});
  const Environment path_only = fixed({{"PATH", "relative:" + (folder.root / "bin").string()}});
  const fs::path work = folder.root / "work";

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
  const fs::path named = folder.program("bin/python3.12"), inside = folder.program("work/env/bin/python");
  const Environment environment = fixed({{"PATH", (folder.root / "bin").string()}, {"HOME", folder.root.string()}});
  const fs::path work = folder.root / "work";
  CHECK(find_python("python3.12", work, environment)->path == named);
  CHECK(find_python("env/bin/python", work, environment)->path == inside);
  CHECK(find_python("env", work, environment)->path == inside);
  CHECK(find_python("~/bin/python3.12", work, environment)->path == named);
}

TEST_CASE("a wrong setting is an error that names it, not a search") {
  const Folder folder;
  folder.program("bin/python3");
  const fs::path plain = folder.write("not-executable");
  const Environment environment = fixed({{"PATH", (folder.root / "bin").string()}});
  for (const std::string& setting : {std::string("/no/such/python"), plain.string()}) {
    const auto found = find_python(setting, folder.root, environment);
    REQUIRE_FALSE(found);
    CHECK(found.error().message.contains(setting));
    CHECK(found.error().message.contains("hotlens.python"));
  }
}

TEST_CASE("no Python at all says what to do") {
  const Folder folder;
  const auto found = find_python("", folder.root, fixed({{"PATH", "/nonexistent"}}));
  REQUIRE_FALSE(found);
  CHECK(found.error().message.contains("hotlens.python"));
}

TEST_CASE("the recorder is beside the program or in the environment's packages") {
  const Folder folder;
  const fs::path program = folder.program("bin/hotlens");
  CHECK_FALSE(find_recorder(program));
  const fs::path wheel = folder.write("lib/python3.11/site-packages/hotlens/__main__.py");
  CHECK(*find_recorder(program) == wheel.parent_path());
  const fs::path shared = folder.write("share/hotlens/recorder/hotlens/__main__.py");
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
  const fs::path store = folder.root / ".hotlens/profiles", made = store / "20261123T080000Z-0a1b2c";
  const auto left = [](const fs::path& out, const std::string& mark) {
    return bundle_left({"/py", "--out", out.string(), "--mark", mark, "--", "--mark", "ffffff"});
  };
  folder.write(".hotlens/profiles/20261123T080000Z-ffffff/manifest.json");
  folder.write(".hotlens/profiles/20261123T080000Z-0a1b2c.partial/manifest.json");
  fs::create_directories(made);
  CHECK_FALSE(left(folder.root, "0a1b2c"));
  CHECK_FALSE(left(folder.root / "none", "0a1b2c"));
  folder.write(".hotlens/profiles/20261123T080000Z-0a1b2c/manifest.json");
  for (const fs::path& out : {folder.root, folder.root / "", folder.root / ".hotlens", store, store / ""}) {
    CHECK(left(out, "0a1b2c") == made);
  }
  CHECK_FALSE(left(folder.root, "b2c"));
  CHECK_FALSE(bundle_left({"/py", "--out", folder.root.string(), "--", "--mark", "0a1b2c"}));
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
  const fs::path python = folder.program("venv/bin/python");
  const fs::path site = folder.write("venv/lib/python3.11/site-packages/torch/__init__.py").parent_path().parent_path();
  const fs::path editable = folder.write("checkout/pkg/__init__.py").parent_path().parent_path();
  std::ofstream(site / "editable.pth") << "import os; os.abort()\n# comment\n" << editable.string() << "\r\n/no/such/folder\n";
  CHECK(package_folders(python) == std::vector<fs::path>{site, editable});
  CHECK(package_folders(folder.root / "none/bin/python").empty());
}

TEST_CASE("a file's imports are looked for in the folders above it, nearest first") {
  const Folder folder;
  const fs::path file = folder.write("src/pkg/models/net.py");
  const std::vector<fs::path> folders = import_folders(file);
  REQUIRE(folders.size() >= 3);
  CHECK(folders[0] == folder.root / "src/pkg/models");
  CHECK(folders[1] == folder.root / "src/pkg");
  CHECK(folders[2] == folder.root / "src");
}
