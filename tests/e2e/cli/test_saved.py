"""`hotlens report --saved`: what a recorded script keeps until its backward pass, against hooks that the same script sets itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run, steps_trace

PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)

SCRIPT = """\
import sys, torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(F.relu(self.norm(self.conv(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        h = self.blocks(self.stem(x)).mean((2, 3))
        h = 0.5 * h * (1.0 + torch.tanh(0.8 * (h + 0.044715 * torch.pow(h, 3.0))))
        return self.head(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(40):
    x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))
    optimizer.zero_grad()
    if sys.argv[1:] == ["hooks"]:
        seen = {}
        def pack(tensor):
            storage = tensor.untyped_storage()
            seen[storage._cdata] = (storage.nbytes(), tensor)
            return tensor
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = F.cross_entropy(net(x), y)
        print(sum(size for size, _ in seen.values()))
        break
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
"""


def saved(hotlens: Run, *more: str) -> dict[str, Any]:
    done = hotlens("report", "--saved", "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_script_keeps_what_its_own_hooks_see(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = hotlens("run", "--python", PYTHON, "train.py")
    assert done.returncode == 0, done.stderr
    report = saved(hotlens)
    hooks = subprocess.run([PYTHON, "train.py", "hooks"], cwd=tmp_path, capture_output=True, text=True, check=True)
    totals = report["totals"]
    assert totals["saved_bytes"] == int(hooks.stdout)
    assert totals["saved_bytes"] == sum(totals[f"{kind}_bytes"] for kind in ("activations", "inputs", "parameters", "buffers"))
    assert totals["activations_bytes"] == sum(row["activations_bytes"] for row in report["savers"])
    assert totals["activations_bytes"] == sum(row["activations_bytes"] for row in report["nodes"])
    assert report["not_counted"] == [] and report["backward_passes"] == 1
    of = {(row.get("module"), row["node"]): row for row in report["savers"]}
    image = 8 * 16 * 14 * 14 * 4
    assert of["blocks.0.norm", "NativeBatchNormBackward0"]["activations_bytes"] > image  # its input, mean and deviation
    assert of["blocks.0.drop", "MulBackward0"]["needed_bytes"] == image // 32
    assert of["blocks.0.conv", "ConvolutionBackward0"]["activations_bytes"] == image
    gelu = SCRIPT.splitlines().index("        h = 0.5 * h * (1.0 + torch.tanh(0.8 * (h + 0.044715 * torch.pow(h, 3.0))))")
    offered = {row["kind"]: row for row in report["keep_less"]}
    if not report["peak_in_optimizer"]:
        assert offered["gelu_tanh"]["line"] == gelu and offered["gelu_tanh"]["at_least_bytes"] > 0
        assert "checkpoint" in offered
    text = hotlens("report", "--saved").stdout
    assert "blocks.0.norm  NativeBatchNormBackward0" in text and "train.py:" in text
    lines = SCRIPT.splitlines()
    hovers = json.loads(hotlens("check", "train.py", "--format", "json").stdout)["files"][0]["hovers"]
    conv = next(h for h in hovers if lines[h["line"]].strip().startswith("self.conv ="))
    assert "held until backward: 201 kB" in conv["markdown"]


def test_a_trace_says_why_it_has_no_answer(hotlens: Run, write: Callable[[str, dict[str, Any]], Path]) -> None:
    done = hotlens("report", "--saved", write("x.json", steps_trace([1000, 1000])))
    assert (done.returncode, done.stdout) == (3, "")
    assert "a trace does not tell" in done.stderr and "hotlens run" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("other", ["--events", "--track-record"])
def test_it_is_a_report_of_its_own(hotlens: Run, other: str) -> None:
    assert hotlens("report", "--saved", other).returncode == 2
