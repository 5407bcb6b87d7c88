#include "server/runs/launch_file.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "server/runs/offers.h"
#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens::runs;
namespace fs = std::filesystem;

namespace {

class Folder : public hotlens::test::Folder {
 public:
  // One of the debugger's, with these keys.
  std::expected<Configuration, std::string> entry(const std::string& keys, const std::string& file = "train.py") const {
    const std::string json = R"({"name": "Train", "type": "debugpy", "request": "launch")" + (keys.empty() ? "" : ", " + keys) + "}";
    return launched({.name = "Train", .json = json}, root, file.empty() ? fs::path() : root / file);
  }
  std::string refusal(const std::string& keys, const std::string& file = "train.py") const {
    const auto made = entry(keys, file);
    return made ? "" : made.error();
  }
};

}  // namespace

TEST_CASE("comments and trailing commas are blanks, and texts stay as they are") {
  CHECK(without_comments("{\"a\": \"x // y\", // z\n}") == "{\"a\": \"x // y\"      \n}");
  CHECK(without_comments("[1, /* 2,\n */ ]") == "[1       \n    ]");
  CHECK(without_comments(R"(["a\\", "\"//", ","])") == R"(["a\\", "\"//", ","])");
  CHECK(without_comments("[1,,]") == "[1, ]");
  CHECK(without_comments("[\"a\",\"b\" // c").starts_with("[\"a\",\"b\""));
  CHECK(without_comments("/* open").find_first_not_of(' ') == std::string::npos);
  CHECK(without_comments("\"open \\") == "\"open \\");
}

TEST_CASE("an entry is taken as it stands, with the variables that VS Code fills in") {
  const Folder at;
  ::setenv("HOTLENS_LAUNCH_TEST", "from here", 1);
  const auto made = at.entry(R"("program": "${workspaceFolder}/src/train.py", "cwd": "${workspaceFolder}/src/",
      "args": ["--data", "my data", "--seed=${env:HOTLENS_LAUNCH_TEST}", "~/x"], "console": "integratedTerminal",
      "env": {"A": "${workspaceFolderBasename}", "B": ""}, "python": "${workspaceFolder}/.venv/bin/python")");
  REQUIRE(made);
  CHECK((made->script == at.root / "src/train.py" && made->directory == at.root / "src" && made->of_vscode));
  CHECK(made->arguments == "--data 'my data' '--seed=from here' '~/x'");
  CHECK(made->environment == std::vector<std::pair<std::string, std::string>>{{"A", at.root.filename().string()}, {"B", ""}});
  CHECK(made->python == (at.root / ".venv/bin/python").string());
  CHECK((made->label() == "Train" && made->file == at.root / ".vscode/launch.json"));

  const auto current = at.entry(R"("program": "${file}", "args": "--out '${fileBasenameNoExtension} 1' ${relativeFile}")", "sub/fit.py");
  REQUIRE(current);
  CHECK((current->script == at.root / "sub/fit.py" && current->directory == at.root));
  CHECK(current->arguments == "--out 'fit 1' sub/fit.py");
  CHECK(at.entry(R"("program": "train.py", "linux": {"args": ["--here"]}, "args": ["--there"])")->arguments == "--here");
  CHECK(at.entry(R"("module": "pkg.train", "python": ["${command:python.interpreterPath}"])")->module == "pkg.train");
}

TEST_CASE("a module that starts a script is its launcher") {
  const Folder at;
  const auto made = at.entry(R"("module": "torch.distributed.run", "args": ["--nproc_per_node", "2", "train.py", "--lr", "1"])");
  REQUIRE(made);
  CHECK((made->module.empty() && made->script == at.root / "train.py"));
  CHECK((made->launcher == "python -m torch.distributed.run --nproc_per_node 2" && made->arguments == "--lr 1"));
  CHECK(at.entry(R"("module": "accelerate.commands.launch", "args": ["train.py"])")->launcher == "accelerate launch");
  CHECK(at.entry(R"("module": "torch.distributed.run", "args": ["-m", "pkg"])")->module == "torch.distributed.run");
}

