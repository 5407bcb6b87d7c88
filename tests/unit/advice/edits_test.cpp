#include "annotator/advice/edits/edits.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "annotator/profile/page_faults.h"
#include "tests/unit/advice/script_text.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

std::string optimizer(const std::string& call, const std::string& kind = "fused_optimizer", const std::string& import = "import torch") {
  return edited(sources(import + "\nopt = " + call + "  # é\n"), kind);
}

std::string made(const std::string& call, const std::string& import = "import torch") {
  return import + "\nopt = " + call + "  # é\n";
}

}  // namespace

TEST_CASE("an optimizer gets its keyword, or the value of the one it has") {
  CHECK(optimizer("torch.optim.Adam(m.parameters(), lr=1e-3)") == made("torch.optim.Adam(m.parameters(), lr=1e-3, fused=True)"));
  CHECK(optimizer("torch.optim.SGD(m.parameters(),\n    lr=1e-3,\n)") ==
        made("torch.optim.SGD(m.parameters(),\n    lr=1e-3, fused=True,\n)"));
  CHECK(optimizer("torch.optim.Adam(ps, fused=False)") == made("torch.optim.Adam(ps, fused=True)"));
  CHECK(optimizer("torch.optim.Adam(ps, fused=None, lr=1)") == made("torch.optim.Adam(ps, fused=True, lr=1)"));
  CHECK(optimizer("torch.optim.Adam(ps, foreach=True)") == made("torch.optim.Adam(ps, fused=True)"));
  CHECK(optimizer("torch.optim.Adam(ps, foreach=False)") == made("torch.optim.Adam(ps, foreach=False, fused=True)"));
  CHECK(optimizer("torch.optim.Adam(p for p in ps)") == made("torch.optim.Adam((p for p in ps), fused=True)"));
  CHECK(optimizer("torch.optim.Adam(ps)", "foreach_optimizer") == made("torch.optim.Adam(ps, foreach=True)"));
}

TEST_CASE("an optimizer is known by what its name was imported as") {
  for (const auto& [import, name] : std::vector<std::pair<std::string, std::string>>{{"import torch.optim as o", "o.AdamW"},
                                                                                     {"from torch import optim", "optim.SGD"},
                                                                                     {"from torch.optim import Adam as A", "A"},
                                                                                     {"import torch.optim", "torch.optim.Adam"},
                                                                                     {"from torch.optim.adam import Adam", "Adam"}}) {
    INFO(import);
    CHECK(optimizer(name + "(ps)", "fused_optimizer", import) == made(name + "(ps, fused=True)", import));
  }
  CHECK(optimizer("Adam(ps)", "fused_optimizer", "from mine import Adam").contains("a library makes the optimizer"));
  CHECK(optimizer("Adam(ps)", "fused_optimizer", "from mine import Adam\nfrom torch.optim import Adam").contains("a library makes"));
}

TEST_CASE("what sets the same thing elsewhere, or by an expression, is left alone") {
  CHECK(optimizer("torch.optim.Adam(ps, fused=args.fused)") == "refused: `fused` of the optimizer is an expression: `args.fused`");
  CHECK(optimizer("torch.optim.Adam(ps, **options)") == "refused: options of the optimizer come from elsewhere, at train.py:2");
  CHECK(optimizer("torch.optim.Adam(ps, foreach=True, fused=False)").contains("both fused and foreach are set"));
  CHECK(optimizer("torch.optim.Adam(ps, differentiable=True)").starts_with("refused"));
  CHECK(optimizer("torch.optim.Adam(ps, fused=True)") == "refused: the optimizer has fused=True already");
  CHECK(optimizer("torch.optim.Adam([{'params': ps, 'fused': False}])").contains("also set or read by name"));
  CHECK(optimizer("torch.optim.Adam(ps)\nb = torch.optim.SGD(qs)") == "refused: several places make an optimizer: train.py:2, train.py:3");
}

TEST_CASE("of several optimizers the one that stepped is edited") {
  Sources from = sources("import torch\nif sgd:\n    opt = torch.optim.SGD(ps)\nelse:\n    opt = torch.optim.AdamW(ps)\n");
  CHECK(edited(from, "fused_optimizer") == "refused: several places make an optimizer: train.py:3, train.py:5");
  from.optimizers = {"AdamW"};
  CHECK(edited(from, "fused_optimizer").contains("SGD(ps)\nelse:\n    opt = torch.optim.AdamW(ps, fused=True)\n"));
  from.optimizers = {"Adam"};
  CHECK(edited(from, "fused_optimizer") == "refused: none of the files that ran makes the optimizer that steps, Adam, from torch.optim");
  from.optimizers = {"SGD", "AdamW"};
  CHECK(edited(from, "fused_optimizer").starts_with("refused: several places"));
  CHECK(optimizer("torch.optim.RMSprop(ps)") == "refused: RMSprop is not edited, only Adam, AdamW and SGD are, at train.py:2");
  CHECK(optimizer("torch.optim.lr_scheduler.StepLR(o, 1)").contains("a library makes the optimizer"));
}

