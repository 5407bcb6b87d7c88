"""A validation within the step, from a script to the report and to the hints: a stage of its own, and no forward time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from shell import Run, record

TIMES = 200  # what the validation calls the layer more often than the training
SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        for _ in range(1 if self.training else TIMES):
            y = self.layer(x)
        return y


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def validate(x):
    model.eval()
    with torch.no_grad():
        guess = model(x)
    model.train()
    return guess


for step in range(60):
    x = torch.randn(4, 8)
    validate(x)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""".replace("TIMES", str(TIMES))


def test_a_validation_in_every_step_is_a_stage_of_its_own(hotlens: Run, tmp_path: Path) -> None:
    record(hotlens, tmp_path, SCRIPT, "--steps", "3")

    report = json.loads(hotlens("report", "latest", "--format", "json").stdout)
    walls = {stage["name"]: stage["wall_ns"] for stage in report["stages"]}
    assert walls["evaluation"] > TIMES / 10 * walls["forward"] > 0
    assert "evaluation" in hotlens("report", "latest").stdout

    (file,) = json.loads(hotlens("check", "--format", "json", "train.py").stdout)["files"]
    lines = SCRIPT.splitlines()
    stages = {lines[anchor["line"]].strip() for anchor in file["anchors"] if anchor["role"] == "stage"}
    assert {"guess = model(x)", "loss = model(x).square().mean()", "loss.backward()"} <= stages
    hints = {lines[hint["line"]].strip(): hint for hint in file["hints"]}
    (shown,) = [int(word.rstrip("%")) for word in hints["guess = model(x)"]["label"].split() if word.endswith("%")]
    statements = [each for function in report["loop"]["functions"] for each in function["statements"]]
    clocked = {lines[each["line"]].strip(): each["share"] for each in statements}
    assert abs(shown - 100 * clocked["guess = model(x)"]) <= 1
    assert "evaluation" in hints["guess = model(x)"]["tooltip"]
    if "loss = model(x).square().mean()" in hints:
        assert "evaluation" not in hints["loss = model(x).square().mean()"]["tooltip"]


OF_ONE_STEP = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(6))
        self.out = nn.Linear(64, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(256, 64)
for step in range(60):
    if step == 5:
        net.eval()
        guess = net(x).sum().item()
        net.train()
    for part in range(8):
        net(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_step_that_was_mapped_in_vain_adds_nothing(hotlens: Run, tmp_path: Path) -> None:
    """The sixth update is to be the map step. It evaluates, so the next one is."""
    record(hotlens, tmp_path, OF_ONE_STEP)
    (trace,) = tmp_path.glob(".hotlens/profiles/*/trace-map.json.gz")
    assert gzip.decompress(trace.read_bytes()).count(b'"hotlens.rest#0"') == 2, "no step was mapped in vain"

    report = json.loads(hotlens("report", "latest", "--format", "json").stdout)
    calls = {module["path"]: module["calls"] for module in report["modules"]}
    assert calls == {"": 8, "layers": 0, **{f"layers.{i}": 8 for i in range(6)}, "out": 8}
    (file,) = json.loads(hotlens("check", "--format", "json", "train.py").stdout)["files"]
    labels = {hint["line"]: hint["label"] for hint in file["hints"]}
    lines = OF_ONE_STEP.splitlines()
    assert labels[lines.index("            x = layer(x)")].endswith("×48")
    assert labels[lines.index("        return self.out(x)")].endswith("×8")
