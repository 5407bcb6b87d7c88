#include "annotator/lab/arguments/function_arguments.h"
#include "annotator/lab/casts/casts.h"
#include "annotator/lab/layers/quiet/numbers.h"
#include "annotator/lab/layers/quiet/statements.h"
#include "annotator/lab/optimizers/clipping.h"
#include "annotator/lab/optimizers/script_optimizers.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::layers;

namespace {

const std::string kScript = R"(
import torch
from torch import nn
from torch.nn import functional as F
EPOCHS = 2
class Net(nn.Module):
    pass
def train(model, optimizer, loader):
    for x, y in loader:
        out = model(x)
        loss = F.mse_loss(out, y) + 0.5 * out.mean()
        loss.backward()
        optimizer.step()
def main():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(EPOCHS):
        train(model, optimizer, loader)
    print("done")
main()
)";

Sources script(const std::string& text) {
  Sources made{.files = {}, .script = "/p/train.py", .argv = {}};
  made.files["/p/train.py"] = std::make_shared<source::Code>("/p/train.py", text);
  return made;
}

std::string with(std::string text, std::string_view from, std::string_view to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

std::string text_of(const Sources& sources) {
  return sources.files.at("/p/train.py")->text();
}

std::optional<Plain<CastEdit>> casts(const std::string& was, const std::string& is) {
  auto texts = without_casts(script(was), script(is));
  REQUIRE(texts.has_value());
  return *texts;
}

std::string heard(const std::string& was, const std::string& is, bool waits = false) {
  const Sources executed = script(was), edited = script(is);
  return text_of(
      without_quiet_numbers(without_quiet_statements(executed, edited, waits), without_quiet_statements(edited, executed, waits)));
}

}  // namespace

TEST_CASE("casts of the model and of batches are taken out of a text") {
  const std::string is =
      with(with(kScript, "Net()\n", "Net().to(device, torch.half)\n"), "        out", "        x, y = x.half(), y\n        out");
  const auto found = casts(kScript, is);
  REQUIRE(found);
  CHECK(found->edits.at(0).what == "dtype float32 → float16");
  CHECK(found->edits.at(0).model == "float16");
  REQUIRE(found->edits.at(0).given.size() == 1);
  CHECK(
      (found->edits.at(0).given[0].name == "x" && found->edits.at(0).given[0].of == CastOf::input && !found->edits.at(0).given[0].in_call));
  CHECK(text_of(found->edited) == with(with(kScript, "Net()\n", "Net().to(device)\n"), "        out", "        pass\n        out"));
  CHECK(found->edits.at(0).at.line == 15);
}

TEST_CASE("a cast is of what gets it") {
  CHECK(casts(kScript, with(kScript, "model(x)", "model(x.double())"))->edits.at(0).given[0].in_call);
  CHECK(casts(kScript, with(kScript, "(out, y)", "(out, y.double())"))->edits.at(0).given[0].of == CastOf::target);
  CHECK(casts(kScript, with(kScript, "(out, y)", "(out.double(), y)"))->edits.at(0).given[0].of == CastOf::result);
  CHECK(casts(kScript, with(kScript, "model(x)", "model(x).double()"))->edits.at(0).given[0].of == CastOf::result);
}

TEST_CASE("a cast in a branch, of another value or after its use is a statement like others") {
  CHECK(!casts(kScript, with(kScript, "    optimizer = ", "    if half:\n        model.half()\n    optimizer = ")));
  CHECK(!casts(kScript, with(kScript, "        loss.backward()", "        x = x.half()\n        loss.backward()")));
  CHECK(!casts(kScript, with(kScript, "        loss.backward()", "        kept = loss.half()\n        loss.backward()")));
  CHECK(!casts(kScript, with(kScript, "model(x)", "model(x).argmax(-1).double()")));
}

TEST_CASE("which of several models is cast is not guessed") {
  const std::string two = with(kScript, "    for epoch", "    other = torch.optim.SGD(judge.parameters(), lr=0.1)\n    for epoch");
  const auto found = without_casts(script(two), script(with(two, "Net()\n", "Net().half()\n")));
  REQUIRE(!found.has_value());
  CHECK(found.error().reason == "which of several models this casts is not followed");
}

