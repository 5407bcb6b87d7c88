"""What a loader calls of the script, in the training process or in workers: its lines have their part of the fetch."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
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
for x, y in DataLoader(Pictures(), batch_size=8, num_workers=WORKERS):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
ATTEMPTS = 6  # a slice of another program in the one map step moves the shares


def hints(hotlens: Run, folder: Path, script: str) -> dict[str, tuple[float, int]]:
    """Nanoseconds and percent by the line's text."""
    assert hotlens("run", "--steps", 5, "--python", os.environ["HOTLENS_TEST_PYTHON"], "train.py").returncode == 0
    file = json.loads(hotlens("check", "train.py", "--format", "json").stdout)["files"][0]
    found = {}
    for hint in file["hints"]:
        if number := re.search(r"([\d.]+) (ns|µs|ms|s)\b.* (\d+)%", hint["label"]):
            found[script.splitlines()[hint["line"]].strip()] = (float(number[1]) * UNITS[number[2]], int(number[3]))
    return found


@pytest.mark.parametrize("workers", [0, 1])
def test_the_lines_of_a_dataset_have_their_part_of_the_fetch(hotlens: Run, tmp_path: Path, workers: int) -> None:
    script = SCRIPT.replace("WORKERS", str(workers))
    (tmp_path / "train.py").write_text(script)
    for attempt in range(ATTEMPTS):
        found = hints(hotlens, tmp_path, script)
        (large, percent), (small, _) = found["picture = rng.normal(size=60000)"], found["noise = rng.normal(size=20000)"]
        _, fetch = found[next(line for line in found if line.startswith("for x, y in DataLoader"))]
        if 1.8 < large / small < 5 and percent > 0.45 * fetch:
            break
        assert attempt + 1 < ATTEMPTS, found
    assert percent <= fetch + 3


NESTED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def slow(count):
    return sum(number * number for number in range(count))


class Rows(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        label = slow(16000) % 4
        other = slow(4000) % 4
        return torch.full((32,), float(other)), label


model = nn.Linear(32, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
held = DataLoader(Rows(), batch_size=200, num_workers=1)
for epoch in range(4):
    for x, y in DataLoader(Rows(), batch_size=8, num_workers=2):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in held:
            model(x)
"""


def test_what_a_dataset_calls_is_inside_its_line_also_in_plain_python(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(NESTED)
    for attempt in range(ATTEMPTS):
        found = hints(hotlens, tmp_path, NESTED)
        label, other = found["label = slow(16000) % 4"][0], found["other = slow(4000) % 4"][0]
        inside = found["return sum(number * number for number in range(count))"][0]
        if 2.5 < label / other < 6 and abs(inside - label - other) < 0.1 * inside:
            break
        assert attempt + 1 < ATTEMPTS, found
    (bundle,) = sorted((tmp_path / ".hotlens/profiles").iterdir())[-1:]
    model = json.loads((bundle / "model.json").read_text())
    assert 0.8 < sum(stack["weight"] for stack in model["fetches"]) <= 1
    hover = hotlens("check", "train.py", "--format", "json").stdout
    assert "runs in worker processes of the loader" in hover
