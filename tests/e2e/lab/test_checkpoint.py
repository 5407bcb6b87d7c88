"""`hotlens whatif checkpoint`: its curve of memory and its budgets, against scripts that checkpoint these blocks."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import CACHE, HOTLENS, PYTHON, ROOT, Done
from training import LOOP as TRAINING
from training import recorded_peak
from warm import interpreter

MODELS = ROOT / "tests/bench/recompute_models.py"

# A loop over layers; weights are small beside what the layers keep.
LOOP = """\
import torch
from torch import nn
from torch.nn import functional as F

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.drop = nn.Linear(32, 128), nn.Linear(128, 32), nn.Dropout(0.1)
    def forward(self, x):
        return x + self.drop(self.down(F.gelu(self.up(x))))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.head = nn.Linear(32, 10)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

torch.manual_seed(0)
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(20):
    x, y = torch.randn(2000, 32), torch.randint(10, (2000,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


def record(folder: Path, *script: str) -> None:
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", *script]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def ask(folder: Path, *arguments: str) -> Done:
    command = [HOTLENS, "whatif", "checkpoint", "--python", PYTHON, *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ, "XDG_CACHE_HOME": str(CACHE)}
    )


def document(folder: Path, *arguments: str) -> dict[str, Any]:
    done = ask(folder, *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="session")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile of LOOP. Copy before changing anything."""
    folder = tmp_path_factory.mktemp("checkpoint") / "loop"
    folder.mkdir()
    (folder / "train.py").write_text(LOOP)
    record(folder, "train.py")
    return folder


@pytest.mark.parametrize("model", ["gpt", "resnet", "unet"])
def test_every_point_of_the_curve_is_the_peak_of_a_script_that_checkpoints_these_blocks(tmp_path: Path, model: str) -> None:
    record(tmp_path, str(MODELS), model)
    (program,) = tmp_path.glob(".hotlens/profiles/*/program.json.gz")
    start = json.loads(gzip.decompress(program.read_bytes()))["allocator"]["start_bytes"]
    (item,) = document(tmp_path)["items"]
    points = item["curve"]["points"]
    assert points[0]["blocks"] == [] and len(points) > 2
    choices = json.dumps([point["blocks"] for point in points[1:]])
    done = subprocess.run([PYTHON, str(MODELS), model, "--truth", choices], cwd=tmp_path, check=True, capture_output=True, text=True)
    truth = json.loads(done.stdout)
    for point, rise in zip(points, truth["rise_bytes"]):
        assert point["peak_bytes"] - start == pytest.approx(rise, rel=0.003)
    assert all(truth["gradients_equal"])
    peaks = [point["peak_bytes"] for point in points]
    assert peaks == sorted(peaks, reverse=True)
    assert item["curve"]["chosen"] == len(points) - 1
    assert item["peak_bytes"] == peaks[-1] and item["peak_was_bytes"] == peaks[0]
    assert item["modules"] == points[-1]["blocks"]
    assert item["ratio"] > 1


def test_the_chosen_blocks_stay_within_the_budget(loop: Path) -> None:
    (item,) = document(loop)["items"]
    points = item["curve"]["points"]
    budget = points[1]["peak_bytes"] + 1
    (within,) = document(loop, "--budget", f"{budget}b")["items"]
    assert within["curve"]["within_budget"] and within["curve"]["budget_bytes"] == budget
    assert within["peak_bytes"] == points[1]["peak_bytes"]
    (beyond,) = document(loop, "--budget", "1kB")["items"]
    assert not beyond["curve"]["within_budget"]
    assert beyond["peak_bytes"] == points[-1]["peak_bytes"]
    assert "no choice stays within 1.00 kB" in ask(loop, "--budget", "1kB").stdout


def test_a_budget_that_the_step_keeps_needs_no_checkpoint(loop: Path) -> None:
    document(loop)
    (kept,) = loop.glob(".hotlens/profiles/*/checkpoints.json")
    curve = json.loads(kept.read_text())["items"][0]["curve"]
    assert curve["blocks"] == 3 and len(curve["points"]) > 1
    found = document(loop, "--budget", "1GB")
    assert found["items"] == []
    assert json.loads(kept.read_text())["items"][0]["curve"] == curve, "it says nothing of other budgets"
    assert "as it is" in found["refused"][0]["reason"]


def test_a_table_for_people(loop: Path) -> None:
    text = ask(loop).stdout
    assert "3 blocks keep what the backward pass needs" in text
    table = [line for line in text.splitlines() if "MB  " in line and "ms  " in line]
    assert table[0].endswith("none")
    assert table[-1].startswith("→")
    assert "layers." in table[1]


def test_a_peak_in_the_optimizer_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP.replace("randn(2000", "randn(2").replace("(2000,)", "(2,)"))
    record(tmp_path, "train.py")
    found = document(tmp_path)
    (refused,) = found["refused"]
    (fused,) = found["items"]
    assert refused["instead"] == fused["kind"] == "fused_optimizer"
    assert fused["peak_bytes"] < fused["peak_was_bytes"] == recorded_peak(tmp_path)
    assert "is in the optimizer" in refused["reason"] and "fused_optimizer would: " in refused["reason"]
    (kept,) = tmp_path.glob(".hotlens/profiles/*/checkpoints.json")
    assert json.loads(kept.read_text())["refused"] == [refused]
    ask(tmp_path, "--apply")
    assert "fused=True" not in (tmp_path / "train.py").read_text(), "nobody asked for another optimizer"


def test_apply_edits_the_call_and_the_script_still_trains(loop: Path) -> None:
    source = loop / "train.py"
    try:
        done = ask(loop, "--apply")
        assert done.returncode == 0, done.stderr + done.stdout
        assert source.read_text() == LOOP.replace("x = layer(x)", "x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)")
        subprocess.run([PYTHON, "train.py"], cwd=loop, check=True)
    finally:
        source.write_text(LOOP)


def test_some_blocks_of_a_loop_are_edited_and_the_losses_are_the_same(loop: Path) -> None:
    source, told = loop / "train.py", LOOP + "    print(loss.item().hex())\n"
    some = document(loop)["items"][0]["curve"]["points"][1]
    numbers = [path.removeprefix("layers.") for path in some["blocks"]]
    assert 0 < len(numbers) < 3
    which = "is self.layers[{}]" if len(numbers) == 1 else "in (" + ", ".join("self.layers[{}]" for _ in numbers) + ")"
    made = "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)"
    wanted = LOOP.replace("x = layer(x)", f"x = ({made} if layer {which.format(*numbers)} else layer(x))")
    try:
        done = ask(loop, "--apply", "--budget", f"{some['peak_bytes']}b")
        assert done.returncode == 0, done.stderr + done.stdout
        assert source.read_text() == wanted
        losses = [
            subprocess.run([PYTHON, "-c", text], cwd=loop, check=True, capture_output=True, text=True).stdout
            for text in (told, wanted + told.removeprefix(LOOP))
        ]
        assert losses[0] == losses[1] and losses[0].count("\n") == 20
    finally:
        source.write_text(LOOP)


@pytest.mark.parametrize("budget", ["much", "-1", ""])
def test_a_budget_that_is_none_is_wrong_usage(loop: Path, budget: str) -> None:
    done = ask(loop, f"--budget={budget}")
    assert done.returncode == 2
    assert done.stdout == ""


def test_a_script_that_checkpoints_its_layers_is_replayed_and_gets_no_curve(tmp_path: Path) -> None:
    text = LOOP.replace("x = layer(x)", "x = checkpoint(layer, x, use_reentrant=False)")
    (tmp_path / "train.py").write_text("from torch.utils.checkpoint import checkpoint\n" + text)
    record(tmp_path, "train.py")
    found = document(tmp_path, "no_dropout")
    assert found["self_check"]["peak_bytes_replayed"] == found["self_check"]["peak_bytes_real"]
    assert [item["kind"] for item in found["items"]] == ["no_dropout"]
    assert [refused["kind"] for refused in found["refused"]] == ["checkpoint"]
    assert found["refused"][0]["reason"] == "the script checkpoints blocks itself"
    for kinds in ("checkpoint+no_dropout", "no_dropout+checkpoint"):
        both = document(tmp_path, kinds)
        assert kinds not in {item["kind"] for item in both["items"]}
        told = {refused["kind"]: refused["reason"] for refused in both["refused"]}
        assert told[kinds] == "the script checkpoints blocks itself"


# Blocks within blocks within themselves; the innermost holds a tensor that is none of its arguments.
NESTED = """
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.a, self.b = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)
    def forward(self, x):
        return x + self.drop(self.b(F.gelu(self.a(self.norm(x)))))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.ModuleList(Layer(32) for _ in range(4)), nn.Linear(32, 10)
    def inner(self, layer, x):
        gate = x.sigmoid()
        return CHECKPOINT(lambda h: layer(h) * gate, x).tanh()
    def outer(self, x, depth):
        for layer in self.layers:
            x = CHECKPOINT(self.inner, layer, x)
        return CHECKPOINT(self.outer, x, depth - 1) if depth else x.relu()
    def forward(self, x):
        return self.head(CHECKPOINT(self.outer, CHECKPOINT(self.outer, x, 1), 0))
model = Net()
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(50 * n, 32), torch.randint(10, (50 * n,)))
"""


def test_blocks_within_blocks_are_replayed_to_the_byte(tmp_path: Path) -> None:
    checkpoint = "from functools import partial\nfrom torch.utils.checkpoint import checkpoint\n"
    text = TRAINING.format(model=checkpoint + NESTED.replace("CHECKPOINT(", "partial(checkpoint, use_reentrant=False)("))
    (tmp_path / "train.py").write_text(text.replace("batch_size=8", "batch_size=400"))
    record(tmp_path, "train.py")
    found = document(tmp_path, "no_dropout")
    assert found["self_check"]["peak_bytes_replayed"] == found["self_check"]["peak_bytes_real"]
    (item,) = (each for each in found["items"] if each["kind"] == "no_dropout")
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth/train.py").write_text((tmp_path / "train.py").read_text().replace("Dropout(0.1)", "Dropout(0.0)"))
    record(tmp_path / "truth", "train.py")
    assert item["peak_bytes"] == recorded_peak(tmp_path / "truth")
