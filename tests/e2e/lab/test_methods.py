"""Methods that `forward` calls are parts of it: what comes and goes in them is found as in `forward`."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import LOOP, edit, predicted, record, told_as_run

# A part that only hands on (`stem`), parts that do more, one in a base class, one that is called by another, one that gives two values.
TEXT = LOOP.format(
    model="""
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.wide, self.narrow = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
    def forward(self, x):
        x = self.wide(x)
        x = F.gelu(x)
        return self.narrow(x)
class Base(nn.Module):
    def head(self, x):
        x = self.drop(x)
        return self.last(x)
class Net(Base):
    def __init__(self, width=24):
        super().__init__()
        self.first, self.norm, self.mix = nn.Linear(12, width), nn.LayerNorm(width), nn.Linear(2 * width, width)
        self.drop, self.last, self.side = nn.Dropout(0.1), nn.Linear(width, 10), nn.Linear(width, 4)
        self.a, self.b = Block(width), Block(width)
    def stem(self, x):
        x = self.first(x)
        x = self.norm(x)
        return F.relu(x)
    def features(self, x):
        x = self.stem(x)
        y = x + self.a(x)
        y = y + self.b(y)
        y = torch.cat([x, y], dim=-1)
        return F.silu(self.mix(y))
    def unused(self, x):
        y = F.relu(x)
        return x * y
    def both(self, x):
        h = self.features(x)
        spread = torch.exp(0.1 * h)
        return h * spread, self.side(h)
    def forward(self, x):
        x, side = self.both(x)
        x = x + side.mean()
        return self.head(x)
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(n, 12), torch.randint(10, (n,)))"""
)
EDITS = {  # what stands there, what stands there then, and how it is told
    "a part that hands on": ("x = self.norm(x)\n", "x = self.norm(x)\n        x = self.drop(x)\n", ["Dropout(0.1) called"]),
    "its first call": ("x = self.first(x)", "x = self.first(F.gelu(x))", ["gelu added"]),
    "what it gives": ("x = self.stem(x)", "x = F.dropout(self.stem(x), 0.2)", ["dropout added"]),
    "on what it gets": ("x = self.stem(x)", "x = self.drop(x)\n        x = self.stem(x)", ["Dropout(0.1) called"]),
    "a statement": ("y], dim=-1)", "y], dim=-1)\n        y = F.relu(y)", ["relu added"]),
    "a function": ("F.silu(self.mix(y))", "F.gelu(self.mix(y))", ["silu → gelu"]),
    "a base class": ("x = self.drop(x)\n", "", ["Dropout(0.1) not called"]),
    "one of two values": ("self.side(h)", "self.side(torch.tanh(h))", ["tanh added"]),
    "its statements in another": (
        "x = self.stem(x)",
        "x = self.first(x)\n        x = self.norm(x)\n        x = F.silu(x)",
        ["relu → silu"],
    ),
    # The module around adds what went in: it is another tensor than what the block works on now.
    "a layer that nobody called": ("x = self.wide(x)", "x = self.norm(x)\n        x = self.wide(x)", ["LayerNorm(24) called"]),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("methods")
    record(folder, TEXT)
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_what_comes_and_goes_in_a_method(recorded: Path, tmp_path: Path, name: str) -> None:
    was, now, told = EDITS[name]
    assert told_as_run(recorded, edit(recorded, TEXT, was, now), tmp_path) == told


@pytest.mark.parametrize(
    ("was", "now", "reason"),
    [
        ("self.head(x)", "self.head(self.unused(x))", "`self.unused` is no layer, and what it calls is not followed"),
        (
            "def head(self, x):\n",
            "def head(self, x):\n        x = x * 2\n",
            "Base.head was edited; only plain calls of layers in it are followed",
        ),
        ("return F.relu(x)", "return torch.cat([x, x])", "Net.stem was edited; only plain calls of layers in it are followed"),
    ],
)
def test_what_a_method_does_else_is_refused(recorded: Path, was: str, now: str, reason: str) -> None:
    edit(recorded, TEXT, was, now)
    (refused,) = predicted(recorded)["refused"]
    assert refused["reason"] == reason


def test_a_method_that_others_call_too_is_refused(tmp_path: Path) -> None:
    """The loop may call it: then it ran without `forward`."""
    text = TEXT + "def embedded(x):\n    return model.features(x)\n"
    record(tmp_path, text)
    edit(tmp_path, text, "F.silu(self.mix(y))", "F.gelu(self.mix(y))")
    (refused,) = predicted(tmp_path)["refused"]
    assert refused["reason"] == "Net.features was edited; only what constructors make is followed"
