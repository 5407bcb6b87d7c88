"""`hotlens whatif accumulate`: the batch in two halves, against the script that really does it."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import pytest
from conftest import HOTLENS, PYTHON
from test_whatif import PICTURES, WORDS, answer, changed, program, record, row
from warm import interpreter

HALVES = [
    (
        "    loss = F.cross_entropy(model(x), y)\n    loss.backward()",
        "    for x_half, y_half in zip(x.chunk(2), y.chunk(2)):\n"
        "        loss = F.cross_entropy(model(x_half), y_half)\n        (loss / 2).backward()",
    )
]
# Its outputs live until the next half binds their name anew, and literal sizes follow the batch.
HELD = [
    ("    loss = F.cross_entropy(model(x), y)\n", "    out = model(x).view(len(x), 10)\n    loss = F.cross_entropy(out, y)\n"),
]
HELD_HALVES = [
    (
        "    out = model(x).view(len(x), 10)\n    loss = F.cross_entropy(out, y)\n    loss.backward()",
        "    for x_half, y_half in zip(x.chunk(2), y.chunk(2)):\n        out = model(x_half).view(len(x_half), 10)\n"
        "        loss = F.cross_entropy(out, y_half)\n        (loss / 2).backward()",
    )
]

CASES = {
    "pictures": (PICTURES, HALVES),
    "words": (WORDS, HALVES),
    "outputs held": (changed(PICTURES, HELD), HELD_HALVES),
}


def record_two_sizes(folder: Path, script: str) -> int:
    folder.mkdir()
    (folder / "train.py").write_text(script)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "--batch-sizes", "6", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    peak: int = json.loads(gzip.decompress(program(folder).read_bytes()))["allocator"]["peak_bytes"]
    return peak


@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_that_of_the_script_with_two_halves(tmp_path: Path, name: str) -> None:
    script, changes = CASES[name]
    was = record_two_sizes(tmp_path / "before", script)
    is_now = record(tmp_path / "after", changed(script, changes))
    item = row(answer(tmp_path / "before", "accumulate")["items"], "accumulate")
    assert item["peak_was_bytes"] == was
    assert item["peak_bytes"] == is_now
    assert name == "words" or is_now < was
    assert 0 < item["low"] <= item["ratio"] <= item["high"]


def test_without_a_second_size_it_says_how_to_record_one(tmp_path: Path) -> None:
    record(tmp_path / "before", PICTURES)
    refused = row(answer(tmp_path / "before", "list")["refused"], "accumulate")
    assert "hotlens run --batch-sizes 8,6 train.py" in refused["reason"]


def test_a_profile_of_another_script_in_the_folder_is_no_second_size(tmp_path: Path) -> None:
    before = tmp_path / "before"
    record(before, PICTURES)
    other = changed(PICTURES, [("batch_size=8", "batch_size=6")])
    (before / "other.py").write_text(other)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2"]
    subprocess.run([*command, "other.py"], cwd=before, check=True, capture_output=True)
    subprocess.run([*command, "train.py"], cwd=before, check=True, capture_output=True)
    assert "knows the step at batch size 8 alone" in row(answer(before, "list")["refused"], "accumulate")["reason"]
    (before / "train.py").write_text(other)
    subprocess.run([*command, "train.py"], cwd=before, check=True, capture_output=True)
    assert row(answer(before, "list")["items"], "accumulate")


# In float64, without norms of a batch; the last batch is smaller.
APPLIED = """\
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
data = TensorDataset(torch.randn(157, 12), torch.randint(4, (157,)))
model = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for x, y in DataLoader(data, batch_size=8, shuffle=True):
    out = model(x)
    loss = criterion(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), file=sys.stderr)
"""


def test_the_edited_loop_trains_as_the_unedited_one(tmp_path: Path) -> None:
    before = tmp_path / "before"
    record_two_sizes(before, APPLIED)

    def losses() -> list[float]:
        done = subprocess.run([PYTHON, "train.py"], cwd=before, capture_output=True, text=True, check=True)
        return [float(line) for line in done.stderr.split()]

    unedited = losses()
    (item,) = answer(before, "accumulate", "--apply")["items"]
    assert item["state"] == "applied"
    assert "x.chunk(2), y.chunk(2)" in (before / "train.py").read_text()
    assert len(unedited) == 20 and losses() == pytest.approx(unedited, rel=1e-9)
