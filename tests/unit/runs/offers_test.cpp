#include "server/runs/offers.h"

#include <unistd.h>

#include <fstream>
#include <thread>
#include <tuple>

#include "server/runs/kept_files.h"
#include "server/runs/workspace_state.h"
#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens::runs;
namespace fs = std::filesystem;

namespace {

class Folder : public hotlens::test::Folder {
 public:
  Offers offers(const std::string& script, const std::string& module = "") const {
    return offers_for(*read_folder_runs(root), root, script.empty() ? fs::path() : root / script, module);
  }
};

const char* const kSeveral = R"({"runs": [{"script": "a.py", "name": "one"}, {"script": "a.py", "name": "two"}, {"module": "b"},
                                          {"module": "a", "name": "two"}, {"script": "b.py", "name": "three"}]})";

}  // namespace

TEST_CASE("a script's configurations are offered, each label once; the only one is chosen") {
  const Folder folder;
  CHECK(folder.offers("a.py") == Offers());
  folder.write(".hotlens/runs.json", kSeveral);
  const Offers two = folder.offers("a.py");
  REQUIRE(two.all.size() == 2);
  CHECK((two.all[0].name == "one" && two.all[1].name == "two" && two.all[1].module.empty()));
  CHECK((two.undecided() && two.used() == nullptr));
  const Offers module = folder.offers("", "b");
  REQUIRE(module.used() != nullptr);
  CHECK(module.used()->label() == "-m b");
  CHECK(folder.offers("c.py").all.empty());
}

TEST_CASE("a choice is remembered beside the file, where git does not see it") {
  const Folder folder;
  folder.write(".hotlens/runs.json", kSeveral);
  const fs::path script = folder.root / "a.py";
  REQUIRE(remember_choice(folder.root, script, folder.offers("a.py").all[1]));
  CHECK(folder.offers("a.py").used()->label() == "two");
  REQUIRE(remember_choice(folder.root, folder.root / "b.py", folder.offers("b.py").all[0]));  // the module
  CHECK(folder.offers("b.py").used()->module == "b");
  CHECK(folder.offers("", "b").used()->module == "b");
  CHECK(folder.offers("a.py").used()->label() == "two");
  std::string ignored;
  std::getline(std::ifstream(folder.root / ".hotlens/.gitignore"), ignored);
  CHECK(ignored == "*");

  const auto written = fs::last_write_time(folder.root / ".hotlens/state.json");
  REQUIRE(remember_choice(folder.root, script, folder.offers("a.py").all[1]));
  CHECK(fs::last_write_time(folder.root / ".hotlens/state.json") == written);  // nothing changed
}

TEST_CASE("a remembered name that is gone, and a file that cannot be read, choose nothing") {
  const Folder folder;
  folder.write(".hotlens/runs.json", kSeveral);
  for (const char* text :
       {"", "{", "[]", R"({"configurations": {"a.py": "one"}})", R"({"schema": "hotlens.state/2", "configurations": {"a.py": "one"}})",
        R"({"schema": "hotlens.state/1", "configurations": {"a.py": "gone"}})",
        R"({"schema": "hotlens.state/1", "configurations": {"a.py": 1}})", R"({"schema": "hotlens.state/1", "configurations": 5})"}) {
    folder.write(".hotlens/state.json", text);
    INFO(text);
    CHECK(folder.offers("a.py").undecided());
  }
  folder.write(".hotlens/state.json", R"({"schema": "hotlens.state/1", "configurations": {"a.py": "one"}})");
  CHECK(folder.offers("a.py").used()->label() == "one");
}

TEST_CASE("a choice that cannot be kept says so") {
  const Folder folder;
  folder.write(".hotlens", "a file");
  const auto kept = remember_choice(folder.root, folder.root / "a.py", {.name = "one"});
  REQUIRE_FALSE(kept);
  CHECK(kept.error().message.contains("cannot be written"));
}

TEST_CASE("of two that change what is kept at once neither loses anything, and a lock that nobody gives up holds nobody for long") {
  const Folder folder;
  folder.write(".hotlens/state.json", "");
  constexpr int kChanges = 50;
  const auto change = [&](const std::string& who) {
    for (int i = 0; i < kChanges; ++i) {
      std::ignore =
          change_workspace_state(folder.root, [&](WorkspaceState& state) { state.configurations[who + std::to_string(i)] = "x"; });
    }
  };
  {
    const std::jthread one(change, "one"), two(change, "two");
  }
  CHECK(read_workspace_state(folder.root).configurations.size() == 2 * kChanges);
  const KeptFilesLock forever(folder.root);
  CHECK(change_workspace_state(folder.root, [](WorkspaceState& state) { state.baseline = "late"; }));
  CHECK(read_workspace_state(folder.root).baseline == "late");
}
