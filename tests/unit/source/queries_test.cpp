#include "annotator/source/queries.h"

#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/source/marked_text.h"

using namespace hotlens::source;

TEST_CASE("The statement of a line is a simple statement or a header") {
  Tree tree = Tree::parse("@wrap\nclass A(B):\n    x = f(\n        1)\n\n    # nothing\n    y = 1; z = 2\n");
  const auto text_at = [&](std::uint32_t line) {
    const auto found = statement_at(tree, line);
    return found ? std::string(test::slice(tree.text(), *found)) : std::string();
  };
  CHECK(text_at(0) == "class A(B):");
  CHECK(text_at(1) == "class A(B):");
  CHECK(text_at(3) == "x = f(\n        1)");
  CHECK(text_at(5).empty());
  CHECK(text_at(6) == "y = 1");
  CHECK(text_at(70).empty());
  REQUIRE(statement_at(tree, 2));
  CHECK(statement_at(tree, 2)->end == Position{3, 10});
  CHECK_FALSE(statement_at(tree, 4));
}

TEST_CASE("The functions and classes around a place, the outermost first") {
  const Tree tree = Tree::parse("@wrapped\nclass A(B):\n    def f(self):\n        return 1\n\n    x = 2\n\ny = 3\ndef \n");
  const auto names = [&](Position at) {
    std::vector<std::string> out;
    for (const Scope& scope : scopes_at(tree, at)) out.push_back(scope.name);
    return out;
  };
  CHECK(names({3, 10}) == std::vector<std::string>{"A", "f"});
  CHECK(names({2, 4}) == std::vector<std::string>{"A", "f"});  // the header itself
  CHECK(names({5, 4}) == std::vector<std::string>{"A"});
  CHECK(names({7, 0}).empty());
  CHECK(names({8, 1}).empty());  // being typed
  CHECK(names({90, 0}).empty());
  const std::vector<Scope> scopes = scopes_at(tree, {3, 10});
  CHECK((scopes.front().is_class && !scopes.back().is_class));
  CHECK((scopes.front().range.begin == Position{1, 0} && scopes.front().range.end == Position{5, 9}));
  CHECK((scopes.back().name_range.begin == Position{2, 8} && scopes.back().name_range.end == Position{2, 9}));
}

TEST_CASE("What looks like a training script") {
  struct Case {
    std::string text;
    bool trains;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"loss.backward()\n", true},
           {"# loss.backward()\n", false},
           {"x = 'loss.backward()'\n", false},
           {"for b in data:\n    opt.step()\n", true},
           {"opt.step()\n", false},
           {"class Schedule:\n    def step(self):\n        pass\n", false},
           {"trainer = Trainer(model)\ntrainer.train()\n", true},
           {"model.train()\n", false},
           {"Learner(dls).fit(3)\n", true},
           {"import torch\nif __name__ == \"__main__\":\n    main()\n", true},
           {"import numpy\nif __name__ == \"__main__\":\n    main()\n", false},
           {"import torch\nclass Net(torch.nn.Module):\n    pass\n", false},
           {"", false},
       }) {
    CAPTURE(each.text);
    CHECK(looks_like_training_script(Tree::parse(each.text)) == each.trains);
  }
}

TEST_CASE("The line where a script trains") {
  struct Case {
    std::string text;
    std::optional<std::uint32_t> line;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"import torch\nfor epoch in range(2):\n    for b in data:\n        loss.backward()\n        opt.step()\n", 2},
           {"for epoch in range(2):\n    schedule.step()\n    for b in data:\n        loss.backward()\n", 2},
           {"for b in data:\n    opt.step()\n", 0},
           {"x = 1\ntrainer = Trainer(model)\ntrainer.train()\n", 2},
           {"x = 1\nmodel.train()\nLearner(dls).fit(3)\n", 2},
           {"def step(loss):\n    loss.backward()\n", 1},
           {"def learn():\n    loss.backward()\nfor e in range(9):\n    while True:\n        env.step(a)\n    learn()\n", 2},
           {"class T:\n    def learn(self):\n        loss.backward()\n    def fit(self):\n        for b in c:\n            self.learn()\n",
            4},
           {"def a():\n    loss.backward()\n    a()\ndef b():\n    a()\n", 1},
           {"import torch\nmain = 1\nif __name__ == \"__main__\":\n    main()\n", 2},
           {"model.train()\n", std::nullopt},
           {"", std::nullopt},
       }) {
    CAPTURE(each.text);
    CHECK(training_line(Tree::parse(each.text)) == each.line);
  }
}