TEST_CASE("a file that is another one, read-only or no Python is not edited") {
  Sources from = sources(made("torch.optim.Adam(ps)"));
  from.files[0].as_executed = false;
  CHECK(edited(from, "fused_optimizer") == "refused: train.py has changed since it was profiled; profile it again");
  from = sources(made("torch.optim.Adam(ps)"));
  from.files[0].can_be_edited = false;
  CHECK(edited(from, "fused_optimizer") == "refused: train.py is read-only");
  CHECK(edited(sources(made("torch.optim.Adam(ps)") + "def (:\n"), "fused_optimizer") == "refused: train.py does not parse");
  open_in_editor(from = sources(made("torch.optim.Adam(ps)")), "/w/train.py", "x = 1\n");
  CHECK(!from.files[0].as_executed);
}

TEST_CASE("gradients become None where they were set to zeros") {
  CHECK(edited(sources("opt.zero_grad(set_to_none=False)\n"), "zero_grad_none") == "opt.zero_grad(set_to_none=True)\n");
  CHECK(edited(sources("opt.zero_grad(False)\n"), "zero_grad_none") == "opt.zero_grad(True)\n");
  CHECK(edited(sources("opt.zero_grad()\n"), "zero_grad_none").contains("gradients to None already, at train.py:1"));
  CHECK(edited(sources("opt.zero_grad(set_to_none=True)\n"), "zero_grad_none").contains("gradients to None already, at train.py:1"));
  CHECK(edited(sources("opt.zero_grad(set_to_none=args.none)\n"), "zero_grad_none") ==
        "refused: `set_to_none` of the zero_grad at train.py:1 is an expression: `args.none`");
  CHECK(edited(sources("pass\n"), "zero_grad_none") == "refused: none of the files that ran calls zero_grad");
  CHECK(edited(sources("a.zero_grad(False)\nb.zero_grad(False)\n"), "zero_grad_none").contains("train.py:1, train.py:2"));
}

TEST_CASE("the loader that the loop takes its batches from gets workers and pinned memory") {
  const std::string import = "from torch.utils.data import DataLoader\n";
  const auto loaders = [&](const std::string& text, const std::string& kind, std::uint32_t loop) {
    Sources from = sources(import + text);
    from.loader_workers = 3;
    from.model.stages.push_back({.site = site(loop), .stage = attribution::Stage::data});
    return edited(from, kind);
  };
  const std::string loop = "for x, y in loader:\n    pass\n";
  CHECK(loaders("loader = DataLoader(data, 8)\n" + loop, "loader_workers", 2) ==
        import + "loader = DataLoader(data, 8, num_workers=3)\n" + loop);
  CHECK(loaders("loader = DataLoader(data, num_workers=0)\n" + loop, "loader_workers", 2) ==
        import + "loader = DataLoader(data, num_workers=3)\n" + loop);
  CHECK(loaders("loader = DataLoader(data, pin_memory=False)\n" + loop, "pin_memory", 2) ==
        import + "loader = DataLoader(data, pin_memory=True)\n" + loop);
  CHECK(loaders("test = DataLoader(other)\nloader = DataLoader(data)\n" + loop, "pin_memory", 3) ==
        import + "test = DataLoader(other)\nloader = DataLoader(data, pin_memory=True)\n" + loop);
  CHECK(loaders("loader = DataLoader(data, num_workers=args.w)\n" + loop, "loader_workers", 2)
            .contains("`num_workers` of the DataLoader at train.py:2 is an expression: `args.w`"));
  CHECK(loaders("loader = DataLoader(data, 8, True, None, None, 0)\n" + loop, "loader_workers", 2) ==
        import + "loader = DataLoader(data, 8, True, None, None, 3)\n" + loop);
  CHECK(loaders("loader = DataLoader(data, 8, True, None, None, 2)\n" + loop, "loader_workers", 2) ==
        "refused: the DataLoader at train.py:2 has num_workers=2 already");
  CHECK(loaders("loader = DataLoader(data, pin_memory=True)\n" + loop, "pin_memory", 2) ==
        "refused: the DataLoader at train.py:2 has pin_memory=True already");
  CHECK(loaders("self.a = DataLoader(other)\nself.b = DataLoader(data)\nfor x in self.b:\n    pass\n", "pin_memory", 3) ==
        import + "self.a = DataLoader(other)\nself.b = DataLoader(data, pin_memory=True)\nfor x in self.b:\n    pass\n");
  CHECK(loaders("loader = DataLoader(data, **options)\n" + loop, "loader_workers", 2).contains("come from elsewhere"));
  CHECK(loaders("a = [DataLoader(d) for d in all]\nloader = DataLoader(data)\nfor x in chain(loader, a):\n    pass\n", "pin_memory", 3) ==
        import + "a = [DataLoader(d) for d in all]\nloader = DataLoader(data, pin_memory=True)\nfor x in chain(loader, a):\n    pass\n");
  CHECK(loaders("one = DataLoader(d)\nother = DataLoader(data)\n" + loop, "pin_memory", 3)
            .contains("which one the loop uses is not certain"));
  CHECK(loaders("loader = make(data)\n" + loop, "loader_workers", 2).contains("none of the files that ran makes"));
}

