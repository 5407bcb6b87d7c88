// Edits of loops over time and of formulas that torch has a function for.
#include "tests/unit/advice/script_text.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

// A model of this class at the path "net".
Sources of_class(const std::string& text, const std::string& name = "Net") {
  Sources from = sources(text);
  profile::ModelModule module;
  module.path = "net";
  module.class_name = name;
  from.model.modules.push_back(std::move(module));
  return from;
}

std::string apart(const std::string& body, const std::string& name = "Net") {
  const std::string head = "class Net:\n    def forward(self, x):\n";
  const std::string all = edited(of_class(head + body, name), "unbind_time", {"net"});
  return all.starts_with(head) ? all.substr(head.size()) : all;
}

std::string gelu(const std::string& expression, const std::string& import = "import torch, math\nfrom torch.nn import functional as F\n") {
  const std::string head = import + "def act(x):\n    return ";
  const std::string all = edited(sources(head + expression + "\n"), "gelu_tanh");
  return all.starts_with(head) ? all.substr(head.size()) : all;
}

}  // namespace

TEST_CASE("steps of a loop over time come from a list that is made before it") {
  CHECK(apart("        for t in range(x.size(1)):\n            h = self.cell(x[:, t], h)\n") ==
        "        x_steps = x.unbind(1)\n        for t in range(x.size(1)):\n            h = self.cell(x_steps[t], h)\n");
  CHECK(apart("        for t in reversed(range(x.shape[0])):\n            h = h + x[t] * x[t, :]\n") ==
        "        x_steps = x.unbind(0)\n        for t in reversed(range(x.shape[0])):\n            h = h + x_steps[t] * x_steps[t]\n");
  CHECK(apart("        x_steps = 1\n        for t in range(9):\n            h = x[..., t, :]\n") ==
        "        x_steps = 1\n        x_steps_ = x.unbind(-2)\n        for t in range(9):\n            h = x_steps_[t]\n");
  CHECK(apart("        y = x.transpose(0, 1)\n        for t in range(9):\n            out[t] = f(y[t], x=1)\n") ==
        "        y = x.transpose(0, 1)\n        y_steps = y.unbind(0)\n        for t in range(9):\n            out[t] = f(y_steps[t], "
        "x=1)\n");
  CHECK(
      apart("        y, h = x.transpose(0, 1), 0\n        for t in range(9):\n            h = h + y[t]\n").contains("h = h + y_steps[t]"));
  CHECK(apart("        for t in range(9):\n            h = x[:, t] + y[:, :, t]\n") ==
        "        x_steps = x.unbind(1)\n        y_steps = y.unbind(2)\n        for t in range(9):\n            h = x_steps[t] + "
        "y_steps[t]\n");
  CHECK(edited(sources("def f(x: Tensor):\r\n    for t in range(9):\r\n        h = x[t]\r\n"), "unbind_time") ==
        "def f(x: Tensor):\r\n    x_steps = x.unbind(0)\r\n    for t in range(9):\r\n        h = x_steps[t]\r\n");
}

TEST_CASE("a loop that does more with the sequence than to read its steps stays") {
  CHECK(apart("        for t in range(9):\n            h = x[:, t]\n            x = f(h)\n") ==
        "refused: `x` is assigned in the loop, at train.py:5");
  CHECK(apart("        for t in range(9):\n            h = x[:, t] - x[:, t - 1]\n") ==
        "refused: `x` is used in another way than by its steps in the loop, at train.py:4");
  CHECK(apart("        for t in range(9):\n            h = attend(x, x[:, t])\n").starts_with("refused: `x` is used in another way"));
  CHECK(apart("        for t in range(9):\n            h = x[:, t] + x[t, :]\n").starts_with("refused: `x` is taken apart in two ways"));
  CHECK(apart("        for t in range(9):\n            x[:, t] += x[:, t]\n").starts_with("refused: `x` is changed in the loop"));
  CHECK(apart("        for t in range(9):\n            x[:, t].mul_(2)\n").starts_with("refused: `x` is changed in the loop"));
  CHECK(apart("        for t in range(9):\n            t = t + 1\n            h = x[:, t]\n")
            .starts_with("refused: `t` is set within its loop"));
  CHECK(apart("        if y: x.size(); \n        for t in x:\n            h = x[:, t]\n").starts_with("refused: no loop"));
}

