"""Loops that get their batches from what is no DataLoader: where they ask for one is the stage `data`, and its lines lie inside."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Bundle, record_text
from scripts import MODEL, STEP, indent
from test_map_step import check_nesting, markers, ns

BATCHES = """\
import itertools


def slow(x):
    return x + sum(range(1000)) * 0.0


def batches(n=60):
    for i in range(n):
        x = torch.randn(8, 8)
        x = slow(x)
        yield x, torch.randint(0, 3, (8,))


class Batches:
    def __init__(self, n=60):
        self.left = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        x = slow(torch.randn(8, 8))
        return x, torch.randint(0, 3, (8,))


class Rows:
    def __getitem__(self, i):
        if i == 60:
            raise IndexError
        x = slow(torch.randn(8, 8))
        return x, torch.randint(0, 3, (8,))


def labelled(x):
    return slow(x), torch.randint(0, 3, (8,))


def passed_on(it):
    yield from it


def for_ever(loader):
    while True:
        for batch in loader:
            yield batch


"""


def within_data(bundle: Bundle) -> set[str]:
    """Texts of the lines that are marked inside the stage."""
    texts = [(bundle.path / f["copy"]).read_text().splitlines() for f in bundle.model["files"]]
    rows = {row["id"]: texts[row["file"]][row["line"]].strip() for row in bundle.model["lines"]}
    found = markers(bundle)
    check_nesting(found)
    stages = [ns(e) for e in found if e["name"] == "hotlens.stage#data"]
    lines = [(ns(e), rows[int(e["name"].split("#")[1])]) for e in found if ".line#" in e["name"]]
    return {text for (begin, end), text in lines if any(a <= begin and end <= b for a, b in stages)}


FORMS = {
    "generator": "for x, y in batches():",
    "iterator": "for x, y in Batches():",
    "sequence": "for x, y in Rows():",
    "enumerate": "for i, (x, y) in enumerate(batches()):",
    "zip": "for (x, y), i in zip(batches(), range(1000)):",
    "islice": "for x, y in itertools.islice(batches(), 40):",
    "map": "for x, y in map(labelled, torch.randn(60, 8, 8)):",
    "expression": "for x, y in (labelled(x) for x in torch.randn(60, 8, 8)):",
    "another": "for x, y in passed_on(batches()):",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_fetches_from_whatever_gives_it_items(tmp_path: Path, form: str) -> None:
    run = record_text(tmp_path, MODEL + BATCHES + FORMS[form] + "\n" + indent(STEP))
    assert run.code == 0, run.err
    assert run.bundle.stages()["data"] == [FORMS[form][:-1]]
    assert "return x + sum(range(1000)) * 0.0" in within_data(run.bundle)
    assert not within_data(run.bundle) & {"loss.backward()", "optimizer.step()"}


NEXT = """\
it = batches()


def train_step():
    x, y = next(it)
STEP

for i in range(40):
    train_step()
"""


def test_a_call_of_next_fetches(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + BATCHES + NEXT.replace("STEP", indent(STEP)))
    assert run.bundle.stages()["data"] == ["next(it)"]
    assert "x = slow(x)" in within_data(run.bundle)


def test_a_generator_around_a_loader_is_one_fetch(tmp_path: Path) -> None:
    header = "for i, (x, y) in zip(range(60), for_ever(loader())):"
    run = record_text(tmp_path, MODEL + BATCHES + header + "\n" + indent(STEP))
    assert run.code == 0, run.err
    assert header[:-1] in run.bundle.stages()["data"]


LOOP_INSIDE = """\
def train_steps(data):
    for x, y in data:
STEP
        yield loss.item()


for value in train_steps(DATA):
    print(value)
"""


@pytest.mark.parametrize("data", ["batches()", "loader()"])
def test_a_generator_that_trains_is_no_fetch_and_what_it_gets_is(tmp_path: Path, data: str) -> None:
    text = LOOP_INSIDE.replace("STEP", indent(STEP, 8)).replace("DATA", data)
    run = record_text(tmp_path, MODEL + BATCHES + text)
    assert run.code == 0, run.err
    assert run.bundle.stages()["data"] == ["for x, y in data"]
    assert not within_data(run.bundle) & {"loss.backward()", "optimizer.step()"}


LOSSES = """\
def losses():
    for x, y in batches():
        yield criterion(model(x), y)


for loss in losses():
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_generator_that_calls_the_model_is_no_fetch(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + BATCHES + LOSSES)
    assert "for loss in losses()" not in run.bundle.stages().get("data", [])
    assert run.bundle.stages()["forward"] == ["model(x)"]


WALKS = "for p in model.parameters():\n    p.grad.clamp_(-1, 1)\ndevice = next(model.parameters()).device\n"


def test_walking_through_the_model_is_no_fetch(tmp_path: Path) -> None:
    step = STEP.replace("optimizer.step()\n", WALKS + "optimizer.step()\n")
    run = record_text(tmp_path, MODEL + BATCHES + "for x, y in batches():\n" + indent(step))
    assert run.bundle.stages()["data"] == ["for x, y in batches()"]
