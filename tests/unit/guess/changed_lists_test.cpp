// Lists that a constructor changes in place, and conditions that its arguments decide.
#include <sstream>
#include <string>

#include "annotator/guess/python/evaluator.h"
#include "tests/unit/catch.h"
#include "tests/unit/guess/python_folder.h"

namespace hotlens::guess {
namespace {

// Entries in order by the first argument of their Linear: "1 2|3 4? 5*" for one of two, one that may be absent, one of a loop.
std::string written(Evaluator& evaluator, ValueId container) {
  std::string text;
  for (const Slot& slot : evaluator.entries(container)) {
    std::string one;
    for (const ValueId value : evaluator.alternatives(slot.value)) {
      const Value& made = evaluator.at(evaluator.object(value));
      if (made.kind == Value::Kind::instance) one += (one.empty() ? "" : "|") + std::string(made.arguments.front().node.text());
    }
    text += (text.empty() ? "" : " ") + one + (slot.optional ? "?" : "") + (slot.loops.empty() ? "" : "*");
  }
  return text;
}

// As the body of a method.
std::string indented(const std::string& body) {
  std::istringstream lines(body);
  std::string text, line;
  while (std::getline(lines, line)) text += "        " + line + "\n";
  return text;
}

// `body` stands in the constructor of a Sequential with parameters `n`, `flag` and fills `x`, which holds Linears of 1, 2 and 3.
std::string changed(const std::string& body) {
  PythonFolder folder;
  const std::string text =
      "from torch.nn import Linear as L, Sequential, Module\n"
      "class Net(Sequential):\n"
      "    def __init__(self, n, flag):\n"
      "        x = [L(1), L(2), L(3)]\n";
  folder.write("m.py", text + indented(body) + "        super().__init__(*x)\n");
  Library library({folder.path()});
  Evaluator evaluator(library);
  const Code* code = library.file(folder.path() / "m.py");
  REQUIRE(code != nullptr);
  return written(evaluator, evaluator.some(evaluator.class_named(*code, "Net")));
}

TEST_CASE("an entry given again may be any of the entries") {
  const std::string either = "1|9 2|9 3|9";
  CHECK(changed("x[1] = L(9)") == either);
  CHECK(changed("x[-1] = L(9)") == either);
  CHECK(changed("if flag:\n    x[1] = L(9)") == either);
  CHECK(changed("for i in range(n):\n    x[i] = L(9)") == either);
  CHECK(changed("x = [None] * n\nx[0] = L(9)") == "9*");
}

TEST_CASE("what is added to a list in place comes behind its entries; a number that is added to is no longer known") {
  CHECK(changed("x += [L(8), L(9)]") == "1 2 3 8 9");
  CHECK(changed("for i in range(n):\n    x += [L(9)]") == "1 2 3 9*");
  CHECK(changed("k = 1\nif k == 1:\n    x.append(L(9))") == "1 2 3 9");
  CHECK(changed("k = 1\nk += 1\nif k == 1:\n    x.append(L(9))") == "1 2 3 9?");
}

TEST_CASE("a long list that is changed again and again costs no more than a constructor may") {
  std::string body = "x[-9223372036854775808] = L(9)\nx = [\n";
  for (int i = 0; i < 2000; ++i) body += "    L(4),\n";
  body += "]\n";
  for (int i = 0; i < 2000; ++i) body += "x[n] = L(5)\nx.sort()\n";
  CHECK(changed(body).empty());  // what lies beyond its bound is unknown
}

TEST_CASE("what is put between entries, taken out or turned round makes every entry any of them, or none") {
  const std::string any = "1|2|3? 1|2|3? 1|2|3?";
  const std::string four = "1|2|3|9? 1|2|3|9? 1|2|3|9? 1|2|3|9?";
  CHECK(changed("x.insert(0, L(9))") == four);
  CHECK(changed("for i in range(n):\n    x.insert(0, L(9))") == four + "*");
  CHECK(changed("x.pop()") == any);
  CHECK(changed("del x[1]") == any);
  CHECK(changed("if flag:\n    x.pop()") == any);
  CHECK(changed("x.clear()\nx.append(L(9))") == any + " 9");
  CHECK(changed("x.reverse()") == any);
  CHECK(changed("x = x[::-1]") == any);
  CHECK(changed("x.sort(key=n)") == any);
  CHECK(changed("x = sorted(x, key=n)") == "*");
  CHECK(changed("import random\nrandom.shuffle(x)") == any);
  CHECK(changed("x = x[1:]") == "1? 2? 3?");
}

// The entries of `self.layers` that `Net.__init__(self, width, norm="batch", deep=None, **rest)` fills when a script makes `made`.
std::string decided(const std::string& body, const std::string& made) {
  PythonFolder folder;
  const std::string text =
      "from torch.nn import Linear as L, Sequential, Module, ReLU\n"
      "class Net(Sequential):\n"
      "    def __init__(self, width, norm='batch', deep=None, **rest):\n"
      "        x = [L(1)]\n";
  folder.write("m.py", text + indented(body) + "        super().__init__(*x)\nmodel = " + made + "\n");
  Library library({folder.path()});
  Evaluator evaluator(library);
  const Code* code = library.file(folder.path() / "m.py");
  REQUIRE(code != nullptr);
  const std::vector<ValueId> objects = evaluator.made_by(*code, "Net");
  REQUIRE(objects.size() == 1);
  return written(evaluator, objects.front());
}

TEST_CASE("what a constructor is given decides its conditions") {
  const std::string norms = "if norm == 'batch':\n    x.append(L(2))\nelif norm is None:\n    pass\nelse:\n    x.append(L(3))";
  CHECK(decided(norms, "Net(4)") == "1 2");
  CHECK(decided(norms, "Net(4, None)") == "1");
  CHECK(decided(norms, "Net(4, norm='layer')") == "1 3");
  CHECK(decided(norms, "Net(4, norm=choose())") == "1 2? 3?");
  CHECK(decided(norms, "Net(4, **options)") == "1 2? 3?");
  const std::string deep = "if deep and not width == 2:\n    x.append(L(2))";
  CHECK(decided(deep, "Net(4)") == "1");
  CHECK(decided(deep, "Net(4, deep=True)") == "1 2");
  CHECK(decided(deep, "Net(2, deep=ReLU)") == "1");
  CHECK(decided(deep, "Net(width=other, deep=1)") == "1 2?");
  CHECK(decided("x.append(L(2) if deep else L(3))", "Net(4)") == "1 3");
  CHECK(decided("if deep is not None:\n    x.append(L(2))", "Net(4, deep=ReLU())") == "1 2");
}

TEST_CASE("a condition that nests without end ends") {
  const std::string open(20'000, '('), close(20'000, ')');
  CHECK(decided("if " + open + "deep" + close + ":\n    x.append(L(2))", "Net(4)") == "1 2?");
}

TEST_CASE("a name that changes decides nothing") {
  CHECK(decided("for i in range(width):\n    if deep is None:\n        x.append(L(2))\n    deep = i", "Net(4)") == "1 2?*");
  CHECK(decided("width += 1\nif width == 4:\n    x.append(L(2))", "Net(4)") == "1 2?");
  CHECK(decided("if rest:\n    deep = 1\nif deep:\n    x.append(L(2))", "Net(4)") == "1 2?");
  CHECK(decided("while width > 3:\n    x.append(L(2))\n    width -= 1", "Net(4)") == "1 2*");
}

}  // namespace
}  // namespace hotlens::guess
