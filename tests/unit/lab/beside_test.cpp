// Edits of a script beside its layers: each is refused at its line, or changes no step.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "annotator/lab/layers/changes.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::layers;
using nlohmann::json;

namespace {

const std::string kScript = R"(import torch
from torch import nn
from torch.nn import functional as F

WIDTH, ROWS = 16, 64

def unused(x):
    return x * 2

def dense(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.ReLU())

class Net(nn.Module):
    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.first = nn.Linear(8, width)
        self.body = dense(width, width)
        self.head = nn.Linear(width, 4)

    def mix(self, x):
        return x.view(x.shape[0], self.heads, -1).flatten(1)

    def forward(self, x):
        x = self.mix(self.first(x))
        if x is None:
            x = x[:, :4]
        return self.head(self.body(x))

model = Net(WIDTH)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(ROWS, 8), torch.zeros(ROWS).long()), batch_size=8)
model.train()
for x, y in loader:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
)";

json row(const char* path, const char* type, const json& attributes = json::object()) {
  return {{"path", path}, {"class", type}, {"attributes", attributes}};
}

json recorded() {
  return {row("", "Net"),
          row("first", "Linear", {{"in_features", 8}, {"out_features", 16}}),
          row("body", "Sequential"),
          row("body.0", "Linear", {{"in_features", 16}, {"out_features", 16}}),
          row("body.1", "ReLU"),
          row("head", "Linear", {{"in_features", 16}, {"out_features", 4}})};
}

Sources sources(const std::string& text) {
  Sources made{.files = {}, .script = "/p/train.py", .argv = {}};
  made.files["/p/train.py"] = std::make_shared<source::Code>("/p/train.py", text);
  return made;
}

std::string edited(std::string_view from, std::string_view to) {
  std::string text = kScript;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// "12 head: why" of the refusal; empty: there is none.
std::string refused(const std::string& text, const std::string& executed = kScript) {
  const auto changes = compare(sources(executed), sources(text), recorded());
  if (changes) return {};
  const Unclear& why = changes.error();
  return fmt::format("{} {}: {}", why.at.line + 1, why.module, why.reason);
}

// The line of the edit, counted from 1.
std::int64_t line_of_edit(const std::string& text) {
  const auto [one, other] = std::ranges::mismatch(kScript, text);
  return std::count(kScript.begin(), one, '\n') + 1;
}

}  // namespace

