#include "server/session/plan.h"

#include <unistd.h>

#include <fstream>
#include <span>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::session;
namespace fs = std::filesystem;

namespace {

const char* const kTraining = "import torch\nfor x in range(3):\n    loss = f(x)\n    loss.backward()\n    optimizer.step()\n";

// A workspace in a temporary folder with a Python of its own.
class Workspace {
 public:
  Workspace() {
    std::string pattern = (fs::temp_directory_path() / "hotlens-plan-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
    const fs::path python = file(".venv/bin/python", "");
    fs::permissions(python, fs::perms::owner_all);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { fs::remove_all(root); }

  fs::path file(const fs::path& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
    return root / name;
  }
  PlanInput input() const { return {.folders = {root}}; }
  std::shared_ptr<const profile::Profile> profile(std::vector<std::string> argv) const {
    profile::Profile made;
    made.folder = root / ".hotlens/profiles/id";
    made.argv = std::move(argv);
    return std::make_shared<const profile::Profile>(std::move(made));
  }

  fs::path root;
};

Result<Plan> plan(const PlanInput& input) {
  return plan_run(input, [](std::string_view) { return std::nullopt; }, fs::path("/recorder"));
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("the script is the one asked for, set, open, profiled last, or the only one, in this order") {
  const Workspace work;
  const fs::path asked = work.file("asked.py", ""), set = work.file("set.py", ""), open = work.file("sub/open.py", kTraining);
  work.file("last.py", ""), work.file("only.py", kTraining);
  PlanInput input = work.input();
  CHECK(plan(input)->command == Words{"only.py"});
  input.latest = work.profile({"last.py", "--lr", "1"});
  CHECK(plan(input)->command == Words{"last.py", "--lr", "1"});
  input.document = open;
  input.document_tree = source::Tree::parse(kTraining);
  CHECK(plan(input)->command == Words{"sub/open.py"});
  input.settings.script = "set.py";
  CHECK(plan(input)->command == Words{"set.py"});
  input.asked.script = "asked.py";
  const auto made = plan(input);
  REQUIRE(made);
  CHECK(made->command == Words{"asked.py"});
  CHECK(made->script == asked);
  CHECK(made->request.cwd == work.root);
  CHECK(made->request.argv.front() == (work.root / ".venv/bin/python").string());
  CHECK(made->request.argv[1] == "/recorder/__main__.py");
}

TEST_CASE("a run whose arguments held a secret is not repeated with the mask in its place") {
  const Workspace work;
  work.file("last.py", "");
  for (const Words& masked :
       {Words{"last.py", "--api-key", "***"}, Words{"last.py", "hub.token=***"}, Words{"-m", "pkg", "--token", "***"}}) {
    PlanInput input = work.input();
    input.latest = work.profile(masked);
    const auto refused = plan(input);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.contains("hotlens.profile.args"));
    input.settings.args = {"--api-key", "given again"};
    if (masked.front() != "-m") CHECK(plan(input)->command == Words{"last.py", "--api-key", "given again"});
  }
}

TEST_CASE("an open file that is no training script profiles what ran last") {
  const Workspace work;
  work.file("last.py", "");
  PlanInput input = work.input();
  input.document = work.file("model.py", "class A: pass\n");
  input.document_tree = source::Tree::parse("class A: pass\n");
  input.latest = work.profile({"last.py"});
  CHECK(plan(input)->command == Words{"last.py"});
  input.latest = work.profile({"-m", "pkg.train", "--x"});
  CHECK(plan(input)->command == Words{"-m", "pkg.train", "--x"});
  input.asked.args = Words{"--y"};
  CHECK(plan(input)->command == Words{"-m", "pkg.train", "--y"});
}

TEST_CASE("arguments are those asked for, else set, else of the last profile of the same script") {
  const Workspace work;
  work.file("train.py", kTraining), work.file("other.py", kTraining);
  PlanInput input = work.input();
  input.latest = work.profile({"train.py", "--last"});
  input.asked.script = "train.py";
  CHECK(plan(input)->command == Words{"train.py", "--last"});
  input.settings.args = {"--set"};
  CHECK(plan(input)->command == Words{"train.py", "--set"});
  input.asked.args = Words{};
  CHECK(plan(input)->command == Words{"train.py"});
  input = work.input();
  input.latest = work.profile({"train.py", "--last"});
  input.asked.script = "other.py";
  CHECK(plan(input)->command == Words{"other.py"});
}

TEST_CASE("what cannot be decided is a sentence with the next step") {
  const Workspace work;
  PlanInput input = work.input();
  CHECK(plan(input).error().message.contains("hotlens.profile.script"));
  input.settings.script = "gone.py";
  CHECK(plan(input).error().message.contains("gone.py"));
  input = work.input();
  input.latest = work.profile({"gone.py"});
  CHECK(plan(input).error().message.contains("gone.py"));
  input = work.input();
  input.document = work.root / "unsaved.py";
  input.document_tree = source::Tree::parse(kTraining);
  CHECK(plan(input).error().message.contains("Save it"));
  work.file("a.py", kTraining), work.file("b.py", kTraining), work.file("c.py", "x = 1\n");
  CHECK(plan(work.input()).error().message.contains("a.py, b.py"));
  const Result<fs::path> missing = std::unexpected(Error{ErrorCode::not_found, "no recorder", {}});
  CHECK(plan_run(input, [](std::string_view) { return std::nullopt; }, missing).error().message == "no recorder");
}

TEST_CASE("buffers that differ from the disk are named") {
  const Workspace work;
  const fs::path train = work.file("train.py", kTraining), same = work.file("same.py", "x = 1\n");
  PlanInput input = work.input();
  input.changed = {{train, "other text"}, {same, "x = 1\n"}, {work.root / "new.py", "y"}};
  CHECK(plan(input)->unsaved == Words{"new.py", "train.py"});
}

TEST_CASE("settings reach the recorder") {
  const Workspace work;
  work.file("train.py", kTraining);
  PlanInput input = work.input();
  input.settings.warmup = 1;
  input.settings.steps = 9;
  Words argv = plan(input)->request.argv;
  const auto mark = std::ranges::find(argv, "--mark");
  REQUIRE(argv.end() - mark > 2);
  argv.erase(mark, mark + 2);  // another one each time
  const Words expected{"record", "--out", work.root.string(), "--warmup", "1", "--steps", "9", "--progress-fd", "3", "--", "train.py"};
  CHECK(std::ranges::equal(std::span(argv).subspan(2), expected));
}
