// Edits of layers and of functions that a class calls in its forward.
#include "tests/unit/advice/script_text.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

struct Layer {
  std::string path, name;
  std::uint32_t line = 0;
};

Sources with_layers(const std::string& text, const std::vector<Layer>& layers) {
  Sources from = sources(text);
  for (const Layer& layer : layers) {
    profile::ModelModule module;
    module.path = layer.path;
    module.class_name = layer.name;
    module.attached = site(layer.line);
    from.model.modules.push_back(std::move(module));
  }
  return from;
}

const std::string kImports = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n";

}  // namespace

TEST_CASE("a ReLU layer is made in place where all that the call makes may be") {
  const auto in_place = [](const std::string& call) {
    const std::string text = kImports + "act = " + call + "\n";
    const std::string all = edited(with_layers(text, {{"a", "ReLU", 3}}), "inplace_relu", {"a"});
    return all.starts_with(kImports) ? all.substr(kImports.size()) : all;
  };
  CHECK(in_place("nn.ReLU()") == "act = nn.ReLU(inplace=True)\n");
  CHECK(in_place("nn.ReLU(False)") == "act = nn.ReLU(True)\n");
  CHECK(in_place("nn.ReLU(inplace=False)") == "act = nn.ReLU(inplace=True)\n");
  CHECK(in_place("nn.ReLU(inplace=args.save)").contains("is an expression: `args.save`"));
  CHECK(in_place("nn.ReLU(True)").contains("is so already"));
  const Sources two = with_layers(kImports + "acts = [nn.ReLU() for _ in range(2)]\n", {{"a", "ReLU", 3}, {"b", "ReLU", 3}});
  CHECK(edited(two, "inplace_relu", {"a"}) == "refused: `b`, which must stay, is made where `a` is, at train.py:4");
  CHECK(edited(two, "inplace_relu", {"a", "b"}).contains("[nn.ReLU(inplace=True) for"));
}

TEST_CASE("calls of relu are in place where each forward pass runs each of them") {
  const auto in_place = [](const std::string& body, const std::string& method = "forward") {
    const std::string head = kImports + "class Net(nn.Module):\n    def " + method + "(self, x):\n";
    const std::string all = edited(with_layers(head + body, {{"net", "Net", 3}}), "inplace_relu", {"net"});
    return all.starts_with(head) ? all.substr(head.size()) : all;
  };
  CHECK(in_place("        return self.drop(F.relu(self.conv(x)))\n") == "        return self.drop(F.relu(self.conv(x), inplace=True))\n");
  CHECK(in_place("        x = torch.relu(x)\n        return F.relu(x, False)\n") ==
        "        x = torch.relu_(x)\n        return F.relu(x, True)\n");
  CHECK(in_place("        return self.conv(x).relu()\n") == "        return self.conv(x).relu_()\n");
  CHECK(in_place("        with torch.no_grad():\n            return F.relu(x)\n") ==
        "        with torch.no_grad():\n            return F.relu(x, inplace=True)\n");
  const std::string uncertain = "refused: it is not certain that the relu at train.py:";
  CHECK(in_place("        if self.deep:\n            x = F.relu(x)\n        return x\n").starts_with(uncertain));
  CHECK(in_place("        x = F.relu(x) if self.deep else x\n        return x\n").starts_with(uncertain));
  CHECK(in_place("        for layer in self.layers:\n            x = F.relu(x)\n        return x\n").starts_with(uncertain));
  CHECK(in_place("        if self.done:\n            return x\n        return F.relu(x)\n").starts_with(uncertain));
  CHECK(in_place("        return F.relu(x)\n", "head").starts_with(uncertain));
  CHECK(in_place("        return self.act(x)\n") == "refused: `Net` calls relu in no code of its own that ran");
  CHECK(in_place("        return F.relu(x, inplace=self.save)\n").contains("is an expression: `self.save`"));
}

TEST_CASE("a ReLU and the max-pool behind it change places in an nn.Sequential") {
  const auto swapped = [](const std::string& entries, const std::string& around = "Sequential",
                          std::vector<std::string> paths = {"net.0", "net.1"}) {
    const std::string text = kImports + "net = nn.Sequential(" + entries + ")\n";
    return edited(with_layers(text, {{"net", around, 3}, {"net.0", "ReLU", 3}, {"net.1", "MaxPool2d", 3}}), "pool_before_relu",
                  std::move(paths));
  };
  CHECK(swapped("nn.ReLU(), nn.MaxPool2d(2, stride=2)") == kImports + "net = nn.Sequential(nn.MaxPool2d(2, stride=2), nn.ReLU())\n");
  CHECK(swapped("*[nn.ReLU(), nn.MaxPool2d(2)]") == kImports + "net = nn.Sequential(*[nn.MaxPool2d(2), nn.ReLU()])\n");
  CHECK(swapped("nn.ReLU(), *more, nn.MaxPool2d(2)").contains("are not made beside each other"));
  CHECK(swapped("nn.ReLU(), nn.MaxPool2d(2)", "ModuleList").starts_with("refused: no expression in the code of `ModuleList`"));
  CHECK(swapped("nn.ReLU(), nn.MaxPool2d(2)", "Sequential", {"net.0"}) ==
        "refused: `net.1`, which must stay, is made where `net.1` is, at train.py:4");
}