TEST_CASE("numbers that change no step are those of the executed text") {
  CHECK(heard(kScript, with(kScript, "EPOCHS = 2", "EPOCHS = 7")) + "\n" == heard(kScript, kScript + "\n"));
  const std::string said = heard(with(kScript, "0.5 *", "0.25 *"), with(kScript, "lr=0.1", "lr=0.2"));
  CHECK(said.find("0.25 *") != std::string::npos);
  CHECK(said.find("lr=0.1") != std::string::npos);
  CHECK(heard(kScript, with(kScript, "lr=0.1", "lr=0")).find("lr=0)") != std::string::npos);
}

TEST_CASE("what a script does after its last step, and what it tells, is left out") {
  const std::string plain = heard(kScript, kScript + "\n");
  CHECK(plain.find("print") == std::string::npos);
  CHECK(heard(kScript, with(kScript, "print(\"done\")", "torch.save(model, 'net.pt')")) + "\n" == plain);
  const std::string loud = with(kScript, "        optimizer.step()", "        optimizer.step()\n        print(loss.item())");
  CHECK(heard(kScript, loud).find("loss.item()") == std::string::npos);
  CHECK(heard(kScript, loud, true).find("loss.item()") != std::string::npos);
}

TEST_CASE("a number that a loop keeps up for people is left out, a constant is not") {
  const std::string mean =
      with(kScript, "        optimizer.step()", "        optimizer.step()\n        mean = 0.9 * mean + 0.1 * loss.item()");
  const std::string all = with(mean, "    for x", "    mean = 0.0\n    for x");
  CHECK(heard(kScript, all).find("mean =") == std::string::npos);
  CHECK(heard(kScript, all, true).find("loss.item()") != std::string::npos);
  CHECK(heard(kScript, with(all, "loss.backward()", "(loss * mean).backward()")).find("mean =") != std::string::npos);
  CHECK(heard(kScript, with(kScript, "EPOCHS = 2", "EPOCHS = 2\nWIDTH = 64")).find("WIDTH = 64") != std::string::npos);
}

TEST_CASE("schedules of the rate are left out, other calls of step() are not") {
  const std::string made = with(kScript, "    for epoch", "    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3)\n    for epoch");
  const std::string both = with(made, "optimizer, loader)\n    print", "optimizer, loader)\n        schedule.step()\n    print");
  CHECK(heard(kScript, both).find("schedule") == std::string::npos);
  const std::string other = with(kScript, "        optimizer.step()", "        optimizer.step()\n        judge.step()");
  CHECK(heard(kScript, other).find("judge.step()") != std::string::npos);
}

TEST_CASE("what may take steps itself is not after the last one") {
  for (const char* later : {"while more():\n        train(model, optimizer, loader)", "trainer.fit(model)", "trainer.train()"}) {
    const std::string text = with(kScript, "print(\"done\")", "torch.save(model, 'net.pt')\n    " + std::string(later));
    CHECK(heard(kScript, text).find("torch.save") != std::string::npos);
  }
}

TEST_CASE("a mode is what it is where something evaluates") {
  const std::string sets = with(kScript, "    optimizer =", "    model.train()\n    optimizer =");
  CHECK(heard(kScript, sets).find("model.train()") == std::string::npos);
  CHECK(heard(kScript, sets + "def check(model):\n    model.eval()\n").find("model.train()") != std::string::npos);
  CHECK(heard(kScript, with(sets, "model.train()", "trainer.train()")).find("trainer.train()") != std::string::npos);
}

TEST_CASE("a loop within a step is none that goes over steps") {
  const std::string critics =
      with(kScript, "        loss.backward()", "        for turn in range(3):\n            judge.step()\n        loss.backward()");
  CHECK(heard(critics, with(critics, "range(3)", "range(4)")).find("range(4)") != std::string::npos);
}

TEST_CASE("what an optimizer is given decides which operators its update has") {
  const std::string was = "import torch.optim as optim\nmodel = Net()\noptimizer = optim.AdamW(model.parameters(), 1e-3)\n";
  const auto edits = [&](const std::string& now) {
    return without_optimizers(script(was), script(with(was, "AdamW(model.parameters(), 1e-3)", now)));
  };
  const auto sgd = edits("SGD(model.parameters(), 0.1, 0.9)");
  REQUIRE((sgd && *sgd && (*sgd)->edits.size() == 1));
  const OptimizerEdit& edit = (*sgd)->edits[0];
  CHECK((edit.what == "AdamW → SGD(momentum=0.9)" && edit.at.line == 2));
  CHECK((!edit.adam && edit.momentum == 0.9 && edit.weight_decay == 0.0 && !edit.lists));
  CHECK(text_of((*sgd)->edited) == text_of((*sgd)->executed));
  CHECK((*edits("AdamW(model.parameters(), 2e-3)"))->edits.empty());
  const auto rate = edits("AdamW(\n    model.parameters(),\n    weight_decay=rate,\n)");
  REQUIRE(!rate);
  CHECK(rate.error().reason == "what `weight_decay` is cannot be told");
}

