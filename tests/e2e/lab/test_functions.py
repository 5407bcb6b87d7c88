"""Scripts with custom autograd functions: replayed, changed and followed as others are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import CACHE, HOTLENS, PYTHON, ask
from training import LOOP, edit, predicted, record, recorded_peak
from warm import interpreter
from worker import Worker, op, program, tensor

# Between its layers a function of its own: it keeps its input, a mask of its own, and the shape as numbers.
GATED = LOOP.format(
    model="""
import sys
from torch.utils.checkpoint import checkpoint
WIDTH = 96
class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        opened = torch.sigmoid(x)
        ctx.save_for_backward(x)
        ctx.mask, ctx.shape = opened > 0.3, x.shape
        return x * opened
    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0]
        opened = torch.sigmoid(x)
        slope = opened.unsqueeze(1).view(ctx.shape) * (1 + x * (1 - opened))
        return gradient * slope * ctx.mask
class Gated(nn.Module):
    def forward(self, x):
        return Gate.apply(x)
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc, self.gate, self.drop = nn.Linear(width, width), Gated(), nn.Dropout(0.1)
    def forward(self, x):
        return x + self.drop(self.gate(self.fc(x)))
model = nn.Sequential(nn.Linear(32, WIDTH), Block(WIDTH), nn.Tanh(), Block(WIDTH), Gated(), nn.Linear(WIDTH, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tensors = lambda n: (torch.randn(50 * n, 32), torch.randint(10, (50 * n,)))
"""
).replace("batch_size=8", "batch_size=int(sys.argv[1]) if sys.argv[1:] else 400")
ACCUMULATED = """
    for part, wanted in zip(x.chunk(2), y.chunk(2)):
        loss = F.cross_entropy(model(part), wanted) / 2
        loss.backward()"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions") / "gated"
    record(folder, GATED)
    return folder


def whatif(folder: Path, *arguments: str) -> dict[str, Any]:
    settings = {**os.environ, "XDG_CACHE_HOME": str(CACHE)}
    command = [HOTLENS, "whatif", "--python", PYTHON, *arguments, "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=settings)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


CHANGES = {
    "no_dropout": ("nn.Dropout(0.1)", "nn.Dropout(0.0)"),
    "checkpoint+no_dropout": (
        "return x + self.drop(self.gate(self.fc(x)))",
        "return checkpoint(lambda x: x + self.gate(self.fc(x)), x, use_reentrant=False)",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_what_if_holds_what_the_changed_script_holds(recorded: Path, tmp_path: Path, kind: str) -> None:
    document = whatif(recorded, kind)
    check = document["self_check"]
    assert check["peak_bytes_replayed"] == check["peak_bytes_real"]
    (item,) = (each for each in document["items"] if each["kind"] == kind)
    record(tmp_path / "truth", GATED.replace(*CHANGES[kind]))
    assert item["peak_bytes"] == pytest.approx(recorded_peak(tmp_path / "truth"), rel=0.001)
    assert item["peak_bytes"] < item["peak_was_bytes"]


def test_autocast_is_refused_because_the_function_decides_on_its_types(recorded: Path) -> None:
    document = whatif(recorded, "autocast_bf16")
    assert document["items"] == []
    assert "custom autograd function" in document["refused"][0]["reason"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("WIDTH = 96", "WIDTH = 160"),
        ("nn.Tanh(), Block(WIDTH)", "nn.Tanh(), Block(WIDTH), Block(WIDTH)"),
        ("nn.Tanh(), Block(WIDTH), Gated()", "nn.Tanh(), Gated()"),
        ("Block(WIDTH), Gated()", "Block(WIDTH)"),
        ("nn.Tanh(), ", ""),
    ],
)
def test_edited_layers_beside_a_function_hold_what_the_edited_script_holds(recorded: Path, tmp_path: Path, old: str, new: str) -> None:
    text = edit(recorded, GATED, old, new)
    document = predicted(recorded)
    assert not document["refused"] + document["misfits"]
    record(tmp_path / "truth", text)
    for row in document["edits"]:
        assert row["peak_bytes"] == recorded_peak(tmp_path / "truth")


def run_at(folder: Path, batch: int, *options: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(GATED)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", *options, "train.py", str(batch)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_sizes_in_a_function_follow_the_batch(tmp_path: Path) -> None:
    run_at(tmp_path / "sizes", 400, "--batch-sizes", "300,400")
    done = ask(tmp_path / "sizes", "--batch-size", "640", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert sorted(check["batch_size"] for check in document["self_check"]) == [300, 400]
    run_at(tmp_path / "truth", 640)
    assert {point["batch_size"]: point for point in document["points"]}[640]["peak_bytes"] == recorded_peak(tmp_path / "truth")

    item = whatif(tmp_path / "sizes", "accumulate")["items"][0]
    (tmp_path / "halves").mkdir()
    halves = GATED.replace("\n    loss = F.cross_entropy(model(x), y)\n    loss.backward()", ACCUMULATED)
    record(tmp_path / "halves" / "run", halves)
    assert item["peak_bytes"] == pytest.approx(recorded_peak(tmp_path / "halves" / "run"), rel=0.001)


def times(factor: float, backward: float) -> dict[str, Any]:
    """A program whose function gives `factor` times what it gets, and whose gradient is `backward` times what comes; then as many numbers
    as the gradient of its weight says."""
    applied = op("hotlens::function", {"t": 0}, None, out=[1]) | {"kwargs": {"name": "Times"}}
    applied["forward"] = [
        op("aten::mul", {"t": 0}, factor, out=1, overload="Tensor"),
        op("hotlens::returned", {"t": 1}),
        op("hotlens::save", {"t": 0}, {"t": 1}, None),
    ]
    applied["backward"] = [
        op("hotlens::received", out=[2]),
        op("hotlens::saved", out=[3, 4, None]),
        op("aten::mul", {"t": 2}, backward, out=5, overload="Tensor"),
        op("aten::mul", {"t": 5}, {"t": 3}, out=6, overload="Tensor"),
        op("aten::mul", {"t": 6}, {"t": 4}, out=7, overload="Tensor"),
        op("hotlens::returned", {"t": 7}, None),
    ]
    operators = [{**applied, "grad": True}, {**op("aten::mul", {"t": 1}, 7.0, out=8, overload="Tensor"), "grad": True}]
    operators += [
        op("hotlens::backward", {"t": 8}, None),
        op("aten::view", {"gradient": 0}, [1], out=9),
        op("aten::arange", {"t": 9}, out=10),
        op("hotlens::clear_gradient", 0),
    ]
    return program([tensor([1], name="w", requires_grad=True, value=3.0)], operators)


def numbers_made(worker: Worker, document: dict[str, Any]) -> float:
    answer = worker.ask(do="load", program=document)
    assert "error" not in answer, answer
    answer = worker.ask(do="step", batch=1, events=True)
    assert "error" not in answer, answer
    return float(max(answer["replays"][0]["events"]) / 4)


@pytest.mark.parametrize(("factor", "backward"), [(2.0, 50.0), (4.0, 50.0), (2.0, 75.0)])
def test_gradients_are_those_of_the_recorded_backward_pass(worker: Worker, factor: float, backward: float) -> None:
    weight, seed = 3.0, 7.0
    assert numbers_made(worker, times(factor, backward)) == seed * backward * weight * (factor * weight)


def test_a_backward_pass_that_did_not_run_is_an_error_where_it_is_needed(worker: Worker) -> None:
    document = times(2.0, 50.0)
    document["operators"][0]["backward"] = None
    worker.load(document)
    assert "did not run" in worker.ask(do="step", batch=1)["error"]["message"]


@pytest.mark.parametrize("name", ["returned", "save", "saved", "received"])
def test_what_belongs_into_a_function_is_an_error_elsewhere(worker: Worker, name: str) -> None:
    worker.load(program([tensor([2])], [op(f"hotlens::{name}")]))
    assert "no custom autograd function" in worker.ask(do="step", batch=1)["error"]["message"]
