#include <string>
#include <vector>

#include "tests/unit/catch.h"
#include "tests/unit/source/marked_text.h"

namespace {

using namespace hotlens::source;
using namespace hotlens::source::test;

const std::string kModel = R"(import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        $0self.conv1 = $1nn.Conv2d(width, width, 3)
        $2self.conv2 = nn.Conv2d(width, width, 3)
        self.layers = nn.ModuleList([$3nn.Linear(4, 4) for _ in range(6)])

    def forward(self, x):
        y = $4self.conv1($5self.act(x))
        y = $6self.act(y)
        for layer in self.layers:
            y = $7layer(y)
        return y + x


for batch in $8loader():
    $9loss.backward()
)";

struct Fixture {
  MarkedText text = marked(kModel);
  Tree executed = Tree::parse(text.text);
  std::vector<Fact> facts{
      fact_at(text, 0, "self.conv1 = nn.Conv2d(width, width, 3)", Role::definition, "Block.__init__"),
      fact_at(text, 1, "nn.Conv2d(width, width, 3)", Role::constructor, "Block.__init__"),
      fact_at(text, 2, "self.conv2", Role::definition, "Block.__init__"),
      fact_at(text, 3, "nn.Linear(4, 4)", Role::constructor, "Block.__init__.<locals>.<listcomp>"),
      fact_at(text, 4, "self.conv1(self.act(x))", Role::call, "Block.forward"),
      fact_at(text, 5, "self.act(x)", Role::call, "Block.forward"),
      fact_at(text, 6, "self.act(y)", Role::call, "Block.forward"),
      fact_at(text, 7, "layer(y)", Role::call, "Block.forward"),
      fact_at(text, 8, "loader()", Role::stage, "<module>"),
      fact_at(text, 9, "loss.backward()", Role::stage, "<module>"),
  };
  Anchors anchors = Anchors::bind(executed, facts);

  std::vector<Anchors::Placement> place(const std::string& now) const { return anchors.place(Tree::parse(now)); }
  bool confirms(const Anchors::Placement& placed) const { return anchors.confirm(std::span(&placed, 1)).front(); }
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

std::vector<std::string> states(const std::vector<Anchors::Placement>& placements) {
  std::vector<std::string> names;
  for (const auto& placed : placements) names.emplace_back(name(placed.state));
  return names;
}

// Where it was seen.
bool is_confirmed(const Tree& executed, const Fact& fact) {
  const Anchors anchors = Anchors::bind(executed, std::span(&fact, 1));
  return anchors.confirm(anchors.place(executed)).front();
}

std::vector<std::string> all(const std::string& state) {
  return std::vector<std::string>(10, state);
}

}  // namespace

TEST_CASE("Facts of an unchanged text are fresh, confirmed and at their own range") {
  Fixture model;
  auto placements = model.place(model.text.text);
  REQUIRE(placements.size() == model.facts.size());
  for (const auto& placed : placements) {
    CAPTURE(placed.fact);
    CHECK(placed.state == State::fresh);
    CHECK(model.confirms(placed));
    CHECK(placed.range == model.facts[placed.fact].range);
  }
  CHECK(slice(model.text.text, placements[8].statement) == "for batch in loader():");
  CHECK(slice(model.text.text, placements[4].statement) == "y = self.conv1(self.act(x))");
}

TEST_CASE("Lines above move facts; taking them away makes them fresh again") {
  Fixture model;
  CHECK(states(model.place("\n\n# a comment\n" + model.text.text)) == all("moved"));
  CHECK(states(model.place("import os\n" + model.text.text)) == all("moved"));
  CHECK(states(model.place(model.text.text)) == all("fresh"));
}

TEST_CASE("A changed statement is edited at once and stays in its place; the others keep theirs") {
  Fixture model;
  std::string now = replaced(model.text.text, "self.conv1 = nn.Conv2d(width, width, 3)", "self.conv1 = nn.Conv2d(width, width, 5)");
  auto placements = model.place(now);
  std::vector<std::string> expected = all("fresh");
  expected[0] = expected[1] = "edited";
  CHECK(states(placements) == expected);
  CHECK(slice(now, placements[0].range) == "self.conv1 = nn.Conv2d(width, width, 5)");
  CHECK(slice(now, placements[1].range) == "nn.Conv2d(width, width, 5)");
}

