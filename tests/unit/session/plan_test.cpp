#include "server/session/profiling/plan.h"

#include <unistd.h>

#include <fstream>
#include <span>

#include "annotator/common/file.h"
#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens;
using namespace hotlens::session;
namespace fs = std::filesystem;

namespace {

const char* const kTraining = "import torch\nfor x in range(3):\n    loss = f(x)\n    loss.backward()\n    optimizer.step()\n";

// A workspace in a temporary folder with a Python of its own.
class Workspace : public hotlens::test::Folder {
 public:
  Workspace() { program(".venv/bin/python"); }
  PlanInput input() const { return {.folders = {root}}; }
  std::shared_ptr<const profile::Profile> profile(std::vector<std::string> argv) const {
    profile::Profile made;
    made.folder = root / ".hotlens/profiles/id";
    made.argv = std::move(argv);
    return std::make_shared<const profile::Profile>(std::move(made));
  }
};

Result<Plan> plan(const PlanInput& input) {
  return plan_run(input, [](std::string_view) { return std::nullopt; }, fs::path("/recorder"));
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("the script is the one asked for, set, open, profiled last, or the only one, in this order") {
  const Workspace work;
  const fs::path asked = work.write("asked.py", ""), set = work.write("set.py", ""), open = work.write("sub/open.py", kTraining);
  work.write("last.py", ""), work.write("only.py", kTraining);
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
  work.write("last.py", "");
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
  work.write("last.py", "");
  PlanInput input = work.input();
  input.document = work.write("model.py", "class A: pass\n");
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
  work.write("train.py", kTraining), work.write("other.py", kTraining);
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
  work.write("a.py", kTraining), work.write("b.py", kTraining), work.write("c.py", "x = 1\n");
  CHECK(plan(work.input()).error().message.contains("a.py, b.py"));
  const Result<fs::path> missing = std::unexpected(Error{ErrorCode::not_found, "no recorder", {}});
  CHECK(plan_run(input, [](std::string_view) { return std::nullopt; }, missing).error().message == "no recorder");
}

TEST_CASE("buffers that differ from the disk are named") {
  const Workspace work;
  const fs::path train = work.write("train.py", kTraining), same = work.write("same.py", "x = 1\n");
  PlanInput input = work.input();
  input.changed = {{train, "other text"}, {same, "x = 1\n"}, {work.root / "new.py", "y"}};
  CHECK(plan(input)->unsaved == Words{"new.py", "train.py"});
}

TEST_CASE("settings reach the recorder") {
  const Workspace work;
  work.write("train.py", kTraining);
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

namespace {

// A document that the user looks at.
PlanInput looking_at(const Workspace& work, const fs::path& document) {
  PlanInput input = work.input();
  input.document = document;
  input.document_tree = source::Tree::parse(*read_file(document, 10'000));
  return input;
}

}  // namespace

TEST_CASE("the line kept for a script is used by every run of it") {
  const Workspace work;
  const fs::path train = work.write("train.py", kTraining);
  REQUIRE(runs::store_arguments(work.root, {.script = train}, "--data 'my data' --home ~/x"));
  PlanInput input = looking_at(work, train);
  input.latest = work.profile({"train.py", "--last"});
  input.settings.args = {"--set"};
  const auto home = [](std::string_view name) { return name == "HOME" ? std::optional<std::string>("/home/me") : std::nullopt; };
  CHECK(plan_run(input, home, fs::path("/recorder"))->command == Words{"train.py", "--data", "my data", "--home", "/home/me/x"});
  CHECK(target_of(input)->arguments == "--data 'my data' --home ~/x");
  input.asked.args = Words{"--asked"};
  CHECK(plan(input)->command == Words{"train.py", "--asked"});

  REQUIRE(runs::store_arguments(work.root, {.script = train}, ""));
  CHECK(plan(looking_at(work, train))->command == Words{"train.py"});
}

TEST_CASE("a configuration says where a script runs, with which Python and environment") {
  const Workspace work;
  const fs::path train = work.write("sub/train.py", kTraining), python = work.write("other/python", "");
  fs::permissions(python, fs::perms::owner_all);
  work.write(".hotlens/runs.json",
             R"({"runs": [{"script": "sub/train.py", "directory": "sub", "environment": {"A": "1"}, "python": "other/python"}]})");
  PlanInput input = looking_at(work, train);
  input.asked.python = "/the/editors";
  const auto made = plan(input);
  REQUIRE(made);
  CHECK(made->request.cwd == work.root / "sub");
  CHECK(made->request.argv.front() == python.string());
  CHECK(made->request.environment.front() == std::pair<std::string, std::string>{"A", "1"});
  CHECK(made->command == Words{train.string()});  // found again from the profile, which lies in the workspace folder
  const auto out = std::ranges::find(made->request.argv, "--out");
  REQUIRE(out != made->request.argv.end());
  CHECK(*(out + 1) == work.root.string());
}

TEST_CASE("a configured module runs as one, from its file and again") {
  const Workspace work;
  const fs::path main = work.write("pkg/train.py", "import pkg\n");
  work.write(".hotlens/runs.json", R"({"runs": [{"module": "pkg.train", "arguments": "--x"}]})");
  CHECK(plan(looking_at(work, main))->command == Words{"-m", "pkg.train", "--x"});
  CHECK(plan(work.input())->command == Words{"-m", "pkg.train", "--x"});  // the only one that is configured
  PlanInput again = work.input();
  again.latest = work.profile({"-m", "pkg.train", "--old"});
  CHECK(plan(again)->command == Words{"-m", "pkg.train", "--x"});
  CHECK(target_of(again)->name() == "pkg.train");
}

TEST_CASE("of several configurations the chosen one runs, and none before one is chosen") {
  const Workspace work;
  const fs::path train = work.write("train.py", kTraining);
  work.write(".hotlens/runs.json", R"({"runs": [{"script": "train.py", "name": "tiny", "arguments": "--tiny"},
      {"script": "train.py", "name": "two workers", "launcher": "torchrun --nproc_per_node 2", "arguments": "--x"}]})");
  PlanInput input = looking_at(work, train);
  const auto open = plan(input);
  REQUIRE((open && open->undecided));
  CHECK(choice_words(*open->undecided) == "Choose how train.py is run: tiny, two workers.");
  CHECK(open->request.argv.empty());
  CHECK(plan(work.input())->undecided);  // one script, however it is run

  input.asked.configuration = "two workers";
  const auto made = plan(input);
  REQUIRE(made);
  CHECK(made->command == Words{"-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py", "--x"});
  CHECK(made->script == train);
  input.asked.configuration = "gone";
  CHECK(plan(input).error().message == "train.py has no run configuration `gone`. Choose another one.");

  REQUIRE(runs::remember_choice(work.root, train, {.name = "tiny"}));
  CHECK(plan(looking_at(work, train))->command == Words{"train.py", "--tiny"});
  PlanInput again = work.input();
  again.latest = work.profile({"train.py", "--old"});
  CHECK(plan(again)->command == Words{"train.py", "--tiny"});
}

TEST_CASE("a configuration that cannot be run names its file, the script and what is wrong") {
  const Workspace work;
  const fs::path train = work.write("train.py", kTraining);
  const auto says = [&](const std::string& entry, const std::string& expected) {
    work.write(".hotlens/runs.json", R"({"runs": [{"script": "train.py", )" + entry + "}]}");
    const auto refused = plan(looking_at(work, train));
    INFO(entry);
    const std::string said = refused ? refused->no_python : refused.error().message;
    CHECK(said.contains(".hotlens/runs.json: "));
    CHECK(said.contains(expected));
  };
  says(R"("arguments": "--x 'y")", "for train.py, in the arguments, the quote ' is not closed");
  says(R"("directory": "gone")", "gone does not exist");
  says(R"("python": "no/python")", "the interpreter no/python is not an executable file");
  says(R"("arguments": 5)", "runs[0].arguments must be text");
  work.write(".hotlens/runs.json", R"({"runs": [{"script": "gone.py"}]})");
  fs::remove(train);
  CHECK(plan(work.input()).error().message.contains("the script does not exist"));
}

TEST_CASE("the interpreter that somebody chose wins over what the editor found, and one that is gone is said") {
  const Workspace work;
  const fs::path train = work.write("train.py", kTraining), python = work.write("other/python", "");
  fs::permissions(python, fs::perms::owner_all);
  const auto keep = [&](const std::string& chosen) {
    REQUIRE(runs::change_workspace_state(work.root, [&](runs::WorkspaceState& state) { state.python = chosen; }));
  };
  keep("other/python");
  PlanInput input = looking_at(work, train);
  input.asked.python = "/the/editors";
  const auto made = plan(input);
  REQUIRE(made);
  CHECK(made->request.argv.front() == python.string());
  keep("gone/python");
  const auto gone = plan(input);
  REQUIRE(gone);
  CHECK(gone->no_python == "The interpreter that was chosen, gone/python, is not there any more.");
  CHECK(gone->request.argv.empty());
  keep("");
  CHECK(plan(looking_at(work, train))->request.argv.front() == (work.root / ".venv/bin/python").string());
}

TEST_CASE("in an untrusted workspace a configuration stays inside") {
  const Workspace work;
  const fs::path train = work.write("train.py", kTraining);
  fs::create_directory_symlink("/", work.root / "link");
  const auto allowed = [&](const std::string& entry, bool trusted) {
    work.write(".hotlens/runs.json", R"({"runs": [{"script": "train.py", )" + entry + "}]}");
    PlanInput input = looking_at(work, train);
    input.trusted = trusted;
    const auto made = plan(input);
    CHECK((made || made.error().message.contains("leads out of the workspace, which is not trusted")));
    return made.has_value();
  };
  for (const char* entry : {R"("directory": "..")", R"("directory": "/")", R"("directory": "link")", R"("python": "/bin/sh")"}) {
    INFO(entry);
    CHECK(allowed(entry, true));
    CHECK_FALSE(allowed(entry, false));
  }
  CHECK(allowed(R"("directory": ".venv")", false));
  const fs::path outside = fs::path(work.root.string() + "-outside.py");
  std::ofstream(outside) << kTraining;
  work.write(".hotlens/runs.json", R"({"runs": [{"script": "../)" + outside.filename().string() + R"("}]})");
  PlanInput input = work.input();
  CHECK(plan(input));
  input.trusted = false;
  CHECK_FALSE(plan(input));
  fs::remove(outside);
}

TEST_CASE("the line where a script reads its arguments is known from its text") {
  const Workspace work;
  const auto line = [&](const std::string& text) {
    work.write("train.py", text);
    PlanInput input = work.input();
    input.asked.script = "train.py";
    return plan(input)->arguments_line;
  };
  CHECK(line("import argparse\np = argparse.ArgumentParser()\np.add_argument('--x')\na = p.parse_args()\n") == 3);
  CHECK(line("def parse_args():\n  p.add_argument('--x')\n  return p.parse_known_args()\nparse_args()\n") == 2);
  CHECK(line("x = 1\ndef parse_args():\n  pass\nargs = parse_args()\n") == 3);
  CHECK(line("import click\n@click.command()\ndef main(): pass\n") == 1);
  CHECK(line("x = 1\n") == 0);
}
