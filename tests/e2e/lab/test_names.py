"""What a name of Python holds lives on where autograd no longer keeps it: peaks as of the edited script when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import edit, record, told_as_run

TEXT = """
import torch
from torch import nn
from torch.nn import functional as F
class Net(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.first, self.act, self.norm = nn.Linear(32, width), nn.GELU(), nn.LayerNorm(width)
        self.second, self.last = nn.Linear(width, width), nn.Linear(width, 8)
    def forward(self, x):
        hidden = self.first(x)
        active = self.act(hidden)
        normed = self.norm(active)
        again = self.second(normed)
        squashed = F.gelu(again)
        return self.last(squashed)
model = nn.Sequential(Net(), nn.Linear(8, 32), Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    x, y = torch.randn(256, 32), torch.randint(8, (256,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    record(folder, TEXT)
    return folder


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("nn.GELU()", "nn.ReLU()"),  # keeps what it gives, where the other keeps what it gets
        ("nn.GELU()", "nn.Tanh()"),
        ("F.gelu(again)", "F.relu(again)"),
        ("nn.LayerNorm(width)", "nn.Identity()"),
        ("model = nn.Sequential(Net(), nn.Linear(8, 32), Net())", "model = nn.Sequential(Net(), nn.Linear(8, 32), Net()).bfloat16()"),
    ],
)
def test_the_peak_is_that_of_the_edited_script(recorded: Path, tmp_path: Path, was: str, now: str) -> None:
    text = TEXT.replace(was, now)
    if "bfloat16" in now:
        text = text.replace("    optimizer.zero_grad()", "    x = x.bfloat16()\n    optimizer.zero_grad()")
    assert told_as_run(recorded, edit(recorded, TEXT, TEXT, text), tmp_path)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("        normed = self.norm(active)\n", ""), ("(normed)", "(active)")], ["LayerNorm(128) not called"]),
        ([("        squashed = F.gelu(again)\n", ""), ("(squashed)", "(again)")], ["gelu removed"]),
        (
            [("        active = self.act(hidden)\n        normed = self.norm(active)\n", ""), ("(normed)", "(hidden)")],
            ["GELU() not called", "LayerNorm(128) not called"],
        ),
    ],
)
def test_a_call_goes_whose_result_had_a_name(recorded: Path, tmp_path: Path, pairs: list[tuple[str, str]], told: list[str]) -> None:
    text = TEXT
    for was, now in pairs:
        assert was in text
        text = text.replace(was, now)
    assert sorted(set(told_as_run(recorded, edit(recorded, TEXT, TEXT, text), tmp_path))) == told


ENDS = """
import torch
from torch import nn
from torch.nn import functional as F
class Block(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.up, self.down, self.drop = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Dropout(0.1)
    def forward(self, x):
        wide = F.gelu(self.up(x))
        narrow = self.down(wide)
        dropped = self.drop(narrow)
        output = x + dropped
        return output
layer = nn.TransformerEncoderLayer(48, 4, 192, batch_first=True, activation="gelu")
model = nn.Sequential(nn.Embedding(60, 48), nn.TransformerEncoder(layer, 2), Block(), Block(), nn.Linear(48, 60))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    x = torch.randint(60, (8, 20))
    loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("        return output", "        output = F.relu(output)\n        return output"),
        ("(layer, 2)", "(layer, 3)"),
        ('activation="gelu"', 'activation="relu"'),
        ('activation="gelu")', "activation=F.relu)"),
    ],
)
def test_what_names_hold_goes_when_their_function_returns(tmp_path: Path, was: str, now: str) -> None:
    """After what comes at its end: a call, a layer of torch's own loop over layers."""
    record(tmp_path / "ends", ENDS)
    assert told_as_run(tmp_path / "ends", edit(tmp_path / "ends", ENDS, was, now), tmp_path / "truth")
