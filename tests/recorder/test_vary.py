"""`--vary`: the script runs again with other values of a number, and the programs join the bundle."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, record
from hotlens.process.report import RecorderError
from hotlens.run.replacing import values_around, ways_by_name
from test_bundle import check_bundle
from test_program import replay_of

SCRIPT = """\
import torch
from torch import nn
from settings import BLOCK

width = 8
model = nn.Sequential(nn.Embedding(20, width), nn.Flatten(), nn.Linear(width * BLOCK, 3))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(24):
    loss = nn.functional.cross_entropy(model(torch.randint(20, (4, BLOCK))), torch.randint(3, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SETTINGS = "# how long\nBLOCK = 12\nwords = 20\n"


def varied(folder: Path, *words: str, arguments: tuple[str, ...] = (), script: str = SCRIPT) -> Run:
    (folder / "train.py").write_text(script)
    (folder / "settings.py").write_text(SETTINGS)
    return record(folder, ["train.py", *arguments], [option for word in words for option in ("--vary", word)])


def rows(run: Run) -> list[dict[str, Any]]:
    assert run.code == 0, run.err
    return run.bundle.manifest["varied"]


def test_a_number_of_another_file_is_replaced_in_memory(tmp_path: Path) -> None:
    run = varied(tmp_path, "BLOCK")
    check_bundle(run.bundle)
    assert (tmp_path / "settings.py").read_text() == SETTINGS
    assert [(row["name"], row["was"], row["value"], row["file"]) for row in rows(run)] == [
        ("BLOCK", 12, 8, "program.BLOCK-8.json.gz"),
        ("BLOCK", 12, 4, "program.BLOCK-4.json.gz"),
    ]
    for row in rows(run):
        assert row["difference"] is None and row["failed"] is None and row["by"] == "number"
        assert row["at"] == {"path": str((tmp_path / "settings.py").resolve()), "line": 1, "column": 8, "end_column": 10}
        path = run.bundle.path / row["file"]
        with gzip.open(path) as file:
            program = json.load(file)
        assert next(t["shape"] for t in program["tensors"] if t["kind"] == "input") == [4, row["value"]]
        assert replay_of(path) == program["allocator"]
        assert f"BLOCK = {row['value']} recorded: the number in line 2 of settings.py, 12 -> {row['value']}" in run.err


def test_an_argument_of_the_command_line_comes_first(tmp_path: Path) -> None:
    script = SCRIPT.replace("from settings import BLOCK\n", "import sys\nBLOCK = int(sys.argv[2])\n")
    run = varied(tmp_path, "block_size=6", arguments=("--block-size", "10"), script=script)
    (row,) = rows(run)
    assert (row["was"], row["value"], row["by"], row["at"]) == (10, 6, "argument", None)


def test_a_value_that_the_script_cannot_run_with_is_said(tmp_path: Path) -> None:
    run = varied(tmp_path, "words=30,7", script=SCRIPT.replace("BLOCK\n", "BLOCK, words\n", 1).replace("Embedding(20", "Embedding(words"))
    fits, fails = rows(run)
    assert fits["file"] == "program.words-30.json.gz"
    assert fails["file"] is None and "index out of range" in fails["failed"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("HEADS", "no argument and no number of the project's files is called HEADS"),
        ("width", "width is set in several places (settings.py:2, train.py:5)"),
    ],
)
def test_a_name_that_nobody_knows_or_that_several_have_is_said(tmp_path: Path, word: str, said: str) -> None:
    (tmp_path / "settings.py").write_text("BLOCK = 12\nwidth = 8\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    run = record(tmp_path, ["train.py"], ["--vary", word])
    assert rows(run) == []
    assert said in run.err


def test_what_nothing_of_the_step_depends_on_is_said(tmp_path: Path) -> None:
    (row, _) = rows(varied(tmp_path, "words"))
    assert row["file"] is None and row["failed"] == "nothing in the step has another size with it"


@pytest.mark.parametrize(
    ("was", "others"),
    [(64, (48, 32)), (224, (192, 160)), (12, (8, 4)), (100, (96, 92)), (7, (6, 5)), (3, (2, 1)), (2, (3, 4)), (1, (2, 3))],
)
def test_values_divide_as_the_scripts_own(was: int, others: tuple[int, int]) -> None:
    assert values_around(was) == others


def test_names_are_equal_in_any_spelling() -> None:
    texts = {"a.py": b"block_size = 64\nother = 3", "b.py": b"def f(heads=4): pass"}
    (way,) = ways_by_name("BLOCK_SIZE", [], texts)
    assert (way.was, way.at) == (64, {"path": "a.py", "line": 0, "column": 13, "end_column": 15})
    assert ways_by_name("heads", [], texts)[0].words(2) == ["--replace", "b.py:1:12:13=2"]
    with pytest.raises(RecorderError, match=r"heads is set in several places \(b.py:1, c.py:1\)"):
        ways_by_name("heads", [], {**texts, "c.py": b"heads: int = 8"})
