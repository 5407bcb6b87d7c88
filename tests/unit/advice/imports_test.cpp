// What an edit needs and the file does not import.
#include "tests/unit/advice/script_text.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

// The text with the model's call, `y = m(x)`, under autocast; or the reason.
std::string under_autocast(const std::string& text) {
  Sources from = sources(text);
  const auto call = text.find("y = m(x)");
  REQUIRE(call != std::string::npos);
  const auto line = static_cast<std::uint32_t>(std::ranges::count(text.substr(0, call), '\n'));
  from.model.stages = {{.site = site(line), .stage = attribution::Stage::forward}};
  return edited(from, "autocast_bf16");
}

constexpr std::string_view kLoop = "y = m(x)\nL(y).backward()\n";
constexpr std::string_view kEdited = "with torch.autocast(\"cpu\", torch.bfloat16):\n    y = m(x)\nL(y).backward()\n";

std::string with_loop(const std::string& head) {
  return under_autocast(head + std::string(kLoop));
}

std::string with_edit(const std::string& head) {
  return head + std::string(kEdited);
}

}  // namespace

TEST_CASE("an import that is missing stands behind the last one above the edit") {
  CHECK(with_loop("import torch\n") == with_edit("import torch\n"));
  CHECK(with_loop("import torch.nn\n") == with_edit("import torch.nn\n"));
  CHECK(with_loop("import os  # first\nfrom torch import nn\n\nm = 1\n") ==
        with_edit("import os  # first\nfrom torch import nn\nimport torch\n\nm = 1\n"));
  CHECK(with_loop("import torch as t\n") == with_edit("import torch as t\nimport torch\n"));
  CHECK(with_loop("from a import (\n    b,\n)\nx = 1\n") == with_edit("from a import (\n    b,\n)\nimport torch\nx = 1\n"));
  CHECK(under_autocast("def f():\n    y = m(x)\n    y.backward()\nimport torch\n").starts_with("import torch\ndef f():\n    with torch."));
}

TEST_CASE("a docstring and imports from the future stay the first") {
  CHECK(with_loop("\"\"\"Trains.\"\"\"\n") == with_edit("\"\"\"Trains.\"\"\"\nimport torch\n"));
  CHECK(with_loop("#!/usr/bin/env python\n\"\"\"Trains.\"\"\"\nfrom __future__ import annotations\nm = 1\n") ==
        with_edit("#!/usr/bin/env python\n\"\"\"Trains.\"\"\"\nfrom __future__ import annotations\nimport torch\nm = 1\n"));
  CHECK(with_loop("# no import\n") == with_edit("# no import\nimport torch\n"));
  CHECK(with_loop("m = make()\n") == with_edit("import torch\nm = make()\n"));
  CHECK(with_loop("\xef\xbb\xbfm = make()\n") == with_edit("\xef\xbb\xbfimport torch\nm = make()\n"));
  CHECK(with_loop("from __future__ import annotations; m = [\n1]\n").contains("there is no certain place for `import torch`"));
}

TEST_CASE("line ends stay as they are") {
  CHECK(under_autocast("import os\r\ny = m(x)\r\nL(y).backward()\r\n") ==
        "import os\r\nimport torch\r\nwith torch.autocast(\"cpu\", torch.bfloat16):\r\n    y = m(x)\r\nL(y).backward()\r\n");
}

