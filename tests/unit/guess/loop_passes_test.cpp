// In which passes of a loop an entry is added: what conditions on the index say.
#include <map>
#include <string>

#include "annotator/guess/python/evaluator.h"
#include "tests/unit/catch.h"
#include "tests/unit/guess/python_folder.h"

namespace hotlens::guess {
namespace {

constexpr Passes kFirst = kOnlyPass | kFirstPass, kLast = kOnlyPass | kLastPass;

struct Added {
  Passes passes = 0;
  bool optional = false;
  friend bool operator==(const Added&, const Added&) = default;
};

// The entries of a Sequential that `body` fills as `self`, by the first argument of their Linear: the text of the body stands in a
// constructor with the parameters `n`, `items` and `flag`.
std::map<std::string, Added> entries(const std::string& body) {
  PythonFolder folder;
  folder.write("m.py", "from torch import nn\nclass Net(nn.Sequential):\n    def __init__(self, n, items, flag):\n        layers = []\n" +
                           body + "        super().__init__(*layers)\n");
  Library library({folder.path()});
  Evaluator evaluator(library);
  const Code* code = library.file(folder.path() / "m.py");
  REQUIRE(code != nullptr);
  std::map<std::string, Added> found;
  for (const Slot& slot : evaluator.entries(evaluator.some(evaluator.class_named(*code, "Net")))) {
    const Value& made = evaluator.at(evaluator.object(slot.value));
    REQUIRE(!made.arguments.empty());
    REQUIRE(slot.loops.size() == 1);
    found[std::string(made.arguments.front().node.text())] = {slot.loops.front().passes, slot.optional};
  }
  return found;
}

constexpr Passes but(Passes of) {
  return kEveryPass & static_cast<Passes>(~of);
}

TEST_CASE("a condition on the index says in which passes an entry is added") {
  const auto found = entries(R"(        for i in range(n):
            if i == 0 and i == n - 1:
                layers.append(nn.Linear(1, 1))
            elif i == 0:
                layers.append(nn.Linear(2, 1))
            elif i == (n - 1):
                layers.append(nn.Linear(3, 1))
            else:
                layers.append(nn.Linear(4, 1))
            layers.append(nn.Linear(5, 1))
)");
  CHECK(found.at("1") == Added{kOnlyPass, false});
  CHECK(found.at("2") == Added{kFirstPass, false});
  CHECK(found.at("3") == Added{kLastPass, false});
  CHECK(found.at("4") == Added{kMiddlePass, false});
  CHECK(found.at("5") == Added{kEveryPass, false});
}

TEST_CASE("the same is said in other words") {
  const auto found = entries(R"(        for i, item in enumerate(items):
            if not i:
                layers.append(nn.Linear(1, 1))
            if i < len(items) - 1:
                layers.append(nn.Linear(2, 1))
            if 0 < i or flag:
                layers.append(nn.Linear(3, 1))
            if i >= 1 and flag:
                layers.append(nn.Linear(4, 1))
            if i == 0:
                continue
            layers.append(nn.Linear(5, 1))
)");
  CHECK(found.at("1") == Added{kFirst, false});
  CHECK(found.at("2") == Added{but(kLast), false});
  CHECK(found.at("3") == Added{kEveryPass, true});
  CHECK(found.at("4") == Added{but(kFirst), true});
  CHECK(found.at("5") == Added{but(kFirst), false});
}

TEST_CASE("a condition on something else says nothing of the passes") {
  const auto found = entries(R"(        for i in range(1, n):
            if i == 0:
                layers.append(nn.Linear(1, 1))
            if i == n - 2:
                layers.append(nn.Linear(2, 1))
            i = i + flag
            if i == 1:
                layers.append(nn.Linear(3, 1))
)");
  for (const char* entry : {"1", "2", "3"}) CHECK(found.at(entry) == Added{kEveryPass, true});
}

TEST_CASE("a condition that nests without end ends") {
  const std::string open(20'000, '('), close(20'000, ')');
  const auto found = entries("        for i in range(n):\n            if " + open + "i == 0" + close +
                             ":\n                layers.append(nn.Linear(1, 1))\n");
  CHECK(found.at("1").optional);
}

}  // namespace
}  // namespace hotlens::guess
