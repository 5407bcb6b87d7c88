// Modules made in forms that only few sources use: fields, what nobody can look up.
#include "tests/unit/catch.h"
#include "tests/unit/guess/attached.h"
#include "tests/unit/guess/python_folder.h"

namespace hotlens::guess {
namespace {

TEST_CASE("what only running tells is not known, and makes a module all the same") {
  PythonFolder folder;
  folder.write("m.py", R"(import importlib
from nowhere import *
from torch import nn
Act, Norm = nn.ReLU, nn.LayerNorm
Fast, found = look_up("fast")
layers = importlib.import_module("parts")
class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.act = Act()
        self.norm = Norm(1)
        self.fast = Fast(1)
        self.part = layers.Part()
        self.kind = eval(kind)()
        self.star = Star()
        self.size = len(kind)
)");
  const auto found = attributes(folder, "m.py", "Net");
  CHECK(found.at("act") == Lines{"10:ReLU"});
  CHECK(found.at("norm") == Lines{"11:LayerNorm"});
  CHECK(found.at("fast") == Lines{"12"});
  CHECK(found.at("part") == Lines{"13"});
  CHECK(found.at("kind") == Lines{"14"});
  CHECK(found.at("star") == Lines{"15"});
  CHECK_FALSE(found.contains("size"));
}

TEST_CASE("a field that a class gives a value may hold another") {
  PythonFolder folder;
  folder.write("m.py", R"(from dataclasses import dataclass
from torch import nn
@dataclass
class Config:
    norm: type = nn.LayerNorm
class Net(nn.Module):
    act = nn.ReLU
    def __init__(self):
        super().__init__()
        config = Config(nn.BatchNorm2d)
        self.norm = config.norm(1)
        self.last = self.act()
)");
  const auto found = attributes(folder, "m.py", "Net");
  CHECK(found.at("norm") == Lines{"11", "11:LayerNorm"});
  CHECK(found.at("last") == Lines{"12:ReLU"});
}

TEST_CASE("what Python's own library is called is enough, also where its source can be read") {
  PythonFolder folder;
  folder.write("collections/__init__.py",
               "class OrderedDict(dict):\n    def __init__(self, other=(), /, **rest):\n        self.update(other)\n");
  folder.write("m.py", R"(from collections import OrderedDict
from torch import nn
class Net(nn.Sequential):
    def __init__(self):
        super().__init__(OrderedDict([
            ("fc", nn.Linear(1, 1)),
        ]))
)");
  CHECK(attributes(folder, "m.py", "Net").at("fc") == Lines{"5:Linear"});
}

}  // namespace
}  // namespace hotlens::guess