TEST_CASE("an import that has not run when the edit runs is none") {
  const std::string types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n";
  CHECK(with_loop(types) == with_edit("from typing import TYPE_CHECKING\nimport torch\nif TYPE_CHECKING:\n    import torch\n"));
  CHECK(with_loop("if not TYPE_CHECKING:\n    import torch\n") == with_edit("if not TYPE_CHECKING:\n    import torch\n"));
  CHECK(with_loop("if TYPE_CHECKING:\n    pass\nelse:\n    import torch\n") ==
        with_edit("if TYPE_CHECKING:\n    pass\nelse:\n    import torch\n"));
  CHECK(with_loop("try:\n    import torch\nexcept ImportError:\n    torch = None\n") ==
        with_edit("try:\n    import torch\nexcept ImportError:\n    torch = None\n"));
  CHECK(with_loop("def f():\n    import torch\n") == with_edit("import torch\ndef f():\n    import torch\n"));
  const std::string inside = "def f():\n    import torch\n    y = m(x)\n    y.backward()\n";
  CHECK(under_autocast(inside).starts_with("def f():\n    import torch\n    with torch."));
  CHECK(under_autocast("import torch\ndef f():\n    y = m(x)\n    y.backward()\n    import torch\n")
            .contains("`torch`, which the edit needs, may be something else, from line 5"));
}

TEST_CASE("a name that stands for something else is not imported over it") {
  for (const char* head : {"torch = load()\n", "import mine as torch\n", "f = [torch for torch in x]\n", "def torch():\n    pass\n",
                           "with a as torch:\n    pass\n", "for torch, b in c:\n    pass\n"}) {
    INFO(head);
    CHECK(with_loop(head).starts_with("refused: train.py: `torch`, which the edit needs, may be something else, from line 1"));
  }
  CHECK(with_loop("class A:\n    torch = 1\na.torch = f(torch=2)\nx = torch.ones(3)\n").starts_with("import torch\nclass A:"));
  CHECK(under_autocast("import torch\ndef f(torch):\n    y = m(x)\n    y.backward()\n").contains("from line 2"));
  CHECK(under_autocast("import torch\ndef g(torch):\n    pass\ndef f():\n    y = m(x)\n    y.backward()\n").contains("with torch."));
}

TEST_CASE("changes at once share the import, and their own edit comes first") {
  const std::string text =
      "from torch.optim import SGD\nfrom torch.nn import GELU\na = GELU()\nopt = SGD(m.parameters())\ny = m(x)\nL(y).backward()\n";
  Sources from = sources(text);
  profile::ModelModule module;
  module.path = "a";
  module.class_name = "GELU";
  module.attached = site(2);
  from.model.modules.push_back(std::move(module));
  from.model.stages = {{.site = site(4), .stage = attribution::Stage::forward}};
  CHECK(edited(from, "gelu_to_relu", {"a"})
            .starts_with("from torch.optim import SGD\nfrom torch.nn import GELU\nfrom torch.nn import ReLU\na = ReLU()\n"));
  const auto both = edits_of({{"gelu_to_relu", {"a"}}, {"channels_last", {}}}, from);
  REQUIRE(both);
  CHECK(replaced(text, both->front().replacements) ==
        "from torch.optim import SGD\nfrom torch.nn import GELU\nfrom torch.nn import ReLU\nimport torch\na = ReLU()\n"
        "m.to(memory_format=torch.channels_last)\nopt = SGD(m.parameters())\ny = "
        "m(x.to(memory_format=torch.channels_last))\nL(y).backward()\n");
  CHECK(described(*both, from).front().text == "ReLU()");
}

TEST_CASE("a function's module is called by its name at the place") {
  const std::string formula = "0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))";
  CHECK(edited(sources("from torch.nn import functional as F\nimport torch\ndef act(x):\n    return " + formula + "\n"), "gelu_tanh") ==
        "from torch.nn import functional as F\nimport torch\ndef act(x):\n    return F.gelu(x, approximate=\"tanh\")\n");
  CHECK(edited(sources("import torch\ndef g():\n    from torch.nn import functional as F\ndef act(x):\n    return " + formula + "\n"),
               "gelu_tanh")
            .contains("return torch.nn.functional.gelu(x, approximate=\"tanh\")"));
  CHECK(edited(sources("from torch import tanh\ndef act(x):\n    return 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x ** 3)))\n"),
               "gelu_tanh") ==
        "from torch import tanh\nimport torch\ndef act(x):\n    return torch.nn.functional.gelu(x, approximate=\"tanh\")\n");
}