TEST_CASE("an edit beside layers that may change the step is refused at its line") {
  const auto [from, to] = GENERATE(table<const char*, const char*>({
      // What a layer is beside its constructor.
      {"nn.Linear(width, 4)", "nn.Linear(width, 4).requires_grad_(False)"},
      {"nn.Linear(width, 4)", "nn.Linear(width, 4).to(torch.bfloat16)"},
      {"nn.Linear(width, 4)", "nn.Linear(width, 4).half()"},
      {"nn.Linear(width, 4)", "nn.Linear(width, 4).double()"},
      {"nn.Linear(width, 4)", "nn.Linear(width, 8).double()"},
      {"nn.Linear(width, 4)", "torch.compile(nn.Linear(width, 4))"},
      {"nn.Linear(width, 4)", "nn.utils.parametrizations.weight_norm(nn.Linear(width, 4))"},
      {"nn.Linear(width, 4)", "nn.Linear(width, 4, dtype=torch.bfloat16)"},
      {"nn.Linear(width, 4)", "nn.Linear(width, 4, device='meta')"},
      {"dense(width, width)", "dense(width, width).requires_grad_(False)"},
      {"nn.Linear(i, o), nn.ReLU()", "nn.Linear(i, o).half(), nn.ReLU()"},
      {"        self.head = ", "        for p in self.first.parameters(): p.requires_grad = False\n        self.head = "},
      {"        self.head = ", "        self.first.requires_grad_(False)\n        self.head = "},
      {"        self.head = ", "        self.first.weight.requires_grad = False\n        self.head = "},
      {"        self.head = ", "        self.first.to(torch.float64)\n        self.head = "},
      {"        self.head = ", "        self.training = False\n        self.head = "},
      {"        self.head = ", "        self.first.register_forward_hook(print)\n        self.head = "},
      // What is done with the model.
      {"model = Net(WIDTH)", "model = Net(WIDTH).half()"},
      {"model = Net(WIDTH)", "model = Net(WIDTH).to(memory_format=torch.channels_last)"},
      {"model = Net(WIDTH)", "model = torch.compile(Net(WIDTH))"},
      {"model = Net(WIDTH)\n", "model = Net(WIDTH)\nmodel.to(memory_format=torch.channels_last)\n"},
      {"model = Net(WIDTH)\n", "model = Net(WIDTH)\nmodel.first.requires_grad_(False)\n"},
      {"model = Net(WIDTH)\n", "model = Net(WIDTH)\nfor p in model.first.parameters():\n    p.requires_grad = False\n"},
      {"model = Net(WIDTH)\n", "model = Net(WIDTH)\nmodel = torch.compile(model)\n"},
      {"model.train()", "model.eval()"},
      {"model.train()", "model.train(False)"},
      {"model.train()", "assert model.half()\nmodel.train()"},
      {"model.train()", "def late(x=model.half()):\n    return x\nmodel.train()"},
      {"model.train()", "model.head.weight = model.first.weight\nmodel.train()"},
      {"model.train()", "import os\nos.environ['A'] = 'b'\nmodel.train()"},
      // The step.
      {"SGD(", "AdamW("},
      {"lr=0.1)", "lr=0.1, foreach=True)"},
      {"lr=0.1)", "lr=0.1, momentum=0.9)"},
      {"model.parameters()", "model.head.parameters()"},
      {"model.parameters()", "[p for p in model.parameters() if p.requires_grad]"},
      {"batch_size=8", "batch_size=16"},
      {"torch.randn(ROWS, 8)", "torch.randn(ROWS, 8)[:ROWS // 2]"},
      {"    loss.backward()\n", "    loss.backward()\n    print(loss)\n"},
      {"    loss.backward()\n", "    (loss / 2).backward()\n"},
      {"    loss = F.cross_entropy(model(x), y)", "    with torch.autocast('cpu'):\n        loss = F.cross_entropy(model(x), y)"},
      {"    loss = F.cross_entropy(model(x), y)", "    with torch.no_grad():\n        loss = F.cross_entropy(model(x), y)"},
      {"    loss = F.cross_entropy", "    loss = F.nll_loss"},
      {"for x, y in loader:", "for x, y in list(loader)[:3]:"},
      {"model.train()", "torch.set_num_threads(1)\nmodel.train()"},
      {"model.train()", "torch.backends.mkldnn.enabled = False\nmodel.train()"},
      {"model.train()", "torch.set_default_dtype(torch.float64)\nmodel.train()"},
      {"import torch\n", "import torch\nimport intel_extension_for_pytorch\n"},
      {"from torch.nn import functional as F", "from mine import functional as F"},
      // forward and what it calls.
      {"self.head(self.body(x))", "self.head(self.body(x))[:, :2]"},
      {"x[:, :4]", "x[:, 4:]"},
      {"x is None", "x is not None"},
      {"self.head(self.body(x))", "torch.utils.checkpoint.checkpoint(self.body, x)"},
      {"        return self.head", "        for _ in range(2):\n            x = self.body(x)\n        return self.head"},
      {"        return self.head", "        with torch.no_grad():\n            x = self.body(x)\n        return self.head"},
      {"    def forward", "    @torch.no_grad()\n    def forward"},
      {"    def forward", "    @torch.compile\n    def forward"},
      {"-1).flatten(1)", "-1).flatten(1)[:, :4]"},
      {"return x.view", "x = x * 2\n        return x.view"},
      {"    def forward", "    def train(self, mode=True):\n        return super().train(False)\n    def forward"},
      {"class Net(nn.Module)", "class Net(nn.Sequential)"},
  }));
  INFO(from << " → " << to);
  const std::string text = edited(from, to), why = refused(text);
  REQUIRE_FALSE(why.empty());
  INFO(why);
  const std::int64_t told = std::stoll(why), line = line_of_edit(text);
  CHECK(told >= line);
  CHECK(told <= line + 2);
}

TEST_CASE("a number is followed to every use, and one that is not known is refused there") {
  const auto told = [](const char* use, const char* from, const char* to) {
    const std::string executed = edited("model.train()", use);
    std::string text = executed;
    text.replace(text.find(from), std::string(from).size(), to);
    return refused(text, executed);
  };
  CHECK(told("model.train()", "WIDTH, ROWS = 16", "WIDTH, ROWS = 32").empty());
  CHECK(told("model.train()", "ROWS = 16, 64", "ROWS = 16, 32").starts_with("32 : the script uses ROWS, which was edited"));
  CHECK(told("torch.manual_seed(WIDTH)", "WIDTH, ROWS = 16", "WIDTH, ROWS = 32").empty());
  CHECK(told("print(f'{WIDTH} wide')", "WIDTH, ROWS = 16", "WIDTH, ROWS = 32").empty());
  for (const char* use :
       {"scale = torch.ones(WIDTH)", "torch.set_num_threads(WIDTH)", "data = [0] * WIDTH\nuse(data)", "if WIDTH > 20:\n    model.half()",
        "for at in range(WIDTH):\n    optimizer.step()", "half = WIDTH // 2\nstep(half)",
        "part = WIDTH // 2\nloader = loader[:part]\nstep(loader)", "loader = loader[:WIDTH]\nstep(loader)"}) {
    INFO(use);
    const std::string why = told(use, "WIDTH, ROWS = 16", "WIDTH, ROWS = 32");
    CHECK(why.find("edited") != std::string::npos);
    CHECK(std::stoll(why) > 30);
  }
}

