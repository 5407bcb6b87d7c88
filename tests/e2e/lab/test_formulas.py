"""`hotlens whatif` of formulas that torch has an operator for, on real recordings: against the script that really calls it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import PYTHON
from test_whatif import Change, answer, ask, changed, record, row
from training import LOOP

# Three ways to write attention: a mask that is filled in, one that is added, dropout.
ATTENTION = LOOP.format(
    model="""
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("seen", torch.tril(torch.ones(24, 24)).view(1, 1, 24, 24) == 0)
    def split(self, x):
        return (part.view(*x.shape[:2], 4, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, 2))
    def join(self, y):
        return self.out(y.transpose(1, 2).flatten(2))
class Causal(Layer):
    def forward(self, x):
        q, k, v = self.split(x)
        scores = q @ k.transpose(-2, -1) * (1.0 / 4)
        scores = scores.masked_fill(self.seen, float("-inf"))
        return self.join(F.softmax(scores, -1) @ v)
class Biased(Layer):
    def __init__(self, width):
        super().__init__(width)
        self.bias = nn.Parameter(torch.zeros(4, 24, 24))
    def forward(self, x):
        q, k, v = self.split(x)
        scores = torch.matmul(q, k.transpose(2, 3)) / 4.0
        weights = nn.functional.softmax(scores + self.bias, dim=3)
        return self.join(torch.matmul(weights, v))
class Dropping(Layer):
    def forward(self, x):
        q, k, v = self.split(x)
        q = q * 0.25
        weights = F.dropout((q @ k.mT).softmax(-1), 0.1, self.training)
        return self.join(weights @ v)
model = nn.Sequential(nn.Embedding(100, 64), Causal(64), Biased(64), Dropping(64), nn.Flatten(), nn.Linear(64 * 24, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tensors = lambda n: (torch.randint(100, (n, 24)), torch.randint(10, (n,)))
"""
)
FUSED: list[Change] = [
    (
        """        scores = q @ k.transpose(-2, -1) * (1.0 / 4)
        scores = scores.masked_fill(self.seen, float("-inf"))
        return self.join(F.softmax(scores, -1) @ v)""",
        "        return self.join(F.scaled_dot_product_attention(q, k, v, attn_mask=~self.seen))",
    ),
    (
        """        scores = torch.matmul(q, k.transpose(2, 3)) / 4.0
        weights = nn.functional.softmax(scores + self.bias, dim=3)
        return self.join(torch.matmul(weights, v))""",
        "        return self.join(F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias))",
    ),
    (
        """        weights = F.dropout((q @ k.mT).softmax(-1), 0.1, self.training)
        return self.join(weights @ v)""",
        "        return self.join(F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, scale=1.0))",
    ),
]

STEPS = LOOP.format(
    model="""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cell, self.head = nn.Embedding(100, 64), nn.GRUCell(64, 64), nn.Linear(64, 10)
        self.decay = nn.Parameter(torch.rand(64))
    def forward(self, x):
        x = self.words(x)
        h = torch.zeros(x.size(0), 64)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        y, state = x.transpose(0, 1), 0.0
        for t in range(len(y)):
            state = self.decay * state + y[t]
        return self.head(h + state)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tensors = lambda n: (torch.randint(100, (n, 40)), torch.randint(10, (n,)))
"""
)
APART: list[Change] = [
    ("for t in range(x.size(1)):", "for x_t in x.unbind(1):"),
    ("self.cell(x[:, t], h)", "self.cell(x_t, h)"),
    ("        for t in range(len(y)):", "        steps = y.unbind(0)\n        for t in range(len(y)):"),
    ("state + y[t]", "state + steps[t]"),
]

FORMULA = LOOP.format(
    model="""
class New(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))
class Fast(nn.Module):
    def forward(self, x):
        return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))
conv = lambda i, o: nn.Conv2d(i, o, 3, padding=1)
model = nn.Sequential(conv(3, 16), New(), conv(16, 16), Fast(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tensors = lambda n: (torch.randn(n, 3, 32, 32), torch.randint(10, (n,)))
"""
)
CALLED: list[Change] = [
    ("0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))", "F.gelu(x, approximate='tanh')"),
    ("x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))", "F.gelu(x, approximate='tanh')"),
]

CASES: dict[str, tuple[str, list[Change], str, list[str]]] = {
    "fused_attention": (ATTENTION, FUSED, "3 attentions as product, softmax, product, 1 with dropout", ["1", "2", "3"]),
    "unbind_time": (STEPS, APART, "x[t] is taken 80 times from 2 sequences", [""]),
    "gelu_tanh": (FORMULA, CALLED, "compute 2 GELUs by its formula", ["1", "3"]),
}


@pytest.mark.parametrize("kind", CASES)
def test_the_peak_is_that_of_the_script_that_calls_the_operator(tmp_path: Path, kind: str) -> None:
    script, changes, evidence, modules = CASES[kind]
    was = record(tmp_path / "before", script)
    is_now = record(tmp_path / "after", changed(script, changes))
    assert is_now < was, "the change shows in memory"
    item = row(answer(tmp_path / "before", kind)["items"], kind)
    assert item["peak_was_bytes"] == was
    assert item["peak_bytes"] == is_now
    assert item["modules"] == modules
    assert evidence in item["evidence"][0]["what"]
    assert row(answer(tmp_path / "after", kind)["refused"], kind)["reason"]


# What the edited text has, and what it had.
EDITED: dict[str, list[Change]] = {
    "unbind_time": [
        ("        for t in range(x.size(1)):", "        x_steps = x.unbind(1)\n        for t in range(x.size(1)):"),
        ("self.cell(x[:, t], h)", "self.cell(x_steps[t], h)"),
        ("        for t in range(len(y)):", "        y_steps = y.unbind(0)\n        for t in range(len(y)):"),
        ("state + y[t]", "state + y_steps[t]"),
    ],
    "gelu_tanh": [(was, 'F.gelu(x, approximate="tanh")') for was, _ in CALLED],
}


def results(text: str) -> list[float]:
    """The loss of a step, and all gradients."""
    short = "import torch\ntorch.manual_seed(0)\n" + text.replace("tensors(160)", "tensors(8)")
    tell = "\nimport json\nprint(json.dumps([loss.item(), *(g for p in model.parameters() for g in p.grad.flatten().tolist())]))"
    done = subprocess.run([PYTHON, "-c", short + tell], capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", EDITED)
def test_the_edited_script_computes_the_same(tmp_path: Path, kind: str) -> None:
    script = CASES[kind][0]
    folder = tmp_path / "work"
    record(folder, script)
    done = ask(folder, kind, "--apply")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (folder / "train.py").read_text()
    assert text == changed(script, EDITED[kind])
    assert results(text) == pytest.approx(results(script), rel=1e-6, abs=1e-6)
