"""`hotlens whatif sweep`: what stands in the way, by line; sweeps that were seen; and --try in the script's own process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run
from warm import interpreter

MODEL = """\
import sys
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        y = self.head(self.drop(self.norm(x)))
        if y.sum() > 1000:
            y = y * 2
        return y[y > -1000]


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(6, 8)
for step in range(60):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""

PLAIN = """\
import sys
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
for step in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""

LOOP = """\
import torch
from torch import nn


def train(rate):
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    x = torch.randn(6, 8)
    for step in range(60):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


for rate in (0.1, 0.01):
    train(rate)
"""


@pytest.fixture
def profiled(tmp_path: Path) -> Callable[..., None]:
    """Profiles a script in the test's folder."""

    def run(text: str, *words: str) -> None:
        (tmp_path / "train.py").write_text(text)
        command = [os.environ["HOTLENS_BIN"], "run", "--python", interpreter(), "train.py", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr

    return run


def card(hotlens: Run, *words: str) -> dict[str, Any]:
    done = hotlens("whatif", "sweep", "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_stands_in_the_way_is_told_by_line(hotlens: Run, profiled: Callable[..., None], tmp_path: Path) -> None:
    profiled(MODEL)
    found = card(hotlens)
    lines = MODEL.splitlines()
    told = {one["kind"]: (lines[one["line"]].strip(), one["stops"]) for one in found["obstacles"]}
    assert told == {
        "batch_norm": ("self.norm = nn.BatchNorm1d(8)", False),
        "dropout": ("self.drop = nn.Dropout(0.1)", False),
        "reads_value": ("if y.sum() > 1000:", True),
        "sizes_depend_on_values": ("return y[y > -1000]", True),
        "clip_grad_norm": ("nn.utils.clip_grad_norm_(model.parameters(), 1.0)", False),
    }
    assert all(one["file"] == str(tmp_path / "train.py") for one in found["obstacles"])
    assert "tried" not in found
    assert "seen" not in found


def test_a_try_measures_and_changes_no_file(hotlens: Run, profiled: Callable[..., None], tmp_path: Path) -> None:
    profiled(PLAIN)
    python = os.environ["HOTLENS_TEST_PYTHON"]
    found = card(hotlens, "--try", "--models", "3", "--limit", "1", "--python", python)
    assert found["obstacles"] == []
    (row,) = found["tried"]["attempts"]
    assert row["models"] == 3
    assert row["equal"] is True
    assert row["difference"] <= 1e-10
    assert row["low"] <= row["speedup"] <= row["high"]
    assert row["together"]["peak_bytes"] > row["separate"]["peak_bytes"]
    assert row["pays"] == (row["low"] > 1 and row["speedup"] > 1 / 0.99)
    assert (tmp_path / "train.py").read_text() == PLAIN
    assert len(list((tmp_path / ".hotlens/profiles").iterdir())) == 1


def test_a_try_of_what_cannot_be_stacked_names_the_line(hotlens: Run, profiled: Callable[..., None]) -> None:
    profiled(MODEL)
    found = card(hotlens, "--try", "--models", "2", "--python", os.environ["HOTLENS_TEST_PYTHON"])
    (row,) = found["tried"]["attempts"]
    assert row["pays"] is False
    assert MODEL.splitlines()[row["failed"]["line"]].strip() == "if y.sum() > 1000:"


def test_a_loop_around_the_training_is_seen(hotlens: Run, profiled: Callable[..., None]) -> None:
    profiled(LOOP)
    assert LOOP.splitlines()[card(hotlens)["seen"]["line"]] == "for rate in (0.1, 0.01):"
    said = hotlens("report").stderr
    assert "a sweep was seen: a loop that trains a model anew each time" in said
    assert "hotlens whatif sweep --try" in said


@pytest.mark.parametrize(
    ("text", "words", "seen"),
    [
        (PLAIN.replace("lr=1e-3", "lr=1e-2"), (), ("other numbers in the code", True)),
        (PLAIN, ("--rate", "0.5"), ("other arguments", True)),
        (PLAIN.replace("16", "32"), (), ("other numbers in the code", False)),
        (PLAIN, (), None),
        (PLAIN.replace("nn.ReLU()", "nn.Tanh()"), (), None),
    ],
    ids=["numbers", "arguments", "sizes", "again", "another model"],
)
def test_profiles_of_one_script_with_other_settings_are_a_sweep(
    hotlens: Run, profiled: Callable[..., None], text: str, words: tuple[str, ...], seen: tuple[str, bool] | None
) -> None:
    profiled(PLAIN)
    assert "seen" not in card(hotlens)
    profiled(text, *words)
    found = card(hotlens)
    if seen is None:
        assert "seen" not in found
    else:
        assert seen[0] in found["seen"]["what"]
        assert found["seen"]["same_shapes"] is seen[1]
        assert len(found["seen"]["profiles"]) == 1


def test_wrong_words_say_what_to_write(hotlens: Run, tmp_path: Path) -> None:
    for words in (["sweep", "--apply"], ["sweep", "a", "b"], ["fused_optimizer", "--try"], ["sweep", "--models", "1"]):
        assert hotlens("whatif", *words).returncode == 2
    (tmp_path / "x.json").write_text('{"traceEvents": []}')
    assert hotlens("whatif", "x.json", "sweep", "--try").returncode == 3