TEST_CASE("a max-pool of a ReLU becomes a ReLU of a max-pool in one expression") {
  const auto turned = [](const std::string& expression, std::vector<std::string> paths = {"net", "net.pool"}) {
    const std::string head = kImports + "class Net(nn.Module):\n    def forward(self, x):\n        x = ";
    const std::string all =
        edited(with_layers(head + expression + "\n",
                           {{"net", "Net", 4}, {"net.act", "ReLU", 4}, {"net.pool", "MaxPool2d", 4}, {"net.mean", "AvgPool2d", 4}}),
               "pool_before_relu", std::move(paths));
    return all.starts_with(head) ? all.substr(head.size()) : all;
  };
  CHECK(turned("F.max_pool2d(F.relu(self.conv(x)), 2)") == "F.relu(F.max_pool2d(self.conv(x), 2))\n");
  CHECK(turned("F.max_pool2d(F.relu(x, inplace=True), kernel_size=2)") == "F.relu(F.max_pool2d(x, kernel_size=2), inplace=True)\n");
  CHECK(turned("self.fc(self.pool(self.act(self.conv(x))))", {"net.act", "net.pool"}) == "self.fc(self.act(self.pool(self.conv(x))))\n");
  const std::string none = "refused: no expression in the code of `Net` is a max-pool of a ReLU, `pool(relu(x))`";
  CHECK(turned("F.avg_pool2d(F.relu(x), 2)") == none);
  CHECK(turned("self.mean(F.relu(x))") == none);
  CHECK(turned("F.max_pool2d(F.gelu(x), 2)") == none);
  CHECK(turned("F.max_pool2d(F.relu(x), 2, return_indices=True)") == none);
  CHECK(turned("self.pool(F.relu(x))", {"net"}) == none);  // what that pool does is not known
}

TEST_CASE("batch norms are in evaluation mode behind each train()") {
  const std::string norms =
      "    for each_norm in model.modules():\n        if isinstance(each_norm, torch.nn.BatchNorm2d):\n            each_norm.eval()\n";
  const auto frozen = [](const std::string& text, std::uint32_t call, const std::string& name = "BatchNorm2d") {
    Sources from = with_layers(text, {{"norm", name, 0}});
    from.model.stages.push_back({.site = site(call), .stage = attribution::Stage::forward});
    return edited(from, "batch_norm_eval", {"norm"});
  };
  const std::string head = "import torch\nopt = torch.optim.SGD(model.parameters())\nfor epoch in range(9):\n";
  CHECK(frozen(head + "    model.train()  # again\n    model(x)\n", 4) == head + "    model.train()  # again\n" + norms + "    model(x)\n");
  CHECK(frozen(head + "    model.train(True)\n    model(x)\n", 4) == head + "    model.train(True)\n" + norms + "    model(x)\n");
  CHECK(frozen(head + "    model.train(mode)\n    model(x)\n", 4) == "refused: whether the model trains is an expression, at train.py:4");
  CHECK(frozen(head + "    trainer.train()\n    model(x)\n", 4) ==
        "refused: it is not certain that train() is called on the model, at train.py:4");
  CHECK(frozen(head + "    if a: model.train()\n    model(x)\n", 4).contains("another statement stands on the line of train()"));
  CHECK(frozen(head + "    model.train(); model(x)\n", 3).contains("another statement stands on the line of train()"));
  // Without one the model trains as it was made.
  const std::string made =
      "import torch\nfor each_norm in model.modules():\n    if isinstance(each_norm, torch.nn.BatchNorm2d):\n        each_norm.eval()\n";
  CHECK(frozen(head + "    model(x)\n", 3) == made + head.substr(head.find('\n') + 1) + "    model(x)\n");
  CHECK(frozen(head + "    model(x)\n", 3, "Norm") == "refused: `Norm` normalizes in its own code");
  CHECK(edited(with_layers(head, {{"norm", "BatchNorm2d", 0}}), "batch_norm_eval", {"norm"}).contains("a library calls the model"));
}
