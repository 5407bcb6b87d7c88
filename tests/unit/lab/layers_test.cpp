#include <nlohmann/json.hpp>

#include "annotator/lab/layers/changes.h"
#include "annotator/lab/layers/match/forward.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::layers;
using nlohmann::json;

namespace {

constexpr const char* kImports = "import torch\nfrom torch import nn\n";

Sources sources(const std::string& text, std::vector<std::string> argv = {}) {
  Sources made{.files = {}, .script = "/p/train.py", .argv = std::move(argv)};
  made.files["/p/train.py"] = std::make_shared<source::Code>("/p/train.py", kImports + text);
  return made;
}

// The arguments of every layer of the last model that the script makes: "0: Linear(3, 4)".
std::vector<std::string> made(const std::string& text, std::vector<std::string> argv = {}) {
  const Sources all = sources(text, std::move(argv));
  Heap heap;
  Interpreter followed(all, heap);
  followed.run();
  std::vector<std::string> layers;
  for (const Ref& module : followed.modules()) {
    if (module->attributes.empty() && module->layer != "Module") {
      std::string given;
      for (const Ref& one : module->given.positional) given += (given.empty() ? "" : ", ") + written(*one);
      layers.push_back(module->layer + "(" + given + ")");
    }
  }
  return layers;
}

const std::string kNet = R"(
class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.second = nn.Linear(width, 4)
    def forward(self, x):
        return self.second(self.first(x))
net = Net()
)";