TEST_CASE("a module that the model does not hold, such as a loss, is no layer of it") {
  const std::string executed = edited("model.train()", "criterion = nn.CrossEntropyLoss()\nmodel.train()");
  const auto told = [&](std::string_view to) {
    std::string text = executed;
    constexpr std::string_view kLoss = "nn.CrossEntropyLoss()";
    return refused(text.replace(text.find(kLoss), kLoss.size(), to), executed);
  };
  CHECK(told("nn.CrossEntropyLoss()").empty());
  for (const char* to : {"nn.MSELoss()", "nn.CrossEntropyLoss(label_smoothing=0.1)", "nn.Sequential(nn.CrossEntropyLoss())"}) {
    INFO(to);
    CHECK(told(to).starts_with("33 : something else than layers of the model was edited"));
  }
}

TEST_CASE("what changes no step passes") {
  const auto [from, to] = GENERATE(table<const char*, const char*>({
      {"WIDTH, ROWS", "# the width\nWIDTH, ROWS"},
      {"    def forward(self, x):", "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n        \"\"\"Scores.\"\"\""},
      {"    optimizer.zero_grad()", "    # first\n    optimizer.zero_grad()"},
      {"    loss.backward()", "    print('a step')\n    loss.backward()"},
      {"loss = F.cross_entropy(model(x), y)", "loss = F.cross_entropy( model( x ),y)"},
      {"model.train()", "print(sum(p.numel() for p in model.parameters()))\nmodel.train()"},
      {"model.train()", "import logging\nlogging.info('starts')\nmodel.train()"},
      {"model.train()", "torch.manual_seed(3)\nmodel.train()"},
      {"import torch\n", "import os\nimport torch\n"},
      {"    return x * 2", "    return x * 3"},
      {"def unused(x):\n    return x * 2\n", ""},
      {"class Net", "def more(x):\n    return x + 1\n\nclass Net"},
      {"class Net", "class Other(nn.Module):\n    def forward(self, x):\n        return x.half()\n\nclass Net"},
      {"    def mix", "    def describe(self):\n        return 'a net'\n\n    def mix"},
      {"lr=0.1", "lr=0.01"},
      {"width=16, heads", "width: int = 16, heads"},
  }));
  INFO(from << " → " << to);
  CHECK(refused(edited(from, to)) == "");
}

TEST_CASE("rates of an update change no step; whether it has a momentum or a decay does") {
  const std::string executed = edited("model.parameters(), lr=0.1)", R"(model.parameters(), lr=0.1, momentum=0.9, weight_decay=DECAY)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30, gamma=0.1))");
  const auto told = [&](std::string text, std::string_view from, std::string_view to) {
    text.insert(text.find("WIDTH, ROWS"), "DECAY = 1e-4\n");
    const std::string was = text;
    return refused(text.replace(text.find(from), from.size(), to), was);
  };
  CHECK(told(executed, "momentum=0.9", "momentum=0.8").empty());
  CHECK(told(executed, "DECAY = 1e-4", "DECAY = 1e-2").empty());
  const std::string groups =
      edited("SGD(model.parameters(), lr=0.1)", "SGD([{'params': model.parameters(), 'lr': 0.1, 'dampening': 0.0}], lr=1)");
  CHECK(told(groups, "'lr': 0.1", "'lr': 0.2").empty());
  CHECK(told(groups, "'dampening': 0.0", "'dampening': 0.5").find("something else than layers was edited: optimizer = ") !=
        std::string::npos);
  CHECK(told(executed, "StepLR(optimizer, 30, gamma=0.1)", "StepLR(optimizer, 10, gamma=0.5)").empty());
  const std::string_view why = "something else than layers was edited: torch.optim.";
  CHECK(told(executed, "momentum=0.9", "momentum=0.0").find(why) != std::string::npos);
  CHECK(told(executed, "DECAY = 1e-4", "DECAY = 0").find(why) != std::string::npos);
  CHECK(told(executed, "StepLR(optimizer, 30", "ExponentialLR(optimizer").find("ExponentialLR") != std::string::npos);
}

TEST_CASE("edits of layers, and of what they are made of, are no edits beside them") {
  const auto [from, to] = GENERATE(table<const char*, const char*>({
      {"width=16", "width=32"},
      {"WIDTH, ROWS = 16", "WIDTH, ROWS = 8 * 4"},
      {"Net(WIDTH)", "Net(2 * WIDTH)"},
      {"Net(WIDTH)", "Net(WIDTH, heads=8)"},
      {"nn.Linear(8, width)", "nn.Linear(8, width, bias=False)"},
      {"dense(width, width)", "nn.Sequential(dense(width, width), dense(width, width))"},
      {"nn.Linear(i, o), nn.ReLU()", "nn.Linear(i, 2 * o), nn.GELU(), nn.Linear(2 * o, o), nn.ReLU()"},
      {"nn.Linear(i, o), nn.ReLU()", "nn.Linear(i, o)"},
      {"        self.head = nn.Linear(width, 4)",
       "        inner = 3 * width\n        self.head = nn.Sequential(nn.Linear(width, inner), nn.Linear(inner, 4))"},
      {"self.head(self.body(x))", "self.head(F.relu(self.body(x)))"},
      {"        self.head = ", "        self.drop = nn.Dropout(0.1)\n        self.head = "},
  }));
  INFO(from << " → " << to);
  const std::string why = refused(edited(from, to));
  INFO(why);
  CHECK(why.find("edited") == std::string::npos);
}