TEST_CASE("layers are edited where they are made") {
  const std::string text = "from torch import nn\na = nn.Dropout(0.2)\nb = nn.GELU('tanh')\nc = nn.Dropout(p)\nd = nn.Dropout()\n";
  Sources from = sources(text);
  for (const auto& [path, name, line] : std::vector<std::tuple<std::string, std::string, std::uint32_t>>{
           {"a", "Dropout", 1}, {"b", "GELU", 2}, {"c", "Dropout", 3}, {"d", "Dropout", 4}, {"e", "Attention", 4}}) {
    profile::ModelModule module;
    module.path = path;
    module.class_name = name;
    module.attached = site(line);
    from.model.modules.push_back(std::move(module));
  }
  CHECK(edited(from, "no_dropout", {"a"}).contains("a = nn.Dropout(0.0)\n"));
  CHECK(edited(from, "no_dropout", {"a", "d"}).contains("nn.Dropout(p=0.0)\n"));
  CHECK(edited(from, "gelu_to_relu", {"b"}).contains("b = nn.ReLU()\n"));
  from.files[0].text = std::string(text).replace(text.find("0.2"), 3, "0.0");
  CHECK(edited(from, "no_dropout", {"a"}) == "refused: `a` is so already, at train.py:2");
  CHECK(edited(from, "no_dropout", {"a", "d"}).contains("nn.Dropout(p=0.0)\n"));
  from.files[0].text = text;
  CHECK(edited(from, "no_dropout", {"c"}) == "refused: `c` at train.py:4: its probability is an expression: `p`");
  CHECK(edited(from, "no_dropout", {"e"}) == "refused: `e` (Attention) does it in its own code");
}

TEST_CASE("autocast goes around the model's call and the loss, the backward pass stays outside") {
  Sources from =
      sources("import torch\nfor x, y in data:\n    out = model(x)\n    loss = f(\n        out, y)\n    log(loss)\n    loss.backward()\n");
  from.model.stages = {{.site = site(2), .stage = attribution::Stage::forward}, {.site = site(3), .stage = attribution::Stage::loss}};
  CHECK(edited(from, "autocast_bf16") ==
        "import torch\nfor x, y in data:\n    with torch.autocast(\"cpu\", torch.bfloat16):\n        out = model(x)\n        loss = f(\n   "
        "         out, y)\n    "
        "log(loss)\n    loss.backward()\n");
  from = sources("import torch\nfor x, y in data:\n    f(model(x), y).backward()\n");
  from.model.stages = {{.site = site(2), .stage = attribution::Stage::forward}};
  CHECK(edited(from, "autocast_bf16").starts_with("refused: no backward()"));
}

TEST_CASE("autocast that is there already stays alone, and so does a line of two statements") {
  const auto around = [](const std::string& text, std::uint32_t line) {
    Sources from = sources(text);
    from.model.stages = {{.site = site(line), .stage = attribution::Stage::forward}};
    return edited(from, "autocast_bf16");
  };
  CHECK(around("import torch\nwith torch.autocast('cpu'):\n    loss = model(x)\n    loss.backward()\n", 2) ==
        "refused: the model's call at train.py:3 is under autocast already");
  CHECK(around("import torch\n@torch.autocast('cpu')\ndef step(x):\n    loss = model(x)\n    loss.backward()\n", 3).contains("already"));
  CHECK(around("import torch\nwith torch.autocast('cpu'):\n    def step(x):\n        loss = model(x)\n        loss.backward()\n", 3)
            .contains("torch.bfloat16"));
  CHECK(around("import torch\nout = model(x)\nloss = f(out); loss.backward()\n", 1) ==
        "refused: another statement stands on the line of the loss");
  CHECK(
      around("import torch\nout = model(x)\nloss = f(out)  # the loss; of all\nloss.backward()\n", 1).contains("    loss = f(out)  # the"));
}