TEST_CASE("what cannot be run that way says why") {
  const Folder at;
  CHECK(at.refusal(R"("type": "node", "program": "a.js")") == "its type is `node`");
  CHECK(at.refusal(R"("request": "attach")") == "its request is `attach`");
  CHECK(at.refusal(R"("program": "${input:script}")") == "it uses `${input:script}`");
  CHECK(at.refusal(R"("program": "a.py", "args": ["${command:pick}"])") == "it uses `${command:pick}`");
  CHECK(at.refusal(R"("program": "${file}")", "") == "it uses `${file}`");
  CHECK(at.refusal("") == "it has neither `program` nor `module`");
  CHECK(at.refusal(R"("program": "a.py", "module": "a")") == "it has neither `program` nor `module`");
  CHECK(at.refusal(R"("program": "a.py", "args": "a | b")").starts_with("in its `args`, "));
  CHECK(at.refusal(R"("program": "a.py", "args": [1])") == "its `args` are no list of texts");
  CHECK(at.refusal(R"("program": "a.py", "args": {"a": 5})") == "its `args` are no list of texts");
  CHECK(at.refusal(R"("program": "a.py", "args": 5)") == "its `args` are no list of texts");
  CHECK(at.refusal(R"("program": 5)") == "its `program` is no text");
  CHECK(at.refusal(R"("program": "a\u0000.py")") == "it holds a character that no argument can have");
  CHECK(at.refusal(R"("program": "a.py", "env": {"A": null})") == "its `env.A` is no text");
  CHECK(at.refusal(R"("program": "a.py", "env": {"A=B": "1"})") == "its `env` has a name that no variable can have");
  CHECK(at.refusal(R"("program": "a.py", "env": [])") == "its `env` is no object");
  CHECK(at.refusal(R"("program": "a.py", "envFile": "${workspaceFolder}/.env")") == "it has `envFile`");
  CHECK(at.refusal(R"("program": "a.py", "python": ["python", "-X", "dev"])") == "its `python` has arguments");
  CHECK(at.refusal(R"("program": "a.py", "python": [])") == "its `python` has arguments");
  CHECK(at.refusal(R"("program": "a.py", "pythonArgs": [])").empty());
  CHECK_FALSE(launched({.name = "x", .json = "5"}, at.root, {}));
}

TEST_CASE("entries are offered behind those of runs.json, and used only where somebody chose one") {
  const Folder at;
  const auto offers = [&](const std::string& script) { return offers_for(*read_folder_runs(at.root), at.root, at.root / script, ""); };
  at.write(".vscode/launch.json", R"({
    // as VS Code writes it
    "version": "0.2.0",
    "configurations": [
      {"name": "Current File", "type": "debugpy", "request": "launch", "program": "${file}"},
      {"name": "Tiny", "type": "python", "request": "launch", "program": "${workspaceFolder}/a.py", "args": ["--tiny"],},
      {"name": "Attach", "type": "debugpy", "request": "attach"},
      {"type": "node"},
    ],
  })");
  const Offers alone = offers("a.py");
  REQUIRE(alone.all.size() == 2);
  CHECK((alone.written == 0 && alone.used() == nullptr && !alone.undecided()));
  CHECK((alone.all[0].label() == "Current File" && alone.all[1].label() == "Tiny"));
  CHECK(alone.left_out == std::vector<std::string>{"Attach: its request is `attach`", "entry 4: its type is `node`"});
  CHECK(offers("b.py").all.size() == 1);
  CHECK(names_script(*read_folder_runs(at.root), at.root, at.root / "a.py"));
  CHECK_FALSE(names_script(*read_folder_runs(at.root), at.root, at.root / "b.py"));

  at.write(".hotlens/runs.json", R"({"runs": [{"script": "a.py", "name": "Tiny", "arguments": "--ours"}]})");
  const Offers both = offers("a.py");
  REQUIRE(both.all.size() == 2);
  CHECK((both.written == 1 && both.used()->arguments == "--ours" && both.all[1].label() == "Current File"));
  REQUIRE(remember_choice(at.root, at.root / "a.py", both.all[1]));
  CHECK(offers("a.py").used()->of_vscode);
  REQUIRE(forget_choice(at.root, at.root / "a.py", ""));
  CHECK(offers("a.py").used()->arguments == "--ours");
}

TEST_CASE("a launch.json that cannot be understood offers nothing and stops nothing") {
  const Folder at;
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string(R"({"configurations": 5})"),
                                  std::string(500'000, '['), R"({"configurations": [)" + std::string(2'000'000, ' ') + "]}"}) {
    at.write(".vscode/launch.json", text);
    INFO(text.substr(0, 40));
    const auto read = read_folder_runs(at.root);
    REQUIRE(read);
    CHECK((read->launch.entries.empty() && !read->launch.wrong.empty()));
    CHECK(offers_for(*read, at.root, at.root / "a.py", "").left_out.size() == 1);
  }
  at.write(".vscode/launch.json",
           R"({"configurations": [5, {"name": "deep", "args": )" + std::string(10'000, '[') + std::string(10'000, ']') + "}]}");
  CHECK(read_folder_runs(at.root)->launch.entries.size() == 2);
}
