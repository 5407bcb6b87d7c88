"""Is the advice of `hotlens whatif sweep --try` right? Five models, each as 2, 4, 8 and 16, against stacked steps written by hand.

    HOTLENS_BIN=build/release/bin/hotlens python tests/bench/sweep.py     # a Python with torch

The advice is measured by Hotlens in the script's process. The truth is measured here, in another process: the same models trained one after
another by plain PyTorch and, in turn, by a stacked step that this file spells out, 24 pairs of blocks each. A point whose true gain lies
within 2 % of none is called even: either answer is right there, and the table counts such points apart.
"""

from __future__ import annotations

import copy
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNTS = (2, 4, 8, 16)
PAIRS, BLOCK_SECONDS = 24, 0.15
EVEN = 0.02

START = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\ntorch.manual_seed(0)\n"
MODELS = {
    "mlp": """
class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
""",
    "cnn": """
class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10))
x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
""",
    "transformer": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(100, 32), nn.Linear(32, 100)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)
    def forward(self, x):
        return self.head(self.body(self.words(x))).flatten(0, 1)
x = torch.randint(0, 100, (8, 16))
y = x.flatten()
""",
    "wide_linear": """
class Net(nn.Linear):
    def __init__(self):
        super().__init__(768, 1024)
x, y = torch.randn(64, 768), torch.randint(0, 1024, (64,))
""",
    "recurrent": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.RNNCell(16, 32), nn.Linear(32, 4)
    def forward(self, x):
        h = x.new_zeros(x.shape[1], 32)
        for step in x.unbind(0):
            h = self.cell(step, h)
        return self.head(h)
x, y = torch.randn(12, 16, 16), torch.randint(0, 4, (16,))
""",
}
LOOP = """
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(60):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def advice(folder: Path, text: str) -> dict[int, dict[str, Any]]:
    (folder / "train.py").write_text(START + text + LOOP)
    program = os.path.abspath(os.environ["HOTLENS_BIN"])
    subprocess.run([program, "run", "--python", sys.executable, "train.py"], cwd=folder, check=True, capture_output=True)
    words = ["whatif", "sweep", "--try", "--models", ",".join(map(str, COUNTS)), "--format", "json", "--python", sys.executable]
    done = subprocess.run([program, *words], cwd=folder, check=True, capture_output=True, text=True)
    return {row["models"]: row for row in json.loads(done.stdout)["tried"]["attempts"]}


# -- the truth, in a process of its own


def separate_steps(models: list[Any], x: Any, y: Any) -> Callable[[], None]:
    import torch
    from torch.nn import functional as F

    optimizers = [torch.optim.Adam(m.parameters(), lr=1e-3 * (1 + at / 10)) for at, m in enumerate(models)]

    def step() -> None:
        for model, optimizer in zip(models, optimizers):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return step


def stacked_step(models: list[Any], x: Any, y: Any) -> Callable[[], None]:
    import torch
    from torch.func import functional_call, stack_module_state, vmap
    from torch.nn import functional as F

    parameters, _ = stack_module_state(models)
    base = copy.deepcopy(models[0])
    optimizer = torch.optim.Adam(parameters.values(), lr=1e-3)
    rates = torch.tensor([1 + at / 10 for at in range(len(models))])
    old = {name: p.detach().clone() for name, p in parameters.items()}
    losses = vmap(lambda p: F.cross_entropy(functional_call(base, p, (x,)), y), randomness="different")

    def step() -> None:
        optimizer.zero_grad()
        losses(parameters).sum().backward()
        with torch.no_grad():
            for name, parameter in parameters.items():
                old[name].copy_(parameter)
        optimizer.step()
        with torch.no_grad():
            for name, parameter in parameters.items():
                rate = rates.reshape(-1, *[1] * (parameter.dim() - 1))
                torch.lerp(old[name], parameter, rate, out=parameter.detach())

    return step


def block(step: Callable[[], None], steps: int) -> float:
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - begin) / steps


def truth(name: str, count: int) -> float:
    """Median of the pairs' ratios: how many times as fast the stacked step is."""
    known: dict[str, Any] = {}
    exec(START + MODELS[name], known)
    models = [known["Net"]() for _ in range(count)]
    steps = [separate_steps([copy.deepcopy(m) for m in models], known["x"], known["y"]), stacked_step(models, known["x"], known["y"])]
    sizes = [max(1, round(BLOCK_SECONDS / max(block(step, 1), block(step, 3)))) for step in steps]
    ratios = []
    for pair in range(PAIRS):
        took = {at: block(steps[at], sizes[at]) for at in ([0, 1] if pair % 2 == 0 else [1, 0])}
        ratios.append(took[0] / took[1])
    return statistics.median(ratios)


def truth_in_a_process(name: str, count: int) -> float:
    done = subprocess.run([sys.executable, __file__, "--truth", name, str(count)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    right = even = points = inside = 0
    largest, off = 0.0, []
    print(f"{'model':12} {'N':>3} {'advice':>16} {'said':>20} {'truth':>6}  right")
    for name, text in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows = advice(Path(folder), text)
        for count in COUNTS:
            row, true = rows[count], truth_in_a_process(name, count)
            is_even = abs(true - 1) <= EVEN
            good = is_even or row["pays"] == (true > 1)
            points, right, even = points + 1, right + good, even + is_even
            inside += row["low"] <= true <= row["high"]
            off.append(abs(math.log(row["speedup"] / true)))
            largest = max(largest, row["difference"])
            said = f"{row['speedup']:.2f} ({row['low']:.2f}..{row['high']:.2f})"
            print(f"{name:12} {count:3} {'pays' if row['pays'] else 'does not pay':>16} {said:>20} {true:6.2f}  {good}", flush=True)
    print(f"right {right} of {points}, of which even {even}; speed-up off by {statistics.mean(off):.1%} on average, {max(off):.1%} worst")
    print(f"truth in the interval {inside} of {points}; largest difference of the results {largest:.1e}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--truth"]:
        print(truth(sys.argv[2], int(sys.argv[3])))
    else:
        main()