TEST_CASE("channels_last is set before the optimizer and on what the model is called with") {
  Sources from = sources("import torch\nopt = torch.optim.SGD(net.parameters())\nfor x, y in data:\n    out = net(x)\n");
  from.model.stages = {{.site = site(3), .stage = attribution::Stage::forward}};
  CHECK(edited(from, "channels_last") ==
        "import torch\nnet.to(memory_format=torch.channels_last)\nopt = torch.optim.SGD(net.parameters())\nfor x, y in data:\n    out = "
        "net(x.to(memory_format=torch.channels_last))\n");
  from.files[0].text = edited(from, "channels_last");
  from.model.stages = {{.site = site(4), .stage = attribution::Stage::forward}};
  CHECK(edited(from, "channels_last") == "refused: `net` is in channels_last already, at train.py:2");
}

TEST_CASE("a model is compiled before its optimizer is made, once") {
  const Sources from = sources("import torch\nif True:\n    opt = torch.optim.SGD(self.net.parameters(), lr=1)\n");
  CHECK(edited(from, "compile") ==
        "import torch\nif True:\n    self.net.compile()\n    opt = torch.optim.SGD(self.net.parameters(), lr=1)\n");
  CHECK(edited(sources(edited(from, "compile")), "compile") == "refused: the script compiles already, at train.py:3");
  CHECK(edited(sources("import torch\nnet = torch.compile(net, mode='default')\nopt = torch.optim.SGD(net.parameters())\n"), "compile")
            .contains("compiles already, at train.py:2"));
  CHECK(edited(sources("import torch\n@torch.compile\ndef f(): pass\nopt = torch.optim.SGD(net.parameters())\n"), "compile")
            .contains("compiles already"));
  CHECK(edited(sources("import torch, re\nword = re.compile('a')\nopt = torch.optim.SGD(net.parameters())\n"), "compile")
            .contains("net.compile()\nopt"));
  CHECK(edited(sources("import torch\nopt = torch.optim.SGD([*a.parameters(), *b.parameters()])\n"), "compile") ==
        "refused: the optimizer's parameters are not those of one model");
  CHECK(edited(sources("import torch\nx = 1; opt = torch.optim.SGD(net.parameters())\n"), "compile").contains("another statement stands"));
}

TEST_CASE("cuDNN is to try its convolutions where there are some") {
  Sources from = sources("import torch\nopt = torch.optim.SGD(net.parameters())\n");
  CHECK(edited(from, "cudnn_benchmark") == "refused: the step ran on no device that cuDNN is for");
  from.device = "cuda";
  CHECK(edited(from, "cudnn_benchmark") == "refused: the model has no convolution");
  profile::ModelModule module;
  module.class_name = "Conv2d";
  from.model.modules.push_back(module);
  CHECK(edited(from, "cudnn_benchmark") ==
        "import torch\ntorch.backends.cudnn.benchmark = True\nopt = torch.optim.SGD(net.parameters())\n");
  from.files[0].text = edited(from, "cudnn_benchmark");
  CHECK(edited(from, "cudnn_benchmark") == "refused: the script sets cudnn.benchmark itself");
}