json recorded() {
  return {{{"path", ""}, {"class", "Net"}, {"attributes", json::object()}},
          {{"path", "first"}, {"class", "Linear"}, {"attributes", {{"in_features", 8}, {"out_features", 16}}}},
          {{"path", "second"}, {"class", "Linear"}, {"attributes", {{"in_features", 16}, {"out_features", 4}}}}};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("constructors are followed with their numbers") {
  using Layers = std::vector<std::string>;
  CHECK(made("w = 4\nm = nn.Sequential(nn.Linear(w, 2 * w), nn.ReLU())") == Layers{"Linear(4, 8)", "ReLU()"});
  CHECK(made("m = nn.Sequential(*[nn.Linear(i, o) for i, o in zip([1, 2], [2, 3])])") == Layers{"Linear(1, 2)", "Linear(2, 3)"});
  CHECK(made("m = nn.ModuleList()\nfor at in range(2):\n    m.append(nn.Linear(at + 1, 2 ** at))") ==
        Layers{"Linear(1, 1)", "Linear(2, 2)"});
  CHECK(made("from dataclasses import dataclass\n@dataclass\nclass C:\n    w: int = 3\nm = nn.Linear(C().w, C(w=5).w)") ==
        Layers{"Linear(3, 5)"});
  CHECK(made("def f(a, *rest, b=2, **more):\n    return nn.Linear(a, b + len(rest))\nm = f(1, 7, 7, b=3)") == Layers{"Linear(1, 5)"});
  CHECK(made("m = nn.Sequential() or nn.Linear(1, 2) or nn.Linear(3, 4)") == Layers{"Sequential()", "Linear(1, 2)"});
  CHECK(made("c = {'a': [1, 2]}\nm = nn.Linear(c['a'][-1], 6 // 4 if c['a'] else 9)") == Layers{"Linear(2, 1)"});
}

TEST_CASE("arguments of the command line are those of the run") {
  const std::string text =
      "import argparse\np = argparse.ArgumentParser()\np.add_argument('n', type=int)\np.add_argument('--hidden-size', type=int, "
      "default=7)\n"
      "a = p.parse_args()\nm = nn.Linear(a.n, a.hidden_size)";
  CHECK(made(text, {"3"}) == std::vector<std::string>{"Linear(3, 7)"});
  CHECK(made(text, {"--hidden-size", "9", "3"}) == std::vector<std::string>{"Linear(3, 9)"});
  CHECK(made("import sys\nm = {'a': nn.Linear}[sys.argv[1]](int(sys.argv[2]), 1)", {"a", "5"}) == std::vector<std::string>{"Linear(5, 1)"});
  CHECK(made(text, {"3", "--hidden-size=9"}) == std::vector<std::string>{"Linear(3, 9)"});
}

TEST_CASE("what only running tells stays unknown, and endless loops end") {
  CHECK(made("import os\nw = int(os.environ['W'])\nm = nn.Linear(w, 2 * w)").front().find("os.environ") != std::string::npos);
  CHECK(made("if torch.cuda.is_available():\n    w = 4\nm = nn.Linear(w, 1)").front() != "Linear(4, 1)");
  CHECK(made("while True:\n    pass\nm = nn.Linear(1, 1)").empty());
  CHECK(made("def f(n):\n    return f(n + 1)\nm = nn.Linear(f(0), 1)").size() <= 1);
  CHECK(made("m = nn.Linear((1, ").size() <= 1);
  CHECK(is_too_deep(source::Code("/p/deep.py", "m = " + std::string(5'000, '(') + std::string(5'000, ')'))));
  CHECK_FALSE(is_too_deep(source::Code("/p/flat.py", kNet)));
}

TEST_CASE("what would outgrow any memory, or holds itself, ends as unknown") {
  using Layers = std::vector<std::string>;
  const Layers after{"Linear(1, 2)"};
  for (const std::string start : {"x = [0]", "x = 'a'", "x = (0, 1)"}) {
    INFO(start);
    CHECK(made("m = nn.Linear(1, 2)\n" + start + "\nfor at in range(100):\n    x = x + x\nn = nn.Linear(1, len(x))").front() ==
          after.front());
    CHECK(made("m = nn.Linear(1, 2)\n" + start + "\nx = x * 10 ** 15").front() == after.front());
  }
  CHECK(made("x = []\nx.append(x)\nm = nn.Linear(1, 2)\nn = nn.Sequential(x)").front() == after.front());
  CHECK(made("x = 1\nfor at in range(20000):\n    x = [x]\nm = nn.Linear(1, 2)\nn = f'{x}'") == after);
  CHECK(made("m = nn.Linear(1, 2)\nn = nn.Linear(int(1e300), 2 ** 400)").front() == after.front());
  CHECK(made("n = nn.Linear(10 ** 30 * 7, -9223372036854775808 // -1)\nm = nn.Linear(1, 2)").back() == after.front());
}

TEST_CASE("an edit is a change of the layers that it reaches") {
  const auto changes = compare(sources(kNet), sources(replaced(kNet, "width=16", "width=32")), recorded());
  REQUIRE(changes);
  REQUIRE(changes->changes.size() == 2);
  CHECK(changes->changes[0].what == "Linear(8, 16 → 32)");
  CHECK(changes->changes[0].at.line == 6);
  CHECK(changes->changes[1].what == "Linear(16 → 32, 4)");
  CHECK(compare(sources(kNet), sources(kNet + "# more\n"), recorded())->changes.empty());
}

TEST_CASE("an unknown number is the recorded one as long as its words are the same") {
  const std::string unknown = replaced(kNet, "net = Net()", "import os\nnet = Net(int(os.environ['W']))");
  const auto changes = compare(sources(unknown), sources(replaced(unknown, "nn.Linear(width, 4)", "nn.Linear(width, 5)")), recorded());
  REQUIRE(changes);
  REQUIRE(changes->changes.size() == 1);
  CHECK(changes->changes[0].what == "Linear(16, 4 → 5)");
  CHECK_FALSE(compare(sources(unknown), sources(replaced(unknown, "['W']", "['V']")), recorded()));
}

TEST_CASE("what is not the recorded model, or more than its layers, is refused") {
  const auto refused = [](const std::string& executed, const std::string& edited) {
    const auto changes = compare(sources(executed), sources(edited), recorded());
    return changes ? std::string() : changes.error().reason;
  };
  CHECK(refused(replaced(kNet, "Linear(8,", "Linear(9,"), kNet).find("cannot be followed") != std::string::npos);
  CHECK(refused(kNet, replaced(kNet, "self.first(x)", "self.first(-x)")).find("Net.forward was edited") != std::string::npos);
  CHECK(refused(kNet, kNet + "torch.set_num_threads(1)\n").find("something else") != std::string::npos);
  CHECK(refused(kNet, "").find("another number of models") != std::string::npos);
}

namespace {

// What of the calls in `forward` came (+) and went (-), after which call or before which (<).
std::string called(const std::string& was, const std::string& is) {
  const auto code = [](const std::string& body) {
    return source::Code("/p/net.py", "def forward(self, x, y=None):\n" + body + "\nfrom torch.nn import functional as F");
  };
  const source::Code before = code(was), after = code(is);
  const Holds not_known = [](Node /*condition*/) { return std::optional<bool>(); };
  const auto gaps =
      forward_gaps(before.root().children().front(), after.root().children().front(), Reading{not_known, {}}, Reading{not_known, {}});
  if (!gaps) {
    const bool missing = gaps.error().reason.ends_with("is not imported");
    return "refused: line " + std::to_string(gaps.error().at.line) + (missing ? ", " + gaps.error().reason : "");
  }
  const auto name = [](const Step& step) { return step.function.empty() ? step.path : step.function; };
  std::string all;
  for (const Gap& gap : *gaps) {
    for (const Step& step : gap.removed) all += "-" + name(step) + " ";
    for (const Step& step : gap.inserted) all += "+" + name(step) + " ";
    if (!gap.before.empty()) all += "after " + name(gap.before.front()) + " ";
    if (gap.before.empty() && !gap.after.empty()) all += "before " + name(gap.after.front()) + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("plain calls in an edited forward are compared one by one") {
  CHECK(called("    return self.b(self.a(x))", "    return self.b(self.a( x ))").empty());
  CHECK(called("    return self.b(self.a(x))", "    x = self.a(x)  # first\n    return self.b(x)").empty());
  CHECK(called("    return self.b(self.a(x))", "    return self.b(self.c(self.a(x)))") == "+c after a ");
  CHECK(called("    return self.b(self.a(x))", "    return self.b(self.a(self.c(x)))") == "+c before a ");
  CHECK(called("    return self.b(F.relu(self.a(x)))", "    return self.b(F.gelu(self.a(x)))") == "-relu() +gelu() after a ");
  CHECK(called("    return x + self.b(self.a(x))", "    return x + self.c(self.b(self.a(x)))") == "+c after b ");
  CHECK(called("    x = x + y\n    return x + self.b(x)", "    x = x + y\n    x = self.c(x)\n    return x + self.b(x)") == "+c before b ");
  CHECK(called("    x = x + y\n    x = self.c(x)\n    return x + self.b(x)", "    x = x + y\n    return x + self.b(x)") == "-c ");
  CHECK(called("    return self.a(x.flatten(1))", "    return self.a(x.flatten(2))") == "-flatten(1) +flatten(2) before a ");
}

TEST_CASE("a loop over layers is compared as a method is") {
  const auto loop = [](const std::string& header, const std::string& body) {
    return "    for " + header + ":\n        " + body + "\n    return self.b(x)";
  };
  CHECK(called(loop("l in self.ls", "x = l(x)"), loop("l in self.ls", "x = l(x)\n        x = F.relu(x)")) == "+relu() after ls.* ");
  CHECK(called(loop("i, l in enumerate(self.ls)", "x = F.relu(l(x))"), loop("i, l in enumerate(self.ls)", "x = l(x)")) ==
        "-relu() after ls.* ");
  // Not each entry of a list, once: a part of it, another name, one more call, none.
  for (const char* header : {"l in self.ls[1:]", "l in ls", "k in self.ls"}) {
    INFO(header);
    CHECK(called(loop(header, "x = l(x)"), loop(header, "x = l(x)\n        x = F.relu(x)")) == "+relu() ");
  }
  CHECK(called(loop("l in self.ls", "x = l(x)"), loop("l in self.ls", "x = l(x)\n        x = l(x)")) == "refused: line 2");
  CHECK(called(loop("l in self.ls", "x = l(x)"), loop("l in self.ls", "pass")) == "refused: line 0");
  CHECK(called(loop("l in self.ls", "x = l(x)"), loop("l in self.ls[1:]", "x = l(x)")) == "refused: line 1");
}

TEST_CASE("an edit of forward that is no plain call is refused at its statement") {
  CHECK(called("    return self.a(x)", "    return self.a(x) + x") == "refused: line 1");
  CHECK(called("    y = self.a(x)\n    return y * 2", "    y = self.a(x)\n    return y * 3") == "refused: line 2");
  CHECK(called("    return self.a(x)", "    if y is None:\n        return self.a(x)") == "refused: line 1");
  CHECK(called("    x = x + y\n    z = x\n    return z + self.b(x)",
               "    x = x + y\n    z = x\n    x = self.c(x)\n    return z + self.b(x)") == "refused: line 3");
  CHECK(called("    return self.a(x, y)", "    return self.a(y, x)") == "refused: line 1");
  CHECK(called("    return self.b(self.a(x))", "    return self.b(torch.relu(self.a(x)))") == "refused: line 1, `torch` is not imported");
}