TEST_CASE("A deleted statement is an orphan and undo brings it back") {
  Fixture model;
  auto placements = model.place(replaced(model.text.text, "        y = self.act(y)\n", ""));
  CHECK(placements[6].state == State::orphan);
  CHECK(placements[5].state == State::fresh);
  CHECK(placements[7].state == State::moved);
  CHECK(states(model.place(model.text.text)) == all("fresh"));
}

TEST_CASE("Formatting does not make a statement stale") {
  Fixture model;
  std::string now = model.text.text;
  now = replaced(now, "self.conv1 = nn.Conv2d(width, width, 3)",
                 "self.conv1 = nn.Conv2d(\n            width,\n            width,  # as wide\n            3,\n        )");
  now = replaced(now, "y = self.conv1(self.act(x))", "y = (self.conv1( self.act( x ) ))   # first");
  now = replaced(now, "for batch in loader():", "for batch in (loader()):");
  auto placements = model.place(now);
  for (const auto& placed : placements) {
    CAPTURE(placed.fact);
    CHECK((placed.state == State::fresh || placed.state == State::moved));
    CHECK(model.confirms(placed));
  }
  CHECK(slice(now, placements[1].range).starts_with("nn.Conv2d("));
  CHECK(slice(now, placements[1].range).ends_with(",\n        )"));
  CHECK(slice(now, placements[5].range) == "self.act( x )");
  CHECK(slice(now, placements[8].range) == "loader()");
}

TEST_CASE("An expression keeps its parentheses together when a formatter adds or removes some") {
  MarkedText before = marked("y = $0f(a)(b) + $1g(c, d if e else h)\n");
  std::vector<Fact> facts{fact_at(before, 0, "f(a)(b) + g(c, d if e else h)", Role::line, "<module>"),
                          fact_at(before, 1, "g(c, d if e else h)", Role::call, "<module>")};
  Anchors anchors = Anchors::bind(Tree::parse(before.text), facts);
  std::string now = "y = (\n    f(a)(b)\n    + (g(c, (d if e else h)))\n)\n";
  auto placed = anchors.place(Tree::parse(now));
  CHECK(placed[0].state == State::fresh);
  CHECK(slice(now, placed[0].range) == "f(a)(b)\n    + (g(c, (d if e else h)))");
  CHECK(placed[1].state == State::fresh);
  CHECK(anchors.confirm(placed)[1]);
  CHECK(slice(now, placed[1].range) == "g(c, (d if e else h))");
}

TEST_CASE("Numbers are the same with and without the zero that black adds") {
  auto state = [](const std::string& before, const std::string& after) {
    Fact fact{.role = Role::line, .range = {{0, 0}, {0, 0}}, .has_columns = false, .function = ""};
    return Anchors::bind(Tree::parse(before), std::vector{fact}).place(Tree::parse(after))[0].state;
  };
  CHECK(state("x = f(0., .5, 1.E3, 2.J)\n", "x = f(0.0, 0.5, 1.0e3, 2.0j)\n") == State::fresh);
  CHECK(state("x = f(0xAB)\n", "x = f(0xab)\n") == State::fresh);
  CHECK(state("x = f(1.)\n", "x = f(1)\n") == State::edited);
  CHECK(state("x = f(1.5)\n", "x = f(1.05)\n") == State::edited);
}

