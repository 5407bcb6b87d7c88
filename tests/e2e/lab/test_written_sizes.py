"""Sizes that a text writes as numbers, `x.view(-1, 16 * 5 * 5)`: they stay where layers are edited, and may be edited, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import edit, predicted, record, recorded_peak

# The network that people begin with, and sizes of the loop.
TEXT = """
import torch
from torch import nn
from torch.nn import functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.pool = nn.Conv2d(3, 6, 5), nn.Conv2d(6, 16, 5), nn.MaxPool2d(2, 2)
        self.wide, self.last = nn.Linear(16 * 5 * 5, 120), nn.Linear(120, 10)
    def forward(self, x):
        x = self.pool(F.relu(self.first(x)))
        x = self.pool(F.relu(self.second(x)))
        x = x.view(-1, 16 * 5 * 5)
        return self.last(F.relu(self.wide(x)))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
for step in range(24):
    x, y = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x).view(-1, 10), y.view(-1))
    loss.backward()
    optimizer.step()
"""
# Beside numbers sizes of the tensor.
MIXED = """
import torch
from torch import nn
from torch.nn import functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.parts, self.last = nn.Embedding(50, 24), nn.Linear(24, 48), nn.Linear(9 * 16, 5)
    def forward(self, x):
        b = x.size(0)
        q, k, v = self.parts(self.embed(x)).view(b, 9, 3, 16).unbind(2)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.last(x.reshape(x.size(0), 9 * 16))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.randint(50, (4000, 9))
data[0, 0] = 49
for i in range(24):
    loss = F.cross_entropy(net(data[8 * i : 8 * i + 8]), torch.randint(5, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SECOND, WIDE, VIEW = ("Conv2d(6, 16, 5)", "Conv2d(6, 32, 5)"), ("Linear(16 * 5", "Linear(32 * 5"), ("view(-1, 16 * 5", "view(-1, 32 * 5")
PARTS, SPLIT = ("Linear(24, 48)", "Linear(24, 96)"), ("view(b, 9, 3, 16)", "view(b, 9, 3, 32)")
JOINED = ("reshape(x.size(0), 9 * 16)", "reshape(x.size(0), 9 * 32)"), ("Linear(9 * 16, 5)", "Linear(9 * 32, 5)")
Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("written")
    for name, text in (("net", TEXT), ("mixed", MIXED)):
        record(place / name, text)
    return {TEXT: place / "net", MIXED: place / "mixed"}


def changed(text: str, pairs: Pairs) -> str:
    for was, now in pairs:
        assert text.count(was) == 1
        text = text.replace(was, now)
    return text


@pytest.mark.parametrize(
    ("text", "pairs", "what"),
    [
        (TEXT, [SECOND, WIDE, VIEW], "view(-1, 400 → 800)"),
        (TEXT, [("Linear(120, 10)", "Linear(120, 20)"), ("view(-1, 10)", "view(-1, 20)")], "view(-1, 10 → 20)"),
        (MIXED, [PARTS, SPLIT, *JOINED], "view(b, 9, 3, 16 → 32)"),
        (TEXT, [("Linear(16 * 5 * 5, 120)", "Linear(16 * 5 * 5, 60)"), ("Linear(120", "Linear(60")], "Linear(120 → 60, 10)"),
    ],
)
def test_edited_with_their_layers_they_are_told(recorded: dict[str, Path], tmp_path: Path, text: str, pairs: Pairs, what: str) -> None:
    now = edit(recorded[text], text, text, changed(text, pairs))
    document = predicted(recorded[text])
    assert document["refused"] == document["misfits"] == []
    assert what in [one["what"] for one in document["edits"]]
    record(tmp_path / "truth", now)
    assert {one["peak_bytes"] for one in document["edits"]} == {recorded_peak(tmp_path / "truth")}


@pytest.mark.parametrize(
    ("text", "pairs", "why"),
    [
        (TEXT, [SECOND], "input batch_size (8) to match target batch_size (4)"),
        (TEXT, [SECOND, WIDE], "Linear(800, 120) gets 400 features"),
        (TEXT, [("Linear(120, 10)", "Linear(120, 12)")], "shape '[-1, 10]' is invalid for input of size 48"),
        (TEXT, [("view(-1, 10)", "view(-1, 5)")], "input batch_size (8) to match target batch_size (4)"),
        (MIXED, [PARTS], "shape '[8, 9, 3, 16]' is invalid"),
        (MIXED, [PARTS, SPLIT], "shape '[8, 144]' is invalid"),
    ],
)
def test_one_that_was_left_behind_does_not_fit_as_in_the_script(recorded: dict[str, Path], text: str, pairs: Pairs, why: str) -> None:
    edit(recorded[text], text, text, changed(text, pairs))
    document = predicted(recorded[text])
    (misfit,) = document["misfits"]
    assert why in misfit["reason"] and document["refused"] == []


def test_a_batch_that_is_a_part_of_all_data_names_all_that_it_named(recorded: dict[str, Path]) -> None:
    """A table of fewer rows, of which the recorded batch had the last ones."""
    edit(recorded[MIXED], MIXED, "Embedding(50", "Embedding(25")
    document = predicted(recorded[MIXED])
    (one,) = document["misfits"] + document["refused"]
    assert "named what is not there any more" in one["reason"] or "index out of range" in one["reason"]