TEST_CASE("layers before a batch norm lose their bias where all that the call makes do") {
  const auto text_of = [](const std::string& call) { return "import torch\nfrom torch import nn\nconv = " + call + "\n"; };
  const auto with_layers = [](const std::string& text, const std::vector<std::string>& paths) {
    Sources from = sources(text);
    for (const std::string& path : paths) {
      profile::ModelModule module;
      module.path = path;
      module.class_name = text.contains("Linear(") ? "Linear" : "Conv2d";
      module.attached = site(2);
      from.model.modules.push_back(std::move(module));
    }
    return from;
  };
  const auto biasless = [&](const std::string& call) { return edited(with_layers(text_of(call), {"a"}), "no_conv_bias", {"a"}); };
  CHECK(biasless("nn.Conv2d(3, 8, 3, padding=1)") == text_of("nn.Conv2d(3, 8, 3, padding=1, bias=False)"));
  CHECK(biasless("nn.Conv2d(3, 8, 3, bias=True)") == text_of("nn.Conv2d(3, 8, 3, bias=False)"));
  CHECK(biasless("nn.Conv2d(3, 8, 3, 1, 1, 1, 1, True)") == text_of("nn.Conv2d(3, 8, 3, 1, 1, 1, 1, False)"));
  CHECK(biasless("nn.Linear(3, 8, True)") == text_of("nn.Linear(3, 8, False)"));
  CHECK(biasless("nn.Conv2d(3, 8, 3, bias=has_bias)").contains("its bias is an expression: `has_bias`"));

  const std::string text = text_of("nn.Conv2d(3, 8, 3)");
  CHECK(edited(with_layers(text, {"a", "b"}), "no_conv_bias", {"a", "b"}).contains("bias=False"));
  CHECK(edited(with_layers(text, {"a", "b"}), "no_conv_bias", {"a"}) ==
        "refused: `b`, which must stay, is made where `a` is, at train.py:3");

  const auto reads = [&](const std::string& line) { return edited(with_layers(text + line, {"net.conv"}), "no_conv_bias", {"net.conv"}); };
  CHECK(reads("nn.init.zeros_(m.bias)\n") == "refused: the bias of a layer is read, maybe of one of these, at train.py:4");
  CHECK(reads("net.conv.bias.data.zero_()\n").starts_with("refused: the bias of a layer is read"));
  CHECK(reads("if isinstance(m, (nn.Conv2d, nn.BatchNorm2d)):\n    nn.init.zeros_(m.bias)\n").starts_with("refused: the bias"));
  CHECK(reads("if m.bias is not None:\n    pass\nelse:\n    f(m.bias)\n").starts_with("refused: the bias"));
  CHECK(reads("if m.bias is not None:\n    nn.init.zeros_(m.bias)\n").contains("bias=False"));
  CHECK(reads("if hasattr(m, 'bias') and m.bias is not None:\n    nn.init.zeros_(m.bias)\n").contains("bias=False"));
  CHECK(reads("if a:\n    b\nelif isinstance(m, nn.BatchNorm2d):\n    nn.init.zeros_(m.bias)\n").contains("bias=False"));
  CHECK(reads("net.head.bias.data.zero_()\nself.bias = 1\n").contains("bias=False"));
  CHECK(reads("net.load_state_dict(torch.load('w.pt'))\n") ==
        "refused: saved weights are loaded, which may have these biases, at train.py:4");
  CHECK(reads("data = torch.load('x.pt')\n").contains("bias=False"));
}

TEST_CASE("TF32 is allowed where the device is one that may have it and the script does not say") {
  Sources from = sources("import torch\nopt = torch.optim.SGD(net.parameters())\n");
  CHECK(edited(from, "tf32") == "refused: the step ran on no device that has TF32");
  from.device = "cuda";
  CHECK(edited(from, "tf32") == "import torch\ntorch.set_float32_matmul_precision(\"high\")\nopt = torch.optim.SGD(net.parameters())\n");
  from.files[0].text = edited(from, "tf32");
  CHECK(edited(from, "tf32") == "refused: the script sets the precision of 32-bit products itself, at train.py:2");
  from.files[0].text = "import torch\ntorch.backends.cuda.matmul.allow_tf32 = args.tf32\nopt = torch.optim.SGD(net.parameters())\n";
  CHECK(edited(from, "tf32").contains("32-bit products itself, at train.py:2"));
  from.files[0].text = "import torch\ntorch.backends.cudnn.allow_tf32 = True\nopt = torch.optim.SGD(net.parameters())\n";
  CHECK(edited(from, "tf32").contains("precision(\"high\")\nopt"));  // convolutions alone
}

TEST_CASE("16-bit products are had by autocast") {
  Sources from = sources("import torch\nfor x in data:\n    loss = net(x)\n    loss.backward()\n");
  from.model.stages.push_back({.site = site(2), .stage = attribution::Stage::forward});
  CHECK(edited(from, "lower_precision") == edited(from, "autocast_bf16"));
  CHECK(edited(from, "lower_precision").contains("    with torch.autocast("));
}