TEST_CASE("Another context is told from another place") {
  Fixture model;
  SECTION("wrapped in an if") {
    std::string now = replaced(model.text.text, "        y = self.act(y)\n", "        if self.training:\n            y = self.act(y)\n");
    auto placements = model.place(now);
    CHECK(placements[6].state == State::context);
    CHECK(slice(now, placements[6].range) == "self.act(y)");
    CHECK(placements[7].state == State::moved);
  }
  SECTION("the loop around it runs over something else") {
    std::string now = replaced(model.text.text, "in self.layers:", "in self.layers[1:]:");
    CHECK(model.place(now)[7].state == State::context);
  }
  SECTION("the class has another name") {
    auto placements = model.place(replaced(model.text.text, "class Block", "class Bottleneck"));
    for (std::size_t i = 0; i < 8; ++i) CHECK(placements[i].state == State::context);
    CHECK(placements[9].state == State::fresh);
  }
  SECTION("the function has another name") {
    auto placements = model.place(replaced(model.text.text, "def forward", "def _forward_impl"));
    CHECK(placements[0].state == State::fresh);
    CHECK(placements[4].state == State::context);
  }
  SECTION("the function moved in its class") {
    std::string body =
        "    def forward(self, x):\n        y = self.conv1(self.act(x))\n        y = self.act(y)\n        for layer in self.layers:\n"
        "            y = layer(y)\n        return y + x\n";
    std::string now = replaced(model.text.text, body, "");
    now = replaced(now, "    def __init__", body + "\n    def __init__");
    for (const auto& placed : model.place(now)) {
      CAPTURE(placed.fact);
      CHECK((placed.state == State::moved || placed.state == State::fresh));
    }
  }
}

TEST_CASE("An unclosed bracket takes only its own statement") {
  Fixture model;
  for (std::string typed :
       {"        z = foo(\n", "        z = foo(bar[\n", "        self.z = nn.Conv2d(3,\n", "        z = {\n", "        z = '''\n"}) {
    CAPTURE(typed);
    auto placements = model.place(replaced(model.text.text, "        y = self.act(y)\n", typed + "        y = self.act(y)\n"));
    std::vector<std::string> expected = all("moved");
    for (std::size_t i = 0; i < 6; ++i) expected[i] = "fresh";
    CHECK(states(placements) == expected);
  }
}

TEST_CASE("Repeated statements are told apart by their neighbours, or not claimed") {
  MarkedText text = marked("def f(x):\n    a = g(x)\n    x = $0relu(x)\n    b = g(x)\n    x = $1relu(x)\n    return x\n");
  std::vector<Fact> facts{fact_at(text, 0, "relu(x)", Role::call, "f"), fact_at(text, 1, "relu(x)", Role::call, "f")};
  Anchors anchors = Anchors::bind(Tree::parse(text.text), facts);
  SECTION("a new line between them") {
    auto placements = anchors.place(Tree::parse(replaced(text.text, "    b = g", "    c = 1\n    b = g")));
    CHECK(placements[0].state == State::fresh);
    CHECK(placements[1].state == State::moved);
    CHECK(placements[1].range.begin.line == 5);
  }
  SECTION("the first is deleted: the other one is found, but not for certain") {
    auto placements = anchors.place(Tree::parse("def f(x):\n    a = g(x)\n    b = g(x)\n    x = relu(x)\n    return x\n"));
    CHECK(placements[0].state == State::orphan);
    CHECK(placements[1].state == State::context);
    CHECK(placements[1].range.begin.line == 3);
  }
  SECTION("a copy is added below: nothing is claimed") {
    auto placements = anchors.place(Tree::parse(replaced(text.text, "    return x", "    x = relu(x)\n    return x")));
    for (const auto& placed : placements) CHECK(placed.state == State::context);
  }
}

TEST_CASE("A method that may be the one of another class is not claimed") {
  auto method = [](const std::string& name) { return "    def " + name + "(self, value):\n        self.head.weight = value\n"; };
  std::string before = "class A:\n" + method("put") + "\n\nclass B:\n" + method("put") + "    other = 1\n";
  Tree executed = Tree::parse(before);
  Fact fact{.role = Role::line, .range = {{2, 8}, {2, 32}}, .has_columns = true, .function = "A.put"};
  Anchors anchors = Anchors::bind(executed, std::vector{fact});
  auto state = [&](const std::string& now) { return anchors.place(Tree::parse(now))[0].state; };
  // B's method moved into A, and A's renamed: nobody can tell.
  CHECK(state("class A:\n" + method("put") + method("put_renamed") + "\n\nclass B:\n    other = 1\n") == State::context);
  // A copy under a new name takes nothing away.
  CHECK(state("class A:\n" + method("put") + method("put_copy") + "\n\nclass B:\n" + method("put") + "    other = 1\n") == State::fresh);
  CHECK(state("class A:\n" + method("put") + "\n\nclass B:\n    other = 1\n") == State::fresh);
}

