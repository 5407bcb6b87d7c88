"""`--batch-sizes`: the script runs again with another batch size that is replaced in memory, and its program joins the bundle."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, record
from hotlens.bundle.same import difference
from hotlens.run.replacing import edited, numbers, ways
from scripts import MODEL, STEP, indent
from test_bundle import check_bundle
from test_program import replay_of

LOADER = MODEL + "for x, y in loader():\n" + indent(STEP)
TWO_LOADERS = MODEL + "other = DataLoader(TensorDataset(torch.zeros(9, 8)), batch_size=8)\nfor x, y in loader():\n" + indent(STEP)
BY_HAND = f"""\
{MODEL}
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--train-batch-size", type=int, default=5)
many = parser.parse_args().train_batch_size
for i in range(40):
    x, y = torch.randn(many, 8), torch.randint(0, 3, (many,))
{indent(STEP)}"""


def rows(run: Run) -> list[dict[str, Any]]:
    assert run.code == 0, run.err
    return run.bundle.manifest["programs"]


def recorded(folder: Path, text: str, sizes: str, *arguments: str) -> Run:
    (folder / "train.py").write_text(text)
    before = hashlib.sha256(text.encode()).hexdigest()
    run = record(folder, ["train.py", *arguments], ["--batch-sizes", sizes])
    assert hashlib.sha256((folder / "train.py").read_bytes()).hexdigest() == before
    return run


def first_input(run: Run, name: str) -> list[int]:
    with gzip.open(run.bundle.path / name) as file:
        program = json.load(file)
    return next(t["shape"] for t in program["tensors"] if t["kind"] == "input")


@pytest.mark.parametrize(
    ("text", "arguments", "by", "replaced"),
    [
        (LOADER, (), "number", "the number in line 19 of the script, 8 -> 6"),
        (TWO_LOADERS, (), "loader", "the batch_size of every DataLoader, 8 -> 6"),
        (BY_HAND, ("--train-batch-size", "7"), "argument", "the argument --train-batch-size, 7 -> 6"),
        (BY_HAND, (), "loader", ""),
    ],
    ids=["a number", "two loaders", "an argument", "a default among others"],
)
def test_the_program_of_another_batch_size(tmp_path: Path, text: str, arguments: tuple[str, ...], by: str, replaced: str) -> None:
    run = recorded(tmp_path, text, "6", *arguments)
    if not replaced:
        assert rows(run) == [] and "it is not known where the batch size is set" in run.err
        return
    check_bundle(run.bundle)
    (row,) = rows(run)
    assert (row["batch_size"], row["file"], row["by"], row["replaced"]) == (6, "program.6.json.gz", by, replaced)
    assert row["difference"] is None and row["failed"] is None and row["was"] in (7, 8)
    assert first_input(run, "program.json.gz") == [row["was"], 8] and first_input(run, "program.6.json.gz") == [6, 8]
    assert replaced in run.err
    with gzip.open(run.bundle.path / "program.6.json.gz") as file:
        assert replay_of(run.bundle.path / "program.6.json.gz") == json.load(file)["allocator"]


def test_the_scripts_own_size_is_not_run_again(tmp_path: Path) -> None:
    assert rows(recorded(tmp_path, LOADER, "8")) == []


def test_another_sequence_of_operators_is_said(tmp_path: Path) -> None:
    run = recorded(tmp_path, LOADER.replace("model(x)", "(model(x) * 2 if len(x) < 8 else model(x))"), "4,12")
    small, large = rows(run)
    assert (
        large["difference"] is None
        and small["difference"] == "operator 4 differs: aten::cross_entropy_loss and aten::mul in CrossEntropyLoss"
    )


def test_a_size_that_the_script_cannot_run_with_is_said(tmp_path: Path) -> None:
    run = recorded(tmp_path, LOADER.replace("model(x)", "model(x.view(8, 8))"), "4")
    (row,) = rows(run)
    assert row["file"] is None and "shape '[8, 8]' is invalid" in row["failed"] and "could not be recorded" in run.err
    assert run.bundle.manifest["steps_measured"] == 5
    assert not (run.bundle.path / "program.4.json.gz").exists()


def test_the_run_ends_as_the_script_does(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint('here')\nsys.exit(7)\n")
    run = record(tmp_path, ["train.py"], ["--batch-sizes", "4,6"])
    assert run.code == 7 and run.out == "here\n" and run.bundles == []


# -- where a batch size is set


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("batch_size = 8\nepochs = 3", [8]),
        ("B = 2\nBATCH = 4\nbs: int = 6", [4, 6]),
        ("def main(steps=9, *, train_batch_size=16): pass", [16]),
        ("train(per_device_train_batch_size=32, lr=1)", [32]),
        ("p.add_argument('-b', '--batch-size', default=12)\np.add_argument('--epochs', default=9)", [12]),
        ("batch_size = 4 * 2\nbatch_size = True\nbatch_size = 'a'", []),
        ("this is no Python", []),
    ],
)
def test_numbers_that_are_called_a_batch_size(text: str, found: list[int]) -> None:
    assert [node.value for node in numbers(text.encode())] == found


def test_ways_are_tried_from_the_most_certain_to_the_least() -> None:
    found = ways(["train.py", "--lr", "8", "--batch-size=8"], b"batch_size = 8", 8)
    assert [way.by for way in found] == ["argument", "number", "loader"]
    assert found[0].argv(16) == ["train.py", "--lr", "8", "--batch-size=16"]
    assert found[1].words(16) == ["--replace", "1:13:14=16"] and found[2].words(16) == ["--replace", "loader=16"]
    assert [way.by for way in ways(["train.py", "data.batch_size=8"], b"batch_size = 8\nbs = 8", None)] == ["argument"]
    assert ways(["train.py", "--batch-size", "9"], b"batch_size = 9", 8)[0].by == "loader"
    assert ways(["-m", "train"], None, None) == []


def test_the_number_alone_is_replaced() -> None:
    assert edited("# ü\nx = 1; batch_size = 8  # 8\n".encode(), "2:20:21=128") == "# ü\nx = 1; batch_size = 128  # 8\n".encode()


def test_programs_are_the_same_where_only_numbers_differ() -> None:
    def program(size: int, op: str = "aten::mul", other: int = 0) -> dict[str, Any]:
        tensors = [{"id": i, "kind": "other", "name": None} for i in range(other)]
        tensors.append({"id": other, "kind": "input", "name": None})
        rest = {"overload": "", "kwargs": {}, "module": 0, "call": 0, "stage": "forward", "grad": True, "autocast": None}
        call = {"op": op, "args": [{"t": other}, [size, 2]], "out": other + 1, **rest}
        free = {"op": "hotlens::free", "args": [*range(other), other + 1], "out": None, **rest}
        return {"tensors": tensors, "operators": [call, free], "modules": [{"path": "a.b"}]}

    assert difference(program(6), program(8)) is None and difference(program(6), program(6, other=2)) is None
    assert difference(program(6), program(6, "aten::add")) == "operator 0 differs: aten::mul and aten::add in a.b"
    shorter = program(6)
    shorter["operators"] = shorter["operators"][:1]
    assert difference(program(6), shorter) == "one has 2 operators, the other 1"