TEST_CASE("a call of blocks is checkpointed where it calls these and no others") {
  const std::string text = "import torch\nfor layer in layers:\n    x = layer(x, mask=m)\ny = self.head(x)\n";
  Sources from = sources(text);
  const auto add = [&](const std::string& path, const std::string& name, std::uint32_t parent, std::optional<profile::Site> at) {
    profile::ModelModule module;
    module.path = path;
    module.class_name = name;
    from.model.modules.push_back(std::move(module));
    const auto index = static_cast<std::uint32_t>(from.model.modules.size() - 1);
    from.model.calls.push_back({.module = index, .parent = parent, .site = std::move(at)});
  };
  const auto columns = [](std::uint32_t line, std::uint32_t begin, std::uint32_t end) {
    profile::Site place = site(line);
    place.column = begin;
    place.end_column = end;
    return place;
  };
  add("", "Net", attribution::kNothing, std::nullopt);
  for (const char* path : {"layers.0", "layers.1"}) add(path, "Layer", 0, columns(2, 8, 24));
  add("stack", "Sequential", 0, columns(3, 4, 16));
  add("stack.0", "Layer", 3, columns(3, 4, 16));
  add("bare", "Layer", 0, columns(3, 0, 1));

  const std::string wanted =
      "import torch\nfor layer in layers:\n    x = torch.utils.checkpoint.checkpoint(layer, x, mask=m, use_reentrant=False)\n"
      "y = self.head(x)\n";
  CHECK(edited(from, "checkpoint", {"layers.0", "layers.1"}) == wanted);
  CHECK(edited(from, "checkpoint", {"layers.0"}) == "refused: the expression that calls `layers.0` also calls `layers.1`");
  CHECK(edited(from, "checkpoint", {"stack.0"}) == "refused: `stack.0` is called by the nn.Sequential that holds it");
  CHECK(edited(from, "checkpoint", {"bare"}) == "refused: the expression that calls `bare` is not certain, at train.py:4");
  CHECK(edited(from, "checkpoint", {"unknown"}) == "refused: it is not known where `unknown` is called");
  from.files[0].text = "import torch as t" + text.substr(text.find('\n'));
  CHECK(edited(from, "checkpoint", {"layers.0", "layers.1"}) == "import torch as t\n" + wanted);
}

TEST_CASE("some blocks of a loop are checkpointed by asking which one it is") {
  const std::string text =
      "import torch\nclass Net:\n    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n";
  Sources from = sources(text);
  const auto add = [&](const std::string& path, const std::string& name) {
    profile::ModelModule module;
    module.path = path;
    module.class_name = name;
    from.model.modules.push_back(std::move(module));
    return static_cast<std::uint32_t>(from.model.modules.size() - 1);
  };
  const auto called = [&](std::uint32_t module, std::uint32_t parent) {
    profile::Site place = site(4);
    place.column = 16;
    place.end_column = 24;
    from.model.calls.push_back({.module = module, .parent = parent, .site = place});
  };
  add("", "Trainer");
  from.model.calls.push_back({.module = add("net", "Net"), .parent = attribution::kNothing, .site = {}});
  add("net.layers", "ModuleList");
  for (const char* path : {"net.layers.0", "net.layers.1", "net.layers.2"}) called(add(path, "Layer"), 0);
  const std::string head = text.substr(0, text.find("layer(x)"));
  const std::string made = "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)";
  CHECK(edited(from, "checkpoint", {"net.layers.0", "net.layers.2"}) ==
        head + "(" + made + " if layer in (self.layers[0], self.layers[2]) else layer(x))\n");
  CHECK(edited(from, "checkpoint", {"net.layers.1"}) == head + "(" + made + " if layer is self.layers[1] else layer(x))\n");
  CHECK(edited(from, "checkpoint", {"net.layers.0", "net.layers.1", "net.layers.2"}) == head + made + "\n");

  const std::string refused = "refused: the expression that calls `net.layers.0` also calls `net.layers.1`";
  from.model.modules[2].class_name = "ModuleDict";
  CHECK(edited(from, "checkpoint", {"net.layers.0"}) == refused);
  from.model.modules[2].class_name = "ModuleList";
  from.model.calls.push_back({.module = add("twin", "Net"), .parent = attribution::kNothing, .site = {}});
  called(add("twin.layers.0", "Layer"), 4);  // another object runs this code, and has its own blocks
  CHECK(edited(from, "checkpoint", {"net.layers.0"}) == refused);
}

TEST_CASE("changes at once have one list of edits, unless they edit the same place") {
  const Sources from = sources("import torch\nopt = torch.optim.Adam(ps)\nopt.zero_grad(False)\n");
  const auto both = edits_of({{"fused_optimizer", {}}, {"zero_grad_none", {}}}, from);
  REQUIRE(both);
  CHECK(replaced(from.files[0].text, both->front().replacements) ==
        "import torch\nopt = torch.optim.Adam(ps, fused=True)\nopt.zero_grad(True)\n");
  CHECK(!edits_of({{"fused_optimizer", {}}, {"foreach_optimizer", {}}}, from));
  const auto by_hand = edits_of({{"batch_norm_eval", {}}}, from);
  REQUIRE(!by_hand);
  CHECK(sentence(by_hand.error()).contains("by hand: call eval()"));
}