TEST_CASE("what may be a list, or belongs to another class, stays") {
  CHECK(apart("        for t in range(9):\n            h = layers[t](h)\n").starts_with("refused: no loop"));
  CHECK(apart("        x = [f(y) for y in z]\n        for t in range(9):\n            h = x[t]\n").starts_with("refused: no loop"));
  CHECK(apart("        for t in range(9):\n            h = x[t]\n") == "refused: it is not certain that `x` is a tensor, at train.py:4");
  CHECK(apart("        for t in range(9):\n            h = x[:, t]\n", "Other").starts_with("refused: no loop"));
  CHECK(apart("        for t in range(9):\n            out[:, t] = h\n").starts_with("refused: no loop"));
}

TEST_CASE("GELU's formula becomes a call, however it is spelled") {
  CHECK(gelu("0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))") ==
        "F.gelu(x, approximate=\"tanh\")\n");
  CHECK(gelu("r + x * 0.5 * (1.0 + (0.79788456 * x * (1 + 0.044715 * x * x)).tanh())") == "r + F.gelu(x, approximate=\"tanh\")\n");
  CHECK(gelu("0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x.pow(3))))", "import torch\n") ==
        "torch.nn.functional.gelu(x, approximate=\"tanh\")\n");
  CHECK(gelu("x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))",
             "import torch\nfrom torch import tanh\nfrom math import sqrt, pi\n") == "torch.nn.functional.gelu(x, approximate=\"tanh\")\n");
}

TEST_CASE("another formula, or one of several statements, stays") {
  const std::string refused = "refused: no single expression of the files that ran is the formula";
  CHECK(gelu("0.5 * x * (1.0 + torch.tanh(0.81 * (x + 0.044715 * torch.pow(x, 3.0))))") == refused);
  CHECK(gelu("0.5 * y * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))") == refused);
  CHECK(gelu("0.5 * x * (1.0 + mine.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))") == refused);
  CHECK(gelu("x * 0.5 * (1 + c)") == refused);
  const std::string text = "import torch\nclass Net:\n    def forward(self, x):\n        return " +
                           std::string("0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))\n");
  CHECK(edited(of_class(text), "gelu_tanh", {"net"}).contains("return torch.nn.functional.gelu(x"));
  CHECK(edited(of_class(text, "Other"), "gelu_tanh", {"net"}) == refused);
}

namespace {

const std::string kHelperBegins = "def scan_steps(gate, step, state, one_gate=False):\n", kHelperEnds = ".flatten(0, 1)[:count]\n\n\n";

// What stands in the place of the loop, in a function of x, a, h; without the helper, which is there.
std::string scanned(const std::string& loop, const std::string& after = "") {
  const std::string head = "class Net:\n    def forward(self, x: torch.Tensor, a: torch.Tensor, h):\n        out = []\n";
  const std::string all = edited(sources("import torch\n\n\n" + head + loop + after), "scan_time");
  const std::string before = "import torch\n\n\n" + kHelperBegins;
  if (!all.starts_with(before)) return all;
  const std::size_t end = all.find(kHelperEnds) + kHelperEnds.size();
  REQUIRE(all.substr(end).starts_with(head));
  return all.substr(end + head.size());
}

std::string of(const std::string& statement) {
  return scanned("        for t in range(x.size(1)):\n            " + statement + "\n            out.append(h)\n");
}

std::string becomes(const std::string& arguments) {
  return "        all_states = scan_steps(" + arguments + ")\n        out.extend(all_states)\n        h = all_states[-1]\n";
}

}  // namespace

