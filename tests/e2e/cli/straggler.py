"""A training of several processes of which one is late, in a part of the step that is chosen, recorded by `hotlens run`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
LAYERS = 3

SCRIPT = """\
import sys
import time
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

stage, late_rank, late_layer, delay = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
dist.init_process_group("gloo")
torch.set_num_threads(1)
is_late = dist.get_rank() == late_rank


class Late(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        if is_late and stage == "backward":
            time.sleep(delay)
        return gradient * 1.0


class Layer(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number
        self.linear = nn.Linear(128, 128)

    def forward(self, x):
        y = torch.relu(self.linear(x))
        if self.number != late_layer:
            return y
        if is_late and stage == "forward":
            time.sleep(delay)
        return Late.apply(y)


class Samples(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        if is_late and stage == "data" and index % 8 == 0:
            time.sleep(delay)
        return torch.randn(128), torch.randn(128)


def batches():
    while True:
        if is_late and stage == "batch":
            time.sleep(delay)
        yield torch.randn(8, 128), torch.randn(8, 128)


model = nn.parallel.DistributedDataParallel(nn.Sequential(*[Layer(number) for number in range(LAYERS)]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in batches() if stage == "batch" else DataLoader(Samples(), batch_size=8):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


@dataclass(frozen=True)
class Delay:
    """Of one rank: where in the step, in which layer (of forward and backward), how long in seconds."""

    stage: str  # data (a DataLoader), batch (a generator), forward, backward
    rank: int
    layer: int = 1
    seconds: float = 0.02


def record(folder: Path, delay: Delay, ranks: int, steps: int = 5) -> Path:
    """Writes the script, runs it as `ranks` processes, and returns the bundle. What the run said is in `run.txt` beside the script."""
    (folder / "train.py").write_text(SCRIPT.replace("LAYERS", str(LAYERS)))
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks), "train.py"]
    how = [delay.stage, str(delay.rank), str(delay.layer), str(delay.seconds)]
    command = [os.environ["HOTLENS_BIN"], "run", "--python", PYTHON, "--warmup", "1", "--steps", str(steps), *launcher, *how]
    with open(folder / "run.txt", "w") as said:
        subprocess.run(command, cwd=folder, check=True, timeout=300, stdout=said, stderr=subprocess.DEVNULL)
    return max((folder / ".hotlens" / "profiles").iterdir())


def rank_set(profile: Path) -> dict[str, Any]:
    command = [os.environ["HOTLENS_BIN"], "report", str(profile), "--format", "json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)
    found: dict[str, Any] = report["rank_set"]
    return found


def names_rank(found: dict[str, Any], delay: Delay) -> bool:
    return found.get("straggler", {}).get("rank") == delay.rank


def names_stage(found: dict[str, Any], delay: Delay) -> bool:
    late = found.get("straggler", {})
    if delay.stage == "batch":
        return late.get("stage") == "other" and late.get("before_stage") in ("zero_grad", "forward")
    return late.get("stage") == delay.stage


def names_module(found: dict[str, Any], delay: Delay) -> bool:
    """The layer, or one inside it; a pause of the host is between two of them."""
    layer = f"module.{delay.layer}"
    named = [str(found.get("straggler", {}).get(key, "")) for key in ("module", "after", "before")]
    return delay.stage in ("data", "batch") or any(name == layer or name.startswith(layer + ".") for name in named)