TEST_CASE("a written file has the edit, its mode, and no draft beside it") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("hotlens-edits-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path file = folder / "train.py";
  std::ofstream(file) << "import torch\r\nopt = torch.optim.Adam(ps)\r\n";
  fs::permissions(file, fs::perms::owner_all);
  Sources from = sources("import torch\r\nopt = torch.optim.Adam(ps)\r\n");
  from.files[0].path = file;
  const auto edits = edits_of({{"fused_optimizer", {}}}, from);
  REQUIRE(edits);
  REQUIRE(write(*edits, from));
  std::ifstream in(file, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "import torch\r\nopt = torch.optim.Adam(ps, fused=True)\r\n");
  CHECK(fs::status(file).permissions() == fs::perms::owner_all);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  const auto told = described(*edits, from);
  REQUIRE(told.size() == 1);
  CHECK(told[0].line == 1);
  CHECK(told[0].character == 25);
  fs::remove_all(folder);
}

TEST_CASE("what the environment sets has variables and no edit") {
  const lab::Part keep{"keep_freed", {}};
  CHECK(environment_of({keep}) == Environment{{"MALLOC_MMAP_THRESHOLD_", "1073741824"}, {"MALLOC_TRIM_THRESHOLD_", "1073741824"}});
  CHECK(environment_of({{"fused_optimizer", {}}}).empty());
  const auto none = edits_of({keep}, sources("import torch\n"));
  REQUIRE(!none);
  CHECK(sentence(none.error()) == "no text of the script sets it; by hand: begin the command with " + std::string(profile::kKeepsFreed));
}

TEST_CASE("layers that a library's model checkpoints itself have its switch behind the statement that makes the model") {
  const auto switched = [](const std::string& made, std::vector<std::string> paths = {"bert.layer.0", "bert.layer.1"},
                           const std::string& method = "gradient_checkpointing_enable", bool own_loop = false) {
    Sources from = sources("from transformers import AutoModel, BertModel\nif True:\n    " + made + "\n");
    from.model.files.push_back({.path = "/lib/bert.py", .copy = {}, .sha256 = {}, .text = {}, .workspace = false});
    profile::ModelModule model{.path = "", .class_name = "BertModel", .package = "transformers"};
    model.attached = site(2);
    from.model.modules.push_back(model);
    for (const char* path : {"bert.layer.0", "bert.layer.1"}) {
      from.model.modules.push_back({.path = path, .class_name = "BertLayer", .package = "transformers"});
      from.model.modules.back().checkpoint_switch = profile::CheckpointSwitch{0, method};
      profile::Site call = site(1);
      if (!own_loop) call.file = profile::FileId{1};
      from.model.calls.push_back({.module = static_cast<std::uint32_t>(from.model.modules.size() - 1), .parent = 0, .site = call});
    }
    return edited(from, "checkpoint", std::move(paths));
  };
  const std::string head = "from transformers import AutoModel, BertModel\nif True:\n    ";
  const std::string old_name = "model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={\"use_reentrant\": False})\n";
  for (const std::string made :
       {"model = BertModel(config)", "model = AutoModel.from_config(config)", "model = BertModel(config).to(device).train()"}) {
    CHECK(switched(made) == head + made + "\n    " + old_name);
  }
  CHECK(switched("self.model = BertModel(config)", {"bert.layer.0", "bert.layer.1"}, "activation_checkpointing_enable") ==
        head +
            "self.model = BertModel(config)\n    "
            "self.model.activation_checkpointing_enable(activation_checkpointing_kwargs={\"use_reentrant\": False})\n");
  for (const std::string made :
       {"model = make(config)", "model, other = BertModel(config), 1", "model = wrap(BertModel(config))", "return BertModel(config)"}) {
    CHECK(switched(made) == "refused: the statement that makes the model at train.py:3 is not one name and one call");
  }
  // One of the layers is no matter of the switch, nor are layers that the workspace's own code calls.
  CHECK(switched("model = BertModel(config)", {"bert.layer.0"}) == "refused: `bert.layer.0` is called in a library");
  CHECK_FALSE(
      switched("model = BertModel(config)", {"bert.layer.0", "bert.layer.1"}, "gradient_checkpointing_enable", true).contains("_enable("));
}

namespace {

// A loop over batches; the model is called in the first of these lines.
std::string halved(const std::string& body, const std::string& before = "loader = DataLoader(data, batch_size=8)\n",
                   const std::string& head = "for x, y in loader:") {
  const std::string start =
      "from torch.nn import functional as F\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n" + before;
  Sources from = sources(start + head + "\n" + body);
  const std::string all = from.files[0].text, until = all.substr(0, all.find("model("));
  from.model.stages.push_back(
      {.site = site(static_cast<std::uint32_t>(std::ranges::count(until, '\n'))), .stage = attribution::Stage::forward});
  const std::string made = edited(from, "accumulate");
  return made.starts_with(start) ? made.substr(start.size() + head.size() + 1) : made;
}

}  // namespace