TEST_CASE("a state that is a product and a sum of the last one is computed in chunks") {
  const std::string x = "x.movedim(1, 0)[:x.size(1)]", a = "a.movedim(1, 0)[:x.size(1)]";
  CHECK(of("h = a[:, t] * h + x[:, t]") == becomes(a + ", " + x + ", h"));
  CHECK(of("h = x[:, t] + h * 0.9") == becomes("0.9, " + x + ", h, one_gate=True"));
  CHECK(of("h = self.decay * h + (1 - self.decay) * x[:, t]") ==
        becomes("self.decay, torch.vmap(lambda x_t: (1 - self.decay) * x_t)(" + x + "), h, one_gate=True"));
  CHECK(of("h = torch.sigmoid(a[:, t]) * h - x[:, t] / 2") ==
        becomes("torch.vmap(lambda a_t: torch.sigmoid(a_t))(" + a + "), torch.vmap(lambda x_t: -x_t / 2)(" + x + "), h"));
  CHECK(of("h = a[:, t] * h + (1 - a[:, t]) * x[:, t]") ==
        becomes(a + ", torch.vmap(lambda a_t, x_t: (1 - a_t) * x_t)(" + a + ", " + x + "), h"));
  CHECK(of("h = h + x[:, t]") == becomes("1, " + x + ", h, one_gate=True"));
  CHECK(of("h = x[:, t] - h") == becomes("-(1), " + x + ", h, one_gate=True"));
  CHECK(scanned("        for t in range(9):\n            h = a[t] * h + x[t]\n", "        return h\n") ==
        "        all_states = scan_steps(a[:9], x[:9], h)\n        h = all_states[-1]\n        return h\n");
}

TEST_CASE("steps may come from a list that unbind made") {
  CHECK(scanned("        for step in x.unbind(1):\n            h = 0.5 * h + step\n            out.append(h)\n") ==
        becomes("0.5, x.movedim(1, 0), h, one_gate=True"));
  CHECK(scanned("        for g, step in zip(a.unbind(1), x.unbind(-2)):\n            h = g * h + step\n            out.append(h)\n") ==
        becomes("a.movedim(1, 0), x.movedim(-2, 0), h"));
  CHECK(scanned("        y = x.unbind(1)\n        for t in range(9):\n            h = 0.5 * h + y[t]\n            out.append(h)\n") ==
        "        y = x.unbind(1)\n" + becomes("0.5, torch.stack(y[:9]), h, one_gate=True"));
}

TEST_CASE("a loop that does anything else stays") {
  for (const std::string statement :
       {"h = torch.tanh(a[:, t] * h + x[:, t])", "h = a[:, t] @ h + x[:, t]", "h = h * h + x[:, t]", "h = a[:, t] * h + x[:, t] * h",
        "h = a[:, t] * h + x[:, t - 1]", "h = a[:, t] * h + self.cell(x[:, t])", "h = 0.9 * h + 1", "h = h / a[:, t] + x[:, t]",
        "h = a[:, t] * h + t", "h, c = a[:, t] * h + x[:, t], 1", "h += x[:, t]", "h = 0.9 * h + rows[t]", "h[t] = 0.9 * h + x[:, t]"}) {
    INFO(statement);
    CHECK(of(statement).starts_with("refused: no loop over time"));
  }
  CHECK(scanned("        for t in range(9):\n            h = 0.5 * h + x[t]\n            print(h)\n").starts_with("refused"));
  CHECK(scanned("        for t in range(1, 9):\n            h = 0.5 * h + x[t]\n").starts_with("refused"));
  CHECK(scanned("        for t in range(9):\n            h = 0.5 * h + x[t]\n", "        print(t)\n").starts_with("refused"));
  CHECK(scanned("        for t in range(9):\n            h = 0.5 * h + x[t]\n", "        for t in x:\n            print(t)\n")
            .contains("scan_steps(0.5, x[:9], h, one_gate=True)"));
  CHECK(edited(sources("import torch\nx = torch.ones(9).view(9)\nfor t in range(9):\n    h = 0.5 * h + x[t]\n"), "scan_time")
            .starts_with("refused"));
}
