"""What a step depends on: one block fewer, twice the batch; told apart from advice, and not made."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import HOTLENS, PYTHON
from test_whatif import answer, ask
from training import record, recorded_peak

BLOCKS = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(96, 32)
    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(32, 10)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

torch.manual_seed(0)
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for x, y in DataLoader(TensorDataset(torch.randn(320, 32), torch.randint(10, (320,))), batch_size=16):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""
DROPS = BLOCKS.replace("F.gelu(", "F.relu(").replace("range(3)", "range(4)")
SEQUENCE = """\
import torch
from torch import nn

class Block(nn.Sequential):
    def __init__(self, wide, out):
        super().__init__(nn.Conv2d(wide, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU())

torch.manual_seed(0)
model = nn.Sequential(Block(3, 8), Block(8, 8), Block(8, 8), nn.Flatten(), nn.Linear(8 * 64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(20):
    x, y = torch.randn(4, 3, 8, 8), torch.randint(4, (4,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
SHALLOWER = {
    "blocks": (BLOCKS, "range(3)", "range(2)"),
    "relu": (DROPS, "range(4)", "range(3)"),
    "sequence": (SEQUENCE, "Block(8, 8), Block(8, 8)", "Block(8, 8)"),
}


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    (item,) = answer(folder, *arguments)["depends_on"]
    found: dict[str, Any] = item
    return found


@pytest.mark.parametrize("name", SHALLOWER)
def test_the_peak_of_one_block_fewer_is_that_of_the_script_with_one_fewer(tmp_path: Path, name: str) -> None:
    script, old, new = SHALLOWER[name]
    record(tmp_path / "before", script)
    record(tmp_path / "after", script.replace(old, new))
    item = told(tmp_path / "before", "depth")
    assert item["peak_was_bytes"] == recorded_peak(tmp_path / "before")
    assert item["peak_bytes"] == recorded_peak(tmp_path / "after")
    assert 0 < item["low"] <= item["ratio"] <= item["high"]
    assert item["modules"][0].rsplit(".", 1)[-1] == ("3" if name == "relu" else "2")


def test_twice_the_batch_is_what_a_prediction_tells_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "before"
    folder.mkdir()
    (folder / "train.py").write_text(BLOCKS)
    command = [HOTLENS, "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "--batch-sizes", "12", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    item = told(folder, "batch_size_2x")
    record(tmp_path / "after", BLOCKS.replace("batch_size=16", "batch_size=32"))
    assert item["peak_bytes"] == recorded_peak(tmp_path / "after")
    assert item["samples_ratio"] == pytest.approx(2 / item["ratio"])
    assert item["samples_low"] == pytest.approx(2 / item["high"])
    (refused,) = answer(folder, "fused_optimizer+batch_size_2x")["refused"]
    assert refused["reason"] == "another batch size is told alone"
    text = ask(folder, "batch_size_2x").stdout
    assert "What the step depends on" in text and "samples a second ≈ " in text


def test_what_changes_the_training_is_no_advice(tmp_path: Path) -> None:
    folder = tmp_path / "before"
    record(folder, BLOCKS)
    listed = answer(folder, "list")
    assert [one["kind"] for one in listed["depends_on"]] == ["depth"]
    assert not {"depth", "batch_size_2x"} & {one["kind"] for one in listed["items"]}
    (refused,) = [one for one in listed["refused"] if one["kind"] == "batch_size_2x"]
    assert "hotlens run --batch-sizes 16,12 train.py" in refused["reason"]
    told(folder, "depth")
    assert not (folder / ".hotlens/ledger.jsonl").exists(), "nothing is recommended later"
    for flag in ("--apply", "--verify"):
        done = ask(folder, "depth", flag)
        assert done.returncode == 2 and "changes what is trained" in done.stderr
    assert (folder / "train.py").read_text() == BLOCKS
    assert json.loads(ask(folder, "depth+fused_optimizer", "--format", "json").stdout)["depends_on"]


def test_a_model_without_equal_blocks_says_why(tmp_path: Path) -> None:
    record(tmp_path / "before", SEQUENCE.replace("Block(8, 8), Block(8, 8), ", "").replace("Block(3, 8)", "Block(3, 8), nn.Identity()"))
    (refused,) = answer(tmp_path / "before", "depth")["refused"]
    assert refused["reason"] == "no container of the model has two equal blocks"
