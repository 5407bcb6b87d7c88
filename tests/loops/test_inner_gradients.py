"""Gradients inside forward, as for the forces of an energy: their time is on the line that asks for them, once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from compare import HOTLENS

SCRIPT = """\
import torch
from torch import nn


class Force(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, 1))

    def forward(self, points):
        points = points.requires_grad_(True)
        energy = self.net(points)
        (force,) = torch.autograd.grad(energy.sum(), points, create_graph=True)
        (second,) = torch.autograd.grad(force[:, 0].sum(), points, create_graph=True)
        return force[:, 1] - 0.1 * second[:, 0]


model = Force()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _step in range(60):
    points = torch.rand(1024, 3)
    loss = model(points).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_lines_of_forward_add_up_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    subprocess.run([HOTLENS, "run", "--python", sys.executable, "train.py"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    command = [HOTLENS, "check", "train.py", "--format", "json"]
    hints = json.loads(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)["files"][0]["hints"]
    percent = {hint["line"]: int(found[1]) for hint in hints if (found := re.search(r"(\d+)%", hint["label"]))}
    lines = SCRIPT.splitlines()
    model = percent[lines.index("class Force(nn.Module):")]
    body = range(lines.index("    def forward(self, points):"), lines.index("model = Force()"))
    assert abs(sum(percent.get(line, 0) for line in body) - model) <= len(body) / 2, percent  # each is rounded
    (bundle,) = (tmp_path / ".hotlens" / "profiles").glob("*/model.json")
    stages = json.loads(bundle.read_text(encoding="utf-8"))["stages"]
    assert {lines[row["site"]["line"]].strip() for row in stages if row["stage"] == "backward"} == {
        "loss = model(points).square().mean()",
        "loss.backward()",
    }
