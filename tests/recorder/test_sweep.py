"""The verb `sweep`: several models of a script as one, in the process of the script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import RECORDER

START = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\ntorch.manual_seed(0)\n"
LOOP = """
for step in range(9):
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
    print(step, loss.item(), flush=True)
print("reached the end")
"""

MLP = (
    "model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))\n"
    "optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)\n"
    "criterion = nn.CrossEntropyLoss()\n"
    "x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))\n"
) + LOOP.format(loss="criterion(model(x), y)")

CNN = (
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.conv, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8 * 9, 4)\n"
    "    def forward(self, x):\n"
    "        return self.head(F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1))\n"
    "model = Net()\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-3)\n"
    "x, y = torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))\n"
) + LOOP.format(loss="F.cross_entropy(model(x), y) + 0.1 * model(x).square().mean()")

TRANSFORMER = (
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.words, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)\n"
    "        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True), 2)\n"
    "    def forward(self, x):\n"
    "        return self.head(self.body(self.words(x)))\n"
    "model = Net()\n"
    "optimizer = torch.optim.AdamW([{'params': model.words.parameters(), 'weight_decay': 0.0},\n"
    "    {'params': [p for n, p in model.named_parameters() if 'words' not in n]}], lr=1e-3)\n"
    "x = torch.randint(0, 20, (4, 8))\n"
) + LOOP.format(loss="F.cross_entropy(model(x)[:, :-1].reshape(-1, 20), x[:, 1:].reshape(-1))")

WIDE = ("model = nn.Linear(256, 512)\noptimizer = torch.optim.Adam(model.parameters(), lr=1e-3)\nx = torch.randn(16, 256)\n") + LOOP.format(
    loss="(model(x) - 1).pow(2).mean()"
)

NORM = (
    "model = nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)\n"
    "x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))\n"
) + LOOP.format(loss="F.cross_entropy(model(x), y)")


def tried(folder: Path, script: str, *words: str) -> tuple[dict[str, Any], str]:
    file = folder / "train.py"
    file.write_text(START + script)
    result = folder / "result.json"
    command = [sys.executable, str(RECORDER), "sweep", "--result", str(result), "--limit", "0", *words, "--", "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert file.read_text() == START + script
    return json.loads(result.read_text()), done.stdout


@pytest.mark.parametrize("script", [MLP, CNN, TRANSFORMER, WIDE, NORM], ids=["mlp", "cnn", "transformer", "wide", "batch_norm"])
def test_stacked_models_compute_what_separate_ones_do(tmp_path: Path, script: str) -> None:
    found, said = tried(tmp_path, script, "--models", "3")
    assert found["loss"] == "loop"
    (row,) = found["tried"]
    assert row["models"] == 3
    assert 0 < row["difference"] <= 1e-10
    assert len(row["pairs"]) >= 2
    assert min(min(pair) for pair in row["pairs"]) > 0
    assert row["together_bytes"] > row["separate_bytes"] > 0
    assert said.splitlines() == said.splitlines()[:1]  # the script does not go on behind its second update


def test_another_training_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from hotlens.sweep import models as sweep_models
    from hotlens.sweep import tape as sweep_tape

    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(3, 4)
    out = model(x)
    root = out.sum()
    tape = sweep_tape.finished([sweep_tape.Entry(None, (x,), {}, out), sweep_tape.Entry(torch.sum, (out,), {}, root)], root)
    settings = sweep_models.Settings(optimizer, model)
    same = sweep_models.difference(model, settings, tape, 2)
    assert same is not None and same <= 1e-10
    calls: list[int] = []

    def rates(count: int) -> list[float]:
        calls.append(count)
        return [1 + 1e-6 * len(calls)] * count

    monkeypatch.setattr(sweep_models, "rates", rates)
    other = sweep_models.difference(model, settings, tape, 2)
    assert other is not None and other > 1e-8


def test_code_that_asks_for_float32_and_draws_its_own_random_numbers_is_compared_too(tmp_path: Path) -> None:
    script = (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.a, self.b = nn.Linear(16, 8), nn.Linear(8, 4)\n"
        "    def forward(self, x):\n"
        "        h = F.dropout(self.a(x), 0.5, training=self.training)\n"
        "        return self.b(h).float() + torch.ones(4) / 3\n"
    ) + MLP.replace("nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))", "Net()")
    found, _ = tried(tmp_path, script, "--models", "2")
    assert found["tried"][0]["difference"] <= 1e-10


def test_a_fused_rnn_is_named_with_its_line(tmp_path: Path) -> None:
    script = (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.rnn = nn.LSTM(4, 8)\n"
        "    def forward(self, x):\n"
        "        return self.rnn(x)[0]  # here\n"
        "model = Net()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)\n"
        "x = torch.randn(5, 2, 4)\n"
    ) + LOOP.format(loss="model(x).square().mean()")
    found, _ = tried(tmp_path, script, "--models", "2")
    failed = found["tried"][0]["failed"]
    assert "lstm" in failed["message"]
    assert (START + script).splitlines()[failed["line"]].endswith("# here")
    assert failed["file"] == str(tmp_path / "train.py")


def test_a_loss_that_cannot_be_computed_again_is_replaced_and_that_is_said(tmp_path: Path) -> None:
    script = (
        "class Twice(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return 2 * x\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        return 2 * g\n"
    ) + MLP.replace("loss = criterion(model(x), y)", "loss = Twice.apply(criterion(model(x), y))")
    found, _ = tried(tmp_path, script, "--models", "2")
    assert found["loss"] == "squares"
    assert "autograd function" in found["why_not_the_loop"]
    assert found["tried"][0]["difference"] <= 1e-10


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("optimizer = torch.optim.Adam(", "optimizer = torch.optim.Rprop("), "Rprop"),
        (("model.parameters(), lr", "[*model.parameters(), nn.Parameter(torch.ones(1))], lr"), "not the model's"),
        (("range(9)", "range(1)"), "before its update 2"),
        (("criterion(model(x), y)", "criterion(model(x), y) + nn.Linear(16, 1)(x).sum()"), "several models"),
    ],
)
def test_what_cannot_be_stacked_is_refused_with_the_reason(tmp_path: Path, change: tuple[str, str], reason: str) -> None:
    script = MLP.replace(*change)
    assert script != MLP
    found, _ = tried(tmp_path, script)
    assert reason in found["refused"]["message"]


def test_clipping_is_named_with_its_line_and_left_out(tmp_path: Path) -> None:
    script = MLP.replace("    optimizer.step()", "    nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n    optimizer.step()")
    found, _ = tried(tmp_path, script, "--models", "2")
    assert "clip_grad_norm_" in (START + script).splitlines()[found["clipped"]["line"]]
