#include <random>
#include <string>
#include <vector>

#include "annotator/source/outline/tree_data.h"
#include "tests/unit/catch.h"
#include "tests/unit/source/real_files.h"

using namespace hotlens::source;

namespace {

std::vector<std::string> statements(const std::string& text) {
  Outline outline = outline_of(text);
  std::vector<std::string> found;
  for (const Statement& s : outline.statements) {
    std::string depth;
    for (std::uint32_t p = s.parent; p != kNoStatement; p = outline.statements[p].parent) depth += '>';
    found.push_back(depth + text.substr(s.begin, s.end - s.begin));
  }
  return found;
}

using Lines = std::vector<std::string>;

bool same(const Outline& a, const Outline& b) {
  if (a.lines != b.lines || a.statements.size() != b.statements.size()) return false;
  for (std::size_t i = 0; i < a.statements.size(); ++i) {
    const Statement &x = a.statements[i], &y = b.statements[i];
    bool equal = x.deep == y.deep && x.begin == y.begin && x.head == y.head && x.end == y.end && x.parent == y.parent &&
                 x.below == y.below && x.around == y.around && x.key == y.key && x.looked_to == y.looked_to;
    if (!equal) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("Logical lines become statements inside their headers") {
  CHECK(statements("a = 1; b = 2\nif a: c()\nelse:\n  d()\n") == Lines{"a = 1", "b = 2", "if a:", ">c()", "else:", ">d()"});
  CHECK(statements("@x\n@y(1)\nclass A(B):\n\tz = 1\n\n\tdef f(self): pass\nq\n") ==
        Lines{"@x\n@y(1)\nclass A(B):", ">z = 1", ">def f(self):", ">>pass", "q"});
  CHECK(statements("if lambda: x: y\nwhile a[1:2]: z\n") == Lines{"if lambda: x:", ">y", "while a[1:2]:", ">z"});
  CHECK(statements("match x:\n  case [1, 2]:\n    y\nmatch = 1\n") == Lines{"match x:", ">case [1, 2]:", ">>y", "match = 1"});
  CHECK(statements("x = '''\nclass A:\n'''\ny\n") == Lines{"x = '''\nclass A:\n'''", "y"});
  CHECK(statements("async def f():\n    async with a as b:\n        c\n") == Lines{"async def f():", ">async with a as b:", ">>c"});
}

TEST_CASE("What stays open ends where the next statement begins") {
  CHECK(statements("def f():\n    x = g(1,\n    y = 2\n    return y\n") == Lines{"def f():", ">x = g(1,", ">y = 2", ">return y"});
  CHECK(statements("if f(x:\n    y = 1\nz = 2\n") == Lines{"if f(x:", ">y = 1", "z = 2"});
  CHECK(statements("x = [\n    1,\n    2,\nclass A:\n    b\n") == Lines{"x = [\n    1,\n    2,", "class A:", ">b"});
  CHECK(statements("x = 'abc\ny = 2\n") == Lines{"x = 'abc", "y = 2"});
  CHECK(statements("x = \"\"\"abc\ny = 2\nz\n") == Lines{"x = \"\"\"abc", "y = 2", "z"});
  std::string docstring = "class A:\n  def f(self):\n    \"\"\"\n    x = 1\n\n  def g(self):\n    \"\"\"Says it.\"\"\"\n    y\n";
  CHECK(statements(docstring) ==
        Lines{"class A:", ">def f(self):", ">>\"\"\"", ">>x = 1", ">def g(self):", ">>\"\"\"Says it.\"\"\"", ">>y"});
  CHECK(statements("x = '''\ny\nz = '''a b'''\nw\n") == Lines{"x = '''", "y", "z = '''a b'''", "w"});
  CHECK(statements("x = 1)\ny = 2\n") == Lines{"x = 1)", "y = 2"});
}

TEST_CASE("An outline after edits equals the outline of the text") {
  auto files = hotlens::source::test::real_files();
  auto seed = hotlens::source::test::seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces{
      "(",    ")", "\n", "'",    "\"\"\"", "x", ":", "    ", "\n    y = f(x)\n", "@a\n", "def g():\n", ";",
      "\\\n", "#", "\r", "\r\n", "[1,\n",  "",  "",  ""};
  auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (const auto& file : files) {
    std::string text = file.text.substr(0, 6000);
    Tree tree = Tree::parse(text);
    for (int step = 0; step < 300; ++step) {
      auto start = below(text.size() + 1), size = std::min(text.size() - start, below(4) == 0 ? below(200) : below(3));
      const std::string& piece = pieces[below(pieces.size())];
      text.replace(start, size, piece);
      Edit edit{.start_byte = static_cast<std::uint32_t>(start),
                .old_end_byte = static_cast<std::uint32_t>(start + size),
                .new_end_byte = static_cast<std::uint32_t>(start + piece.size())};
      tree = tree.edited(edit, text);
      INFO(file.path << " step " << step);
      REQUIRE(same(tree.data().outline, outline_of(text)));
      REQUIRE(tree.text() == text);
    }
  }
}

TEST_CASE("A string in a field of an f-string may end far behind what is read without it") {
  const std::string before = "x = f\"{seen\"\"\")\ny = 1\nz = (2, 3)\nw\n";
  std::string text = before;
  const auto at = static_cast<std::uint32_t>(text.find("2"));
  text.replace(at, 1, "\"\"\"}\"");
  const Tree tree = Tree::parse(before).edited({.start_byte = at, .old_end_byte = at + 1, .new_end_byte = at + 5}, text);
  CHECK(same(tree.data().outline, outline_of(text)));
  CHECK(statements(text).size() < statements(before).size());
}

TEST_CASE("What stands behind a lone semicolon does not open its line") {
  const std::string before = "x\n;\\\n@a\ny\n", text = "x\n\\\n@a\ny\n";
  const Tree tree = Tree::parse(before).edited({.start_byte = 2, .old_end_byte = 3, .new_end_byte = 2}, text);
  CHECK(same(tree.data().outline, outline_of(text)));
}

TEST_CASE("A bracket that stays open looks to the statement that ends it") {
  const std::string before = "f(\"\"\"\n b\n#\"\"\"c.\rd\n", text = "f(\"\"\"\n b\n#\"\"\"c.  ";
  CHECK(outline_of(before).statements.front().looked_to > before.find('d'));
  const auto at = static_cast<std::uint32_t>(before.find('\r'));
  const auto all = static_cast<std::uint32_t>(before.size()), now = static_cast<std::uint32_t>(text.size());
  const Tree tree = Tree::parse(before).edited({.start_byte = at, .old_end_byte = all, .new_end_byte = now}, text);
  CHECK(same(tree.data().outline, outline_of(text)));
}

TEST_CASE("An edit that does not fit its text is not believed") {
  Tree tree = Tree::parse("a = 1\nb = 2\n");
  Tree next = tree.edited({.start_byte = 900, .old_end_byte = 3, .new_end_byte = 0}, "a = 1\nc = 3\nb = 2\n");
  CHECK(same(next.data().outline, outline_of(next.text())));
}

TEST_CASE("Syntax after edits is that of a fresh parse") {
  std::string text = "class A:\n    def f(self):\n        return self.g(1)\n";
  Tree tree = Tree::parse(text);
  CHECK_FALSE(tree.has_errors());
  text.insert(text.size() - 2, ", (");
  auto at = static_cast<std::uint32_t>(text.size() - 5);
  Tree broken = tree.edited({.start_byte = at, .old_end_byte = at, .new_end_byte = at + 3}, text);
  CHECK(broken.has_errors());
  text.erase(at, 3);
  Tree mended = broken.edited({.start_byte = at, .old_end_byte = at + 3, .new_end_byte = at}, text);
  CHECK_FALSE(mended.has_errors());
  CHECK_FALSE(tree.has_errors());
}