TEST_CASE("A fact that the syntax does not bear out is not confirmed") {
  MarkedText text = marked("class A:\n    def f(self):\n        $0x = $1y\n\n    def g(self):\n        $2h(1)\n");
  struct Case {
    Fact fact;
    bool confirmed;
  };
  std::vector<Case> cases{
      {fact_at(text, 1, "y", Role::call, "A.f"), false},      {fact_at(text, 0, "x = y", Role::definition, "A.f"), true},
      {fact_at(text, 0, "x", Role::definition, "A.f"), true}, {fact_at(text, 2, "h(1)", Role::call, "A.g"), true},
      {fact_at(text, 2, "h(1)", Role::call, "A.f"), false},   {fact_at(text, 2, "h(1)", Role::call, "A.g.<locals>.<lambda>"), false},
      {fact_at(text, 2, "h(1", Role::call, "A.g"), false},    {line_fact(text, 2, Role::call, "A.g"), true},
      {line_fact(text, 0, Role::call, "A.f"), false},         {line_fact(text, 0, Role::definition, "A.f"), true},
      {line_fact(text, 0, Role::line, "A.f"), true},          {line_fact(text, 0, Role::line, "A.g"), false},
      {line_fact(text, 0, Role::class_line, "A"), false},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    Tree tree = Tree::parse(text.text);
    CHECK(is_confirmed(tree, cases[i].fact) == cases[i].confirmed);
  }
  MarkedText lazy = marked("def f(self):\n    $0q, k = map(self.norm, x)\n    $1n = 1\n");
  const Tree lazy_tree = Tree::parse(lazy.text);
  CHECK(is_confirmed(lazy_tree, fact_at(lazy, 0, "q, k", Role::call, "f")));
  CHECK_FALSE(is_confirmed(lazy_tree, fact_at(lazy, 0, "q, k", Role::constructor, "f")));
  CHECK_FALSE(is_confirmed(lazy_tree, fact_at(lazy, 1, "n", Role::call, "f")));
  MarkedText table = marked("def f(self):\n    self.act = nn.Sequential($0ACT[name])\n");
  const Tree table_tree = Tree::parse(table.text);
  CHECK(is_confirmed(table_tree, fact_at(table, 0, "ACT[name]", Role::definition, "f")));
  CHECK(is_confirmed(table_tree, fact_at(table, 0, "ACT[name]", Role::constructor, "f")));
  CHECK_FALSE(is_confirmed(table_tree, fact_at(table, 0, "ACT[name]", Role::call, "f")));
  MarkedText taken = marked("def f(self):\n    self.all = nn.ModuleList($0[*made(), last])\n    self.some = $1[first, last]\n");
  const Tree taken_tree = Tree::parse(taken.text);
  CHECK(is_confirmed(taken_tree, fact_at(taken, 0, "[*made(), last]", Role::definition, "f")));
  CHECK_FALSE(is_confirmed(taken_tree, fact_at(taken, 1, "[first, last]", Role::definition, "f")));
  Fact nowhere{.role = Role::call, .range = {{99, 0}, {99, 4}}, .has_columns = true, .function = "A.f"};
  Tree tree = Tree::parse(text.text);
  CHECK(Anchors::bind(tree, std::span(&nowhere, 1)).place(tree)[0].state == State::orphan);
}

