#include "annotator/source/queries.h"

#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/source/marked_text.h"

using namespace hotlens::source;

TEST_CASE("The statement of a line is a simple statement or a header") {
  Tree tree = Tree::parse("@wrap\nclass A(B):\n    x = f(\n        1)\n\n    # nothing\n    y = 1; z = 2\n");
  CHECK(statement_text(tree, 0) == "class A(B):");
  CHECK(statement_text(tree, 1) == "class A(B):");
  CHECK(statement_text(tree, 3) == "x = f(\n        1)");
  CHECK(statement_text(tree, 5).empty());
  CHECK(statement_text(tree, 6) == "y = 1");
  CHECK(statement_text(tree, 70).empty());
  REQUIRE(statement_at(tree, 2));
  CHECK(statement_at(tree, 2)->end == Position{3, 10});
  CHECK_FALSE(statement_at(tree, 4));
}

TEST_CASE("Class headers, nested ones too") {
  Tree tree = Tree::parse("class A: pass\ndef f():\n    class B(\n        C):\n        x = 'class D:'\n");
  auto headers = class_headers(tree);
  REQUIRE(headers.size() == 2);
  CHECK(test::slice(tree.text(), headers[0]) == "class A:");
  CHECK(test::slice(tree.text(), headers[1]) == "class B(\n        C):");
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
