// What constructors and bodies say, read from small texts.
#include <algorithm>
#include <set>
#include <string>

#include "annotator/guess/python/evaluator.h"
#include "tests/unit/catch.h"
#include "tests/unit/guess/attached.h"
#include "tests/unit/guess/python_folder.h"

namespace hotlens::guess {
namespace {

TEST_CASE("attributes stand on the statement that names them") {
  PythonFolder folder;
  folder.write("m.py", R"(from torch import nn
import torch.nn as tn

class Net(nn.Module):
    def __init__(self, act, deep):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        norm = tn.BatchNorm2d(4)
        self.norm = norm
        self.act = act()
        self.head = nn.Linear(4, 5) if deep else nn.Identity()
        self.size = 4
        self.drop: nn.Module = nn.Dropout(
            0.1)
)");
  const auto found = attributes(folder, "m.py", "Net");
  CHECK(found.at("conv") == Lines{"7:Conv2d"});
  CHECK(found.at("norm") == Lines{"9:BatchNorm2d"});
  CHECK(found.at("act") == Lines{"10"});
  CHECK(found.at("head") == Lines{"11:Linear", "11:Identity"});
  CHECK(found.at("drop") == Lines{"13:Dropout"});
  CHECK_FALSE(found.contains("size"));
}

TEST_CASE("an attribute set again replaces the first, under a condition both count") {
  PythonFolder folder;
  folder.write("m.py", R"(from torch import nn
class Net(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.a = nn.Linear(1, 1)
        self.a = nn.Identity()
        if wide:
            self.b = nn.Linear(1, 1)
        else:
            self.b = nn.Conv1d(1, 1, 1)
)");
  const auto found = attributes(folder, "m.py", "Net");
  CHECK(found.at("a") == Lines{"6:Identity"});
  CHECK(found.at("b") == Lines{"8:Linear", "10:Conv1d"});
}

TEST_CASE("what a script may replace afterwards counts beside what the constructor made") {
  PythonFolder folder;
  folder.write("m.py", R"(from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(1, 1)
        self.stem = nn.Linear(1, 1)
        self.neck = nn.Linear(1, 1)
        self.side = nn.Linear(1, 1)
        self.act = nn.Tanh()
        self.rows = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
        self.widen()
    def reset_head(self, classes):
        self.head = nn.Linear(1, classes)
    def reset_stem(self):
        self.stem = nn.Linear(2, 2)
    def widen(self):
        self.wide = nn.Linear(1, 9)
)");
  folder.write("train.py", R"(from m import Net
from torch import nn
model = Net()
model.reset_head(10)
model.widen()
def replace(model):
    model.neck = nn.Identity()
    model.width = 4
    setattr(model, "side", nn.Identity())
    model.rows[1] = nn.Identity()
    for name, child in model.named_children():
        setattr(model, name, nn.Tanh())
)");
  const auto plain = attributes(folder, "m.py", "Net");
  CHECK(plain.at("head") == Lines{"5:Linear"});
  const auto found = attributes(folder, "m.py", "Net", "train.py");
  CHECK(found.at("head") == Lines{"5:Linear", "13:Linear", "train.py 12:Tanh"});
  CHECK(found.at("side") == Lines{"8:Linear", "train.py 9:Identity", "train.py 12:Tanh"});
  CHECK(found.at("act") == Lines{"9:Tanh", "train.py 12:Tanh"});
  CHECK(found.at("stem") == Lines{"6:Linear", "train.py 12:Tanh"});
  CHECK(found.at("neck") == Lines{"7:Linear", "train.py 7:Identity", "train.py 12:Tanh"});
  CHECK(found.at("wide") == Lines{"17:Linear", "train.py 12:Tanh"});
  CHECK(found.at("rows") == Lines{"10:Sequential", "train.py 12:Tanh"});
  CHECK_FALSE(found.contains("width"));
}

TEST_CASE("what is given to an attribute behind a loop may be given to what the loop made") {
  PythonFolder folder;
  folder.write("m.py", R"(from torch import nn
class Other(nn.Module):
    def __init__(self, wide):
        super().__init__()
        if wide:
            self.a = nn.Sequential()
            for _ in range(wide):
                self.a = nn.ModuleList()
            self.a.add_module("x", nn.ReLU())
)");
  Library library({folder.path()});
  Evaluator evaluator(library);
  const Code* code = library.file(folder.path() / "m.py");
  const auto holding = [&](const std::string& type, const std::string& attribute, const std::string& child) {
    std::set<std::string> found;
    const ValueId object = evaluator.some(evaluator.class_named(*code, type));
    for (const ValueId one : evaluator.alternatives(evaluator.attribute(object, attribute))) {
      const Value& inner = evaluator.at(evaluator.object(one));
      const bool has = std::ranges::any_of(inner.slots, [&](const Slot& slot) { return slot.name == child; }) ||
                       std::ranges::any_of(inner.entries, [&](const Slot& slot) { return slot.name == child; });
      if (has) found.insert(inner.type == kNoClass ? "?" : evaluator.type(inner.type).name);
    }
    return found;
  };
  CHECK(holding("Other", "a", "x") != Lines{"Sequential"});
}

TEST_CASE("entries named from a table stand on the statement that adds them") {
  PythonFolder folder;
  folder.write("m.py", R"(from torch import nn
class Net(nn.Sequential):
    def __init__(self, order):
        super().__init__()
        made = {"A": None, "N": None}
        made["A"] = nn.ReLU()
        for kind in order:
            self.add_module(kind, made[kind])
        for index in range(2):
            self.add_module(str(index), nn.Tanh())
)");
  const auto found = attributes(folder, "m.py", "Net");
  CHECK(found.at("**") == Lines{"8:ReLU"});
  CHECK(found.at("*") == Lines{"10:Tanh"});
}

TEST_CASE("a base class in another file makes its layers there") {
  PythonFolder folder;
  folder.write("pkg/__init__.py", "from .base import Base as Foundation\n");
  folder.write("pkg/base.py", R"(from torch import nn
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 1, 1)
)");
  folder.write("m.py", R"(from torch import nn
from pkg import Foundation
class Net(Foundation):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(1, 1)
)");
  const auto found = attributes(folder, "m.py", "Net");
  CHECK(found.at("stem") == Lines{"base.py 5:Conv2d"});
  CHECK(found.at("head") == Lines{"6:Linear"});
}

TEST_CASE("entries of a container stand on the expressions that make them") {
  PythonFolder folder;
  folder.write("m.py", R"(from torch import nn
def conv(n):
    return nn.Conv2d(n, n, 1)
class Stack(nn.Sequential):
    def __init__(self, depth):
        layers = [conv(1),
                  nn.ReLU()]
        for _ in range(depth):
            layers.append(nn.Linear(1, 1))
        super().__init__(*layers)
)");
  const auto found = attributes(folder, "m.py", "Stack");
  CHECK(found.at("0") == Lines{"6:Conv2d"});
  CHECK(found.at("1") == Lines{"7:ReLU"});
  CHECK(found.at("2") == Lines{"9:Linear"});
}

TEST_CASE("names with unknown parts are matched by their known ones") {
  PythonFolder folder;
  folder.write("m.py", R"(from torch import nn
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        for i in range(n):
            self.add_module(f"layer{i}", nn.Linear(1, 1))
            setattr(self, "norm%d" % i, nn.LayerNorm(1))
            self.add_module("act_{}".format(i + 1), nn.ReLU())
)");
  Library library({folder.path()});
  Evaluator evaluator(library);
  const Code* code = library.file(folder.path() / "m.py");
  const ValueId net = evaluator.some(evaluator.class_named(*code, "Net"));
  const auto line_of = [&](const char* name) {
    const ValueId place = evaluator.attribute(net, name);
    return evaluator.at(place).kind == Value::Kind::place ? static_cast<int>(evaluator.at(place).node.range().begin.line) + 1 : 0;
  };
  CHECK(line_of("layer3") == 6);
  CHECK(line_of("norm0") == 7);
  CHECK(line_of("act_1") == 8);
  CHECK(line_of("gate_1") == 0);
  CHECK(line_of("head") == 0);
}

TEST_CASE("a constructor that calls itself, or nests without end, ends") {
  PythonFolder folder;
  std::string deep = "x = ";
  for (int i = 0; i < 5000; ++i) deep += "(";
  folder.write("m.py", "from torch import nn\n" + deep + R"(
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = self.make()
    def make(self):
        return self.make()
class Loop(Loop):
    pass
)");
  Library library({folder.path()});
  Evaluator evaluator(library);
  const Code* code = library.file(folder.path() / "m.py");
  REQUIRE(code != nullptr);
  for (const char* name : {"Net", "Loop"}) {
    if (const ClassId type = evaluator.class_named(*code, name); type != kNoClass) evaluator.entries(evaluator.some(type));
  }
  SUCCEED();
}

TEST_CASE("a trace's path is never followed out of the roots") {
  PythonFolder folder;
  folder.write("in/m.py", "x = 1\n");
  folder.write("out/secret.py", "x = 1\n");
  Library library({folder.path() / "in"});
  CHECK(library.traced("m.py") != nullptr);
  CHECK(library.traced((folder.path() / "in/m.py").string()) != nullptr);
  CHECK(library.traced("../out/secret.py") == nullptr);
  CHECK(library.traced((folder.path() / "out/secret.py").string()) == nullptr);
  CHECK(library.traced("m.txt") == nullptr);
}

TEST_CASE("calls align with a body's ways, and only those that every way allows are certain") {
  // a (b | c)* d
  Pattern pattern;
  pattern.states = 5;
  pattern.calls.resize(4);
  pattern.edges = {{0, 2, 0}, {2, 3, 1}, {2, 3, 2}, {3, 2, -1}, {2, 1, 3}};
  const auto sequence = [&](std::string_view text, std::string_view either) {
    return align(pattern, text.size(), [&](std::uint32_t call, std::size_t token) {
      const char name = "abcd"[call];
      return text[token] == name || (text[token] == '?' && either.find(name) != std::string_view::npos);
    });
  };
  using Found = std::vector<std::vector<std::uint32_t>>;
  CHECK(sequence("abcd", "") == Found{{0}, {1}, {2}, {3}});
  CHECK(sequence("a?d", "bc") == Found{{0}, {1, 2}, {3}});
  CHECK(sequence("a?d", "abcd") == Found{{0}, {1, 2}, {3}});
  CHECK_FALSE(sequence("abc", "").has_value());
  CHECK_FALSE(sequence("bd", "").has_value());
}

}  // namespace
}  // namespace hotlens::guess