TEST_CASE("groups of parameters may say themselves what an optimizer is given") {
  const std::string all =
      "import torch\ngroups = [{'params': a, 'weight_decay': 0.1}, {'params': b, 'weight_decay': 0}]\n"
      "optimizer = torch.optim.AdamW(groups)\n";
  const auto each = without_optimizers(script(all), script(with(all, "AdamW", "Adam")));
  REQUIRE((each && *each && (*each)->edits.size() == 1));
  CHECK(!(*each)->edits[0].weight_decay);
  const std::string some = with(all, "'params': b, 'weight_decay': 0", "'params': b");
  const auto one = without_optimizers(script(some), script(with(some, "AdamW", "Adam")));
  REQUIRE(!one);
  CHECK(one.error().reason == "which parameters have a `weight_decay` of their own is not followed");
}

TEST_CASE("a class of that name from elsewhere is none of torch") {
  const std::string was = "from bitsandbytes.optim import AdamW\noptimizer = AdamW(model.parameters())\n";
  const auto found = without_optimizers(script(was), script(with(was, "parameters()", "parameters(), weight_decay=0")));
  CHECK((found && !*found));
}

TEST_CASE("clipping is told where it stands between the backward pass and the update") {
  const std::string clips =
      with(kScript, "        optimizer.step()", "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()");
  const auto comes = without_clipping(script(kScript), script(clips));
  REQUIRE((comes && *comes));
  CHECK(((*comes)->edits.at(0).comes && (*comes)->edits.at(0).at.line >= 0));
  CHECK(!(*without_clipping(script(clips), script(kScript)))->edits.at(0).comes);
  CHECK(!*without_clipping(script(clips), script(clips + "\n")));
  const std::string late =
      with(kScript, "        optimizer.step()", "        optimizer.step()\n        nn.utils.clip_grad_norm_(model.parameters(), 1.0)");
  CHECK(!*without_clipping(script(kScript), script(late)));
}

TEST_CASE("an argument that one operator takes as it is") {
  const std::string was = "from torch.nn import functional as F\nloss = F.cross_entropy(out, y, ignore_index=1)\n";
  const auto edits = [&](const std::string& now) { return without_arguments(script(was), script(with(was, "ignore_index=1", now))); };
  const auto smooth = edits("ignore_index=2, label_smoothing=0.1");
  REQUIRE((smooth && *smooth && (*smooth)->edits.size() == 1));
  const ArgumentEdit& edit = (*smooth)->edits[0];
  CHECK((edit.op == "aten::cross_entropy_loss" && edit.what == "cross_entropy(label_smoothing=0.0 → 0.1)" && edit.at.line == 1));
  CHECK(text_of((*smooth)->edited) == text_of((*smooth)->executed));
  CHECK(!*edits("ignore_index=1, label_smoothing=rate"));
  CHECK(!*edits("ignore_index=1, reduction='none'"));
  CHECK((*edits("ignore_index=blank"))->edits.empty());
  CHECK(
      !*without_arguments(script("loss = own.cross_entropy(out, y)\n"), script("loss = own.cross_entropy(out, y, label_smoothing=0.1)\n")));
}

TEST_CASE("which of several calls has another argument is not guessed") {
  const std::string two = "import torch.nn as nn\none = nn.MSELoss()\nother = nn.MSELoss()\n";
  const auto one = without_arguments(script(two), script(with(two, "nn.MSELoss()", "nn.MSELoss(reduction='sum')")));
  REQUIRE(!one);
  CHECK(one.error().reason == "which of several calls this is in the recorded step is not followed");
  const std::string both = "import torch.nn as nn\none = nn.MSELoss(reduction='sum')\nother = nn.MSELoss(reduction='sum')\n";
  CHECK((*without_arguments(script(two), script(both)))->edits.size() == 2);
}
