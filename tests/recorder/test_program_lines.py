"""Operators of a recorded program name the line of the module's method that called them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from conftest import record_text

TEXT = """\
import torch
from torch import nn

class Base(nn.Module):
    def head(self, x):
        return self.last(torch.sin(x))
class Net(Base):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 2)
    def twice(self, x):
        half = lambda y: torch.cos(y)
        return half(x) + x
    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = self.twice(
            torch.exp(x)
        )
        return self.head(x)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    loss = model(torch.randn(8, 4)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_the_line_is_of_the_innermost_method(tmp_path: Path) -> None:
    run = record_text(tmp_path, TEXT)
    operators = json.loads(gzip.decompress((run.bundle.path / run.bundle.manifest["program"]).read_bytes()))["operators"]
    lines = TEXT.splitlines()
    said = {one["op"].removeprefix("aten::"): lines[one["line"] - 1].strip() for one in operators if "line" in one}
    assert said == {
        "tanh": "x = torch.tanh(self.first(x))",
        "exp": "torch.exp(x)",
        "cos": "return half(x) + x",  # a function within a method is none
        "add": "return half(x) + x",
        "sin": "return self.last(torch.sin(x))",
    }
    assert not any("line" in one for one in operators if one["op"] == "aten::linear")  # of torch's own `forward`
