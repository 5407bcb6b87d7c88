"""What a loader calls of the script in the training process: its lines have their part of the fetch."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from shell import Run

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(0)


class Pictures(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        picture = rng.normal(size=60000)
        noise = rng.normal(size=20000)
        return torch.tensor(picture[:32] + noise[:32], dtype=torch.float32), index % 4


model = nn.Linear(32, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Pictures(), batch_size=8):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
ATTEMPTS = 6  # a slice of another program in the one map step moves the shares


def hints(hotlens: Run, folder: Path) -> dict[str, tuple[float, int]]:
    """Nanoseconds and percent by the line's text."""
    assert hotlens("run", "--steps", 5, "--python", os.environ["HOTLENS_TEST_PYTHON"], "train.py").returncode == 0
    file = json.loads(hotlens("check", "train.py", "--format", "json").stdout)["files"][0]
    found = {}
    for hint in file["hints"]:
        if number := re.search(r"([\d.]+) (ns|µs|ms|s)\b.* (\d+)%", hint["label"]):
            found[SCRIPT.splitlines()[hint["line"]].strip()] = (float(number[1]) * UNITS[number[2]], int(number[3]))
    return found


def test_the_lines_of_a_dataset_have_their_part_of_the_fetch(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    for attempt in range(ATTEMPTS):
        found = hints(hotlens, tmp_path)
        (large, percent), (small, _) = found["picture = rng.normal(size=60000)"], found["noise = rng.normal(size=20000)"]
        _, fetch = found["for x, y in DataLoader(Pictures(), batch_size=8):"]
        if 1.8 < large / small < 5 and percent > 0.45 * fetch:
            break
        assert attempt + 1 < ATTEMPTS, found
    assert percent <= fetch + 3