TEST_CASE("Line ends, marks and characters of every kind") {
  struct Case {
    std::string description, text;
  };
  std::vector<Case> cases{
      {"CRLF", "class A:\r\n    def f(self, x):\r\n        y = $0self.conv(x)\r\n        return y\r\n"},
      {"CR", "class A:\r    def f(self, x):\r        y = $0self.conv(x)\r        return y\r"},
      {"tabs", "class A:\n\tdef f(self, x):\n\t\ty = $0self.conv(x)\n\t\treturn y\n"},
      {"non-ASCII before it on the line", "class A:\n    def f(self, x):\n        é = '漢😀'; y = $0self.conv(x)\n        return y\n"},
      {"one line", "class A:\n    def f(self, x): y = $0self.conv(x); return y\n"},
      {"no final newline", "class A:\n    def f(self, x):\n        return $0self.conv(x)"},
      {"a decorator", "class A:\n    @torch.no_grad()\n    def f(self, x):\n        y = $0self.conv(x)\n"},
      {"a joined line", "class A:\n    def f(self, x):\n        y = \\\n            $0self.conv(x)\n"},
      {"a lambda and an f-string", "class A:\n    def f(self, x):\n        y = f\"{g(lambda: 0):>{w}}\" + $0self.conv(x)\n"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.description);
    MarkedText text = marked(each.text);
    Fact fact = fact_at(text, 0, "self.conv(x)", Role::call, "A.f");
    Tree executed = Tree::parse(text.text);
    Anchors anchors = Anchors::bind(executed, std::span(&fact, 1));
    auto same = anchors.place(executed)[0];
    CHECK(same.state == State::fresh);
    CHECK(is_confirmed(executed, fact));
    CHECK(same.range == fact.range);
    std::string below = "import os" +
                        std::string(each.text.find('\r') == std::string::npos   ? "\n"
                                    : each.text.find('\n') == std::string::npos ? "\r"
                                                                                : "\r\n") +
                        text.text;
    auto moved = anchors.place(Tree::parse(below))[0];
    CHECK(moved.state == State::moved);
    CHECK(moved.range.begin.line == fact.range.begin.line + 1);
    CHECK(slice(below, moved.range) == "self.conv(x)");
  }
}

TEST_CASE("Columns of the first line do not count a byte order mark, as in Python") {
  MarkedText text = marked("$0f(1)\n");
  Fact fact = fact_at(text, 0, "f(1)", Role::call, "<module>");
  Tree tree = Tree::parse("\xEF\xBB\xBF" + text.text);
  auto placed = Anchors::bind(tree, std::span(&fact, 1)).place(tree)[0];
  CHECK(is_confirmed(tree, fact));
  CHECK(placed.state == State::fresh);
}

TEST_CASE("The hint belongs to the last line of a statement, or of a header") {
  MarkedText text = marked(
      "class $0A(\n    Base,\n):\n    def f(self):\n        x = $1self.g(\n            1,\n        )\n        with $2ctx():\n            "
      "pass\n");
  std::vector<Fact> facts{line_fact(text, 0, Role::class_line, "A"),
                          fact_at(text, 1, "self.g(\n            1,\n        )", Role::call, "A.f"),
                          fact_at(text, 2, "ctx()", Role::stage, "A.f")};
  Tree tree = Tree::parse(text.text);
  auto placements = Anchors::bind(tree, facts).place(tree);
  CHECK(placements[0].statement.end.line == 2);
  CHECK(placements[1].statement.end.line == 6);
  CHECK(placements[2].statement.end.line == 7);
  CHECK(slice(text.text, placements[2].statement) == "with ctx():");
}

TEST_CASE("Empty and hostile texts have no anchors and do no harm") {
  for (std::string text :
       {std::string(), std::string("\n\n"), std::string("# only\n"), std::string("(((((\n)))"), std::string("\0\0x\0", 4),
        std::string("'''"), std::string("\\"), std::string("@"), std::string("def"), std::string("\xff\xfe\x80")}) {
    Tree tree = Tree::parse(text);
    Fact fact{.role = Role::call, .range = {{0, 0}, {0, 3}}, .has_columns = true, .function = "f"};
    CHECK_FALSE(is_confirmed(tree, fact));
    Fixture model;
    CHECK(states(model.place(text)) == all("orphan"));
  }
}
