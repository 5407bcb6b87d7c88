"""Routed experts: which of them ran is not known, but the lines that make them have the time of all."""

from __future__ import annotations

import json
from pathlib import Path

from shell import Run, record

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w1 = nn.Linear(width, 4 * width)
        self.w2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.w2(torch.relu(self.w1(x)))


class Mixture(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(Expert(width) for _ in range(count))

    def forward(self, x):
        chosen = self.gate(x).argmax(-1)
        out = x
        for number in chosen.unique().tolist():
            rows = (chosen == number).nonzero()[:, 0]
            out = out.index_add(0, rows, self.experts[number](x[rows]))
        return out


model = nn.Sequential(nn.Linear(32, 192), Mixture(192, 8), nn.Linear(192, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(600):
    inputs, targets = torch.randn(6, 32), torch.randint(0, 8, (6,))
    loss = nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_the_lines_that_make_experts_have_the_time_of_all_of_them(hotlens: Run, tmp_path: Path) -> None:
    record(hotlens, tmp_path, SCRIPT)
    lines = [line.strip() for line in SCRIPT.splitlines()]
    file = json.loads(hotlens("check", "train.py", "--format", "json").stdout)["files"][0]
    hints = {lines[hint["line"]]: hint for hint in file["hints"]}

    def percent(line: str) -> int:
        return int(hints[line]["label"].split("%")[0].split()[-1])

    inside = percent("return self.w2(torch.relu(self.w1(x)))")
    assert inside >= 20
    assert "0 ns" not in hints["return self.w2(torch.relu(self.w1(x)))"]["tooltip"], "experts have no time of their own"
    makes = ("class Expert(nn.Module):", "self.experts = nn.ModuleList(Expert(width) for _ in range(count))")
    for line in makes:
        assert abs(percent(line) - inside) <= 5, (line, hints[line]["label"], inside)
        assert "ran in one of them; in which is not known" in hints[line]["tooltip"]
    both = percent("self.w1 = nn.Linear(width, 4 * width)") + percent("self.w2 = nn.Linear(4 * width, width)")
    assert 0.7 * inside <= both <= inside + 2
    assert "8 × Expert, not known in which" in hotlens("report").stdout
    report = json.loads(hotlens("report", "--format", "json").stdout)
    several = {len(some["modules"]) for some in report["one_of"]}
    assert several == {8}