TEST_CASE("each half of a batch goes forward and backward before one update") {
  CHECK(halved("    opt.zero_grad()\n    loss = F.cross_entropy(model(x), y)  # é\n    loss.backward()\n    opt.step()\n") ==
        "    opt.zero_grad()\n    for x_half, y_half in zip(x.chunk(2), y.chunk(2)):\n"
        "        loss = F.cross_entropy(model(x_half), y_half)  # é\n        (loss * (len(x_half) / len(x))).backward()\n    opt.step()\n");
  // What is read later is that of the whole batch; zero_grad() comes once.
  CHECK(halved("    out = model(\n        x)\n    loss = F.mse_loss(out, y)\n    opt.zero_grad()\n    loss.backward()\n    "
               "print(loss.item())\n") ==
        "    opt.zero_grad()\n    loss_parts = []\n    for x_half, y_half in zip(x.chunk(2), y.chunk(2)):\n        out = model(\n          "
        "  x_half)\n"
        "        loss = F.mse_loss(out, y_half)\n        (loss * (len(x_half) / len(x))).backward()\n"
        "        loss_parts.append(loss.detach() * (len(x_half) / len(x)))\n    loss = sum(loss_parts)\n    print(loss.item())\n");
  const std::string made = "loader = DataLoader(data)\ncriterion = nn.CrossEntropyLoss(label_smoothing=0.1)\n";
  CHECK(halved("    x, y = x.to(d), y.to(d)\n    loss = criterion(model(x), y)\n    loss.backward()\n", made,
               "for i, (x, y) in enumerate(loader):")
            .starts_with("    x, y = x.to(d), y.to(d)\n    for x_half, y_half in zip("));
  CHECK(halved("    x, y = batch\n    loss = criterion(model(x), y)\n    loss.backward()\n", made, "for batch in loader:")
            .starts_with("    x, y = batch\n    for x_half, y_half in zip("));
}

TEST_CASE("a loop whose halves would not add up to its batch is left alone") {
  const std::string pass = "    loss = F.cross_entropy(model(x), y)\n    loss.backward()\n";
  CHECK(halved("    loss = F.cross_entropy(model(x), y, reduction=\"sum\")\n    loss.backward()\n").contains("the mean over the samples"));
  CHECK(halved("    loss = F.cross_entropy(model(x), y, weights)\n    loss.backward()\n").contains("the mean over the samples"));
  CHECK(halved("    loss = contrast(model(x), y)\n    loss.backward()\n").contains("it is not certain that `contrast` is the mean"));
  CHECK(halved("    loss = F.mse_loss(model(x), y) + decay\n    loss.backward()\n").contains("no single call of a loss of torch"));
  CHECK(halved("    out = model(x)\n    loss = F.mse_loss(out, y)\n    loss.backward()\n    right += out.argmax(1)\n")
            .contains("`out` is used again, at train.py:9"));
  CHECK(halved("    mask = x > 0\n    loss = F.mse_loss(model(x, mask), y)\n    loss.backward()\n")
            .contains("`mask` is made for the whole batch"));
  CHECK(halved("    x = mix(x)\n" + pass).contains("`x` becomes something else in the loop, at train.py:6"));
  CHECK(halved("    loss = F.mse_loss(model(x[\"a\"]), y)\n    loss.backward()\n").contains("parts of `x` are taken"));
  CHECK(halved("    scaler.scale(F.mse_loss(model(x), y)).backward()\n").starts_with("refused"));
  CHECK(
      halved("    loss = F.mse_loss(model(x), y)\n    log(loss)\n    loss.backward()\n").contains("something else is done than assigned"));
  CHECK(halved("    loss = F.mse_loss(model(x), y); loss.backward()\n").starts_with("    for x_half"));
  CHECK(halved("    a = 1; loss = F.mse_loss(model(x), y)\n    loss.backward()\n")
            .contains("        a = 1; loss = F.mse_loss(model(x_half), y_half)\n"));
  CHECK(halved("    with autocast():\n        loss = F.mse_loss(model(x), y)\n    loss.backward()\n").starts_with("refused"));
  CHECK(halved(pass, "loader = DataLoader(data, collate_fn=mine)\n").contains("in a way of its own, at train.py:4"));
  CHECK(halved(pass, "loader = DataLoader(data, None)\n").contains("in a way of its own"));
  CHECK(halved(pass, "loader = batches()\n").contains("makes a torch.utils.data.DataLoader"));
  CHECK(halved(pass, "loader = DataLoader(data)\n", "for x, y in others:")
            .contains("it is not certain that the loop's `others` is a DataLoader"));
  CHECK(halved("    loss = F.mse_loss(model(z), z)\n    loss.backward()\n").contains("nothing that the loop gets"));
}
