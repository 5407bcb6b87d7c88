"""What is told while somebody types: a first figure from one call of each kind, then the whole step and its memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ask
from training import LOOP, edit, predicted, record, recorded_peak
from worker import Worker, op, program, tensor

# A step of some 150 ms: what takes a moment has no first figure.
DEEP = LOOP.format(
    model="""
WIDTH = 768
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
    def forward(self, x):
        b, l, w = x.shape
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x.view(b * l, w)))))).view(b, l, w)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(100, WIDTH), nn.Linear(WIDTH, 10)
        self.blocks = nn.ModuleList(Block(WIDTH) for _ in range(6))
    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randint(100, (n, 64)), torch.randint(10, (n,)))
"""
)


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typing") / "deep"
    record(folder, DEEP)
    return folder


def told(folder: Path, *options: str) -> list[dict[str, Any]]:
    """Each answer, as it came."""
    done = ask(folder, "--edited", "--format", "json", "--quick", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(part + "}") for part in done.stdout.split("\n}\n")[:-1]]


def ratio(document: dict[str, Any]) -> float:
    edit = document["edits"][0]
    return float(edit["step_ns"] / edit["step_was_ns"])


@pytest.mark.parametrize(("old", "new"), [("2 * width", "width"), ("range(6)", "range(3)"), ("WIDTH = 768", "WIDTH = 384")])
def test_the_first_figure_is_near_that_of_the_whole_step(deep: Path, tmp_path: Path, old: str, new: str) -> None:
    text = edit(deep, DEEP, old, new)
    first, whole = told(deep, "--checked")
    assert first["sampled"] and "peak_bytes" not in first["edits"][0]
    assert "sampled" not in whole and [one["what"] for one in first["edits"]] == [one["what"] for one in whole["edits"]]
    assert ratio(first) < 0.9 and 0.6 < ratio(first) / ratio(whole) < 1.6
    record(tmp_path / "truth", text)
    assert whole["edits"][0]["peak_bytes"] == recorded_peak(tmp_path / "truth")


def test_a_step_that_was_not_checked_has_no_first_figure(deep: Path) -> None:
    edit(deep, DEEP, "range(6)", "range(4)")
    (whole,) = told(deep)
    assert whole["self_check"][0]["ok"] and "sampled" not in whole


def test_what_does_not_fit_is_told_as_without_samples(deep: Path) -> None:
    edit(deep, DEEP, "nn.Linear(WIDTH, 10)", "nn.Linear(700, 10)")
    (quick,) = told(deep, "--checked")
    assert quick["misfits"] and quick["misfits"] == predicted(deep)["misfits"]


MADE = [tensor([64, 64], name="w", requires_grad=True), tensor([64], "input", "int64", storage=1, least=0, most=63)]
CALLS = [
    {**op("aten::mm", {"t": 0}, {"t": 0}, out=2), "grad": True},
    op("aten::argmax", {"t": 2}, 1, out=3),
    op("aten::index_select", {"t": 0}, 0, {"t": 3}, out=4),
    {**op("aten::view", {"t": 2}, [4096], out=5), "grad": True},
    {**op("aten::relu_", {"t": 5}, out=5), "grad": True},
    {**op("aten::sum", {"t": 5}, out=6), "grad": True},
    op("hotlens::backward", {"t": 6}, None),
    op("aten::add_", {"t": 0}, {"gradient": 0}, overload="Tensor", out=0, alpha=-0.1),
]


def follow(worker: Worker, operators: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    document = program(MADE, operators)
    assert "error" not in worker.ask(do="load", program=document, edited=document)
    return worker.ask(do="follow", batch=1, **options)


def test_views_indices_and_what_is_written_in_place_are_sampled(worker: Worker) -> None:
    answer = follow(worker, CALLS, sampled=True)
    assert answer["followed"] == 0 and answer["recorded_ns"] == answer["edited_ns"] > 0


def test_calls_that_are_alike_are_measured_once(worker: Worker) -> None:
    once = follow(worker, CALLS[:1], sampled=True)["recorded_ns"]
    many = [{**CALLS[0], "out": 2 + at} for at in range(200)]
    answer = follow(worker, many, sampled=True)
    assert answer["recorded_ns"] % 200 == 0  # 200 times the one that was measured
    assert answer["recorded_ns"] > 20 * once / 10


def test_a_step_that_cannot_be_sampled_says_so_and_can_still_be_followed(worker: Worker) -> None:
    gradient = op("hotlens::grad", [{"t": 6}], [{"t": 0}], [{"t": 6}], out=[7])
    answer = follow(worker, [*CALLS[:6], gradient], sampled=True)
    assert answer["error"]["code"] == "unfollowed" and "grad" in answer["error"]["message"]
    assert worker.ask(do="follow", batch=1) == {"followed": 0}
    assert len(worker.ask(do="step", batch=1, edited=True)["replays"]) == 2


def test_the_first_step_of_warm_programs_is_timed(worker: Worker) -> None:
    worker.load(program(MADE, CALLS))
    (replay,) = worker.ask(do="step", batch=1, rounds=1, warm=True)["replays"]
    assert len(replay["wall_ns"]) == 1


def test_the_edited_program_can_take_all_turns(worker: Worker) -> None:
    document = program(MADE, CALLS)
    assert "error" not in worker.ask(do="load", program=document, edited=document)
    (replay,) = worker.ask(do="step", batch=1, edited=True, alone=True)["replays"]
    assert replay["edited"]
