#include "server/runs/configurations.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens;
using namespace hotlens::runs;
namespace fs = std::filesystem;

namespace {

// The one that runs a file; null where none does.
const Configuration* configuration_of(const std::vector<Configuration>& all, const fs::path& script) {
  const auto found = std::ranges::find_if(all, [&](const Configuration& each) { return runs_script(each, script); });
  return found == all.end() ? nullptr : &*found;
}

class Folder : public hotlens::test::Folder {
 public:
  void runs(const std::string& list) const { write(".hotlens/runs.json", R"({"runs": )" + list + "}"); }
  std::string complaint() const {
    const auto read = read_configurations(root);
    REQUIRE_FALSE(read);
    CHECK(read.error().message.contains((root / ".hotlens/runs.json").string()));
    CHECK(read.error().message.ends_with("Correct the file and profile again."));
    return read.error().message;
  }
};

}  // namespace

TEST_CASE("a folder without a file has no configurations") {
  const Folder folder;
  CHECK(read_configurations(folder.root)->empty());
}

TEST_CASE("an entry is the script's, or that of the module that a file is") {
  const Folder folder;
  folder.runs(R"([{"script": "./train.py", "arguments": "--data 'my data'", "environment": {"A": "1"}, "python": ".venv/bin/python"},
                  {"module": "pkg.train", "directory": "src/"}])");
  const auto read = read_configurations(folder.root);
  REQUIRE(read);
  const Configuration* script = configuration_of(*read, folder.root / "train.py");
  REQUIRE(script != nullptr);
  CHECK((script->arguments == "--data 'my data'" && script->directory == folder.root && script->python == ".venv/bin/python"));
  CHECK(script->environment == std::vector<std::pair<std::string, std::string>>{{"A", "1"}});
  const Configuration* module = configuration_of(*read, folder.root / "src/pkg/train.py");
  REQUIRE(module != nullptr);
  CHECK((module->module == "pkg.train" && module->directory == folder.root / "src"));
  CHECK(configuration_of(*read, folder.root / "src/pkg/train/__main__.py") == module);
  CHECK(configuration_of(*read, folder.root / "pkg/train.py") == nullptr);
}

TEST_CASE("a file that cannot be understood says where") {
  const Folder folder;
  const auto says = [&](const std::string& text, const std::string& expected) {
    folder.write(".hotlens/runs.json", text);
    INFO(text.substr(0, 100));
    CHECK(folder.complaint().contains(expected));
  };
  says("{\n \"runs\": [\n  {,}]}", "line 3 is not JSON");
  says("", "line 1 is not JSON");
  says("[]", "an object with the list `runs` is expected");
  says("{}", "`runs` must be a list");
  says(R"({"schema": "hotlens.runs/2", "runs": []})", "`schema` is not `hotlens.runs/1`");
  says(R"({"runs": [{"script": "a.py"}, 5]})", "runs[1] must be an object");
  says(R"({"runs": [{}]})", "runs[0] needs either `script` or `module`");
  says(R"({"runs": [{"script": "a.py", "module": "a"}]})", "runs[0] needs either");
  says(R"({"runs": [{"script": "a.py", "args": "x"}]})", "runs[0] has the unknown key `args`");
  says(R"({"runs": [{"script": "a.py", "arguments": ["x"]}]})", "runs[0].arguments must be text");
  says(R"({"runs": [{"script": "a\u0000.py"}]})", "runs[0].script must be text");
  says(R"({"runs": [{"script": "a.py", "environment": {"A": 1}}]})", "runs[0].environment.A must be text");
  says(R"({"runs": [{"script": "a.py", "environment": {"A=B": "1"}}]})", "a name that no variable can have");
  says(R"({"runs": [{"script": "a.py"}, {"script": "./a.py"}]})", "runs[1] is for a script that an entry before it has");
  says(R"({"runs": [{"script": "a.py", "name": "x"}, {"script": "a.py", "name": "x"}]})", "give each of them a `name` of its own");
  says(R"({"runs": [{"script": "a.py", "launcher": "mpirun -n 2"}]})", "runs[0].launcher must be `torchrun …`");
  says("{\"runs\": [], \"x\": \"" + std::string(2'000'000, 'x') + "\"}", "is larger than");
}

TEST_CASE("a file that is none is no reason to wait") {
  const Folder folder;
  fs::create_directories(folder.root / ".hotlens/runs.json");
  CHECK_FALSE(read_configurations(folder.root));
  CHECK_FALSE(store_arguments(folder.root, {.script = folder.root / "a.py"}, "x"));
}

TEST_CASE("arguments are kept, and what else people wrote stays") {
  const Folder folder;
  folder.write(".hotlens/.gitignore", "*\n");
  REQUIRE(store_arguments(folder.root, {.script = folder.root / "sub/train.py"}, "--data \"my data\""));
  CHECK(read_configurations(folder.root)->front().arguments == "--data \"my data\"");
  CHECK(configuration_of(*read_configurations(folder.root), folder.root / "sub/train.py") != nullptr);
  CHECK(folder.text(".hotlens/.gitignore") == "*\n!runs.json\n");
  CHECK(folder.text(".hotlens/runs.json").contains(R"("script": "sub/train.py")"));

  folder.write(".hotlens/runs.json", R"({"note": "ours", "runs": [{"python": "py", "script": "./train.py"}, {"module": "m"}]})");
  folder.write(".hotlens/.gitignore", "# mine\n");
  REQUIRE(store_arguments(folder.root, {.script = folder.root / "train.py"}, "--x"));
  REQUIRE(store_arguments(folder.root, {.script = folder.root / "m.py", .module = "m"}, ""));
  const auto read = read_configurations(folder.root);
  REQUIRE((read && read->size() == 2));
  CHECK(((*read)[0].arguments == "--x" && (*read)[0].python == "py" && (*read)[1].module == "m"));
  CHECK(folder.text(".hotlens/runs.json").contains(R"("note": "ours")"));
  CHECK(folder.text(".hotlens/.gitignore") == "# mine\n");
  CHECK(std::distance(fs::directory_iterator(folder.root / ".hotlens"), {}) == 2);  // no draft is left
}

TEST_CASE("arguments are kept with the entry of this name") {
  const Folder folder;
  folder.runs(R"([{"script": "a.py", "name": "one"}, {"script": "a.py", "name": "two", "launcher": "torchrun"}])");
  REQUIRE(store_arguments(folder.root, {.script = folder.root / "a.py", .name = "two"}, "--x"));
  const auto read = read_configurations(folder.root);
  REQUIRE((read && read->size() == 2));
  CHECK(((*read)[0].arguments.empty() && (*read)[1].arguments == "--x"));
  CHECK((*read)[1].summary() == "torchrun a.py --x");
  CHECK((*read)[1].label() == "two");
}

TEST_CASE("a broken file is never written over") {
  const Folder folder;
  folder.write(".hotlens/runs.json", "{ broken");
  CHECK_FALSE(store_arguments(folder.root, {.script = folder.root / "a.py"}, "x"));
  CHECK(folder.text(".hotlens/runs.json") == "{ broken");
}

TEST_CASE("a folder that cannot be written says so") {
  const Folder folder;
  folder.write(".hotlens", "a file");
  const auto kept = store_arguments(folder.root, {.script = folder.root / "a.py"}, "x");
  REQUIRE_FALSE(kept);
  CHECK(kept.error().message.contains("cannot be written"));
}
