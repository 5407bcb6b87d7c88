"""Training is the same to the last bit with the recorder and without it, and nothing of the user's is held afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import plain, record
from scripts import indent

SETUP = """\
import gc
import hashlib
import random
import weakref

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
torch.set_num_threads(1)
random.seed(0)
numpy.random.seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.5)
        self.b = nn.Linear(16, 3)

    def inner(self, x):
        return self.drop(self.norm(self.a(x)).relu())

    def forward(self, x):
        if random.random() < 0.2:
            x = x + torch.randn_like(x)
        return self.b(self.inner(x))


def loader(**more):
    return DataLoader(TensorDataset(torch.randn(8000, 8), torch.randint(0, 3, (8000,))), batch_size=8, shuffle=True, **more)


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
"""
STEP = """\
optimizer.zero_grad()
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
optimizer.step()
print(loss.item().hex(), flush=True)
"""
END = """\
print("rng", hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest(), random.random(), numpy.random.rand())
print("weights", [p.detach().sum().item().hex() for p in model.parameters()])
held = [weakref.ref(t) for t in (*model.parameters(), *model.modules(), loss, x)]
del model, optimizer, loss, x, y
gc.collect()
print("held", sum(h() is not None for h in held))
"""
CHECKPOINTED = "Net.forward = lambda self, x: self.b(checkpoint(self.inner, x, use_reentrant=False))\n"
LBFGS = """\
def closure():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    return loss
loss = optimizer.step(closure)
print(loss.item().hex())
"""
SCALED = """\
optimizer.zero_grad()
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = nn.functional.cross_entropy(model(x), y)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
print(loss.item().hex())
"""
RUNS = {
    "data from workers": "for x, y in loader(num_workers=2):\n" + indent(STEP),
    "data in this process": "for epoch in range(2):\n    for x, y in loader():\n" + indent(STEP, 8),
    "no data loader": "for i in range(1500):\n    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n" + indent(STEP),
    "checkpointing": CHECKPOINTED + "for x, y in loader():\n" + indent(STEP),
    "closure": "optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)\nfor x, y in loader():\n" + indent(LBFGS) + "del closure\n",
    "scaler and autocast": "scaler = torch.amp.GradScaler('cpu')\nfor x, y in loader():\n" + indent(SCALED) + "del scaler\n",
}


@pytest.mark.parametrize("name", RUNS)
def test_results_are_the_same_to_the_last_bit(tmp_path: Path, name: str) -> None:
    (tmp_path / "train.py").write_text(SETUP + RUNS[name] + END)
    expected = plain(tmp_path, ["train.py"])
    assert expected.returncode == 0, expected.stderr
    whole = record(tmp_path, ["train.py"], ["--keep-going"])
    assert whole.out == expected.stdout, whole.err
    assert whole.out.endswith("held 0\n") and whole.bundle.manifest["steps_measured"] == 5


def test_the_steps_before_an_early_stop_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SETUP + RUNS["data in this process"] + END)
    expected = plain(tmp_path, ["train.py"]).stdout.splitlines()
    stopped = record(tmp_path, ["train.py"]).out.splitlines()
    assert 3 + 5 + 5 + 1 + 2 <= len(stopped) < 2000 and stopped == expected[: len(stopped)]
