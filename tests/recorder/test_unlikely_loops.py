"""Loops that a recorder does not expect: what can be measured is, and where nothing can, the message says what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, record_text
from hotlens.loop.marked_code import plans_of
from scripts import indent
from test_bundle import check_bundle

SETUP = """\
import random
import torch
from torch import nn
torch.manual_seed(0)
random.seed(0)

def make(n=16):
    model = nn.Sequential(nn.Linear(8, n), nn.ReLU(), nn.Linear(n, 3))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)

def update(model, optimizer, n=8):
    optimizer.zero_grad()
    h = model(torch.randn(n, 8))
    for k in range(random.randint(0, 5) if n != 8 else 0):
        h = random.choice([torch.sin, torch.cos, torch.tanh])(h) + h
    nn.functional.cross_entropy(h, torch.randint(0, 3, (n,))).backward()
    optimizer.step()

model, optimizer = make()
"""
THREAD = """\
import threading
def train():
    for i in range(200):
        update(model, optimizer)
thread = threading.Thread(target=train)
thread.start()
thread.join()
print("the main thread ends")
"""
ASYNC = """\
import asyncio
async def train():
    for i in range(200):
        update(model, optimizer)
        await asyncio.sleep(0)
asyncio.run(train())
"""
GENERATOR = """\
def steps():
    for i in range(200):
        update(model, optimizer)
        yield i
for i in steps():
    pass
"""
IN_TURN = """\
second, its_optimizer = make(64)
for i in range(60):
    update(model, optimizer)
for i in range(60):
    update(second, its_optimizer)
"""
BLOCKS = """\
second, its_optimizer = make(64)
for i in range(200):
    if i // 4 % 2:
        update(second, its_optimizer)
    else:
        update(model, optimizer)
"""
HUNDRED = """\
pairs = [make(4) for _ in range(100)]
for i in range(40):
    for pair in pairs:
        update(*pair)
"""
MEASURED = {
    "no step like another": "for i in range(200):\n    update(model, optimizer, random.randint(9, 64))\n",
    "in a thread": THREAD,
    "in a coroutine": ASYNC,
    "in a generator": GENERATOR,
    "two models, one after the other": IN_TURN,
    "two models, four steps each": BLOCKS,
    "a hundred optimizers": HUNDRED,
}


@pytest.mark.parametrize("name", MEASURED)
def test_it_is_measured(tmp_path: Path, name: str) -> None:
    run = record_text(tmp_path, SETUP + MEASURED[name])
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    assert run.bundle.manifest["steps_measured"] == 5 and run.bundle.manifest["step"]["by"] == "optimizer"
    assert "Traceback" not in run.err
    loop = loop_of(run)
    assert loop["updates"] >= 5
    calls = [row for row in loop["statements"] if row["function"] == "update" and row["calls"]]
    assert calls and all(row["total_ns"] <= loop["watched_ns"] for row in calls)
    assert "ends" in run.out or name != "in a thread"


def loop_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.bundle.path / "loop.json").read_text(encoding="utf-8"))
    return found


OWN_PROFILER = """\
from torch.profiler import profile, schedule
with profile(schedule=schedule(wait=2, warmup=2, active=3)) as profiler:
    for i in range(60):
        update(model, optimizer)
        profiler.step()
print("trained")
"""
PROCESS = """\
import multiprocessing
def train():
    for i in range(60):
        update(model, optimizer)
if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=train)
    process.start()
    process.join()
    print("trained", process.exitcode)
"""
TWO_STEPS = "for i in range(2):\n    update(model, optimizer)\nprint('trained')\n"
NOT_MEASURED = {
    "two steps": (TWO_STEPS, "training ended during warm-up (", "--warmup 0"),
    "its own profiler": (OWN_PROFILER, "the script runs torch.profiler itself", "on_trace_ready=hotlens.analyze(model)"),
    "in a process of its own": (PROCESS, "it started 1 other, which is not followed", "torchrun"),
}


@pytest.mark.parametrize("name", NOT_MEASURED)
def test_what_to_do_is_said(tmp_path: Path, name: str) -> None:
    script, what, advice = NOT_MEASURED[name]
    run = record_text(tmp_path, SETUP + script)
    assert run.code == 0 and run.bundles == []
    assert run.out.startswith("trained")
    messages = run.own_messages()
    assert len(messages) == 1 and what in messages[0] and advice in messages[0], run.err


def test_two_steps_are_measured_from_the_first(tmp_path: Path) -> None:
    run = record_text(tmp_path, SETUP + TWO_STEPS, ["--warmup", "0"])
    assert run.code == 0 and run.out == "trained\n"
    assert run.bundle.manifest["steps_measured"] == 1


def test_a_script_that_fails_after_two_steps_keeps_its_exit_code(tmp_path: Path) -> None:
    run = record_text(tmp_path, SETUP + "for i in range(2):\n" + indent("update(model, optimizer)\n") + "raise SystemExit(7)\n")
    assert run.code == 7 and run.bundles == []


SEARCH_FIRST = """\
def search():
    trial, its_optimizer = make(4)
    for i in range(40):
        update(trial, its_optimizer)

search()
for i in range({updates}):
    update(model, optimizer)
"""


def other_training(run: Run) -> list[str]:
    return [row["message"] for row in run.bundle.manifest["warnings"] if row["code"] == "other_training"]


def test_a_second_training_is_told_of_and_measured_where_it_is_asked_for(tmp_path: Path) -> None:
    script = SETUP + SEARCH_FIRST.format(updates=60)
    line = script.splitlines().index("for i in range(60):") + 1
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = record_text(tmp_path / "first", script)
    (said,) = other_training(first)
    assert "the first training of the script, of 40 updates" in said and f":{line}: `hotlens run --warmup 45`" in said
    assert [row["function"] for row in loop_of(first)["loops"] if row["updates"]] == ["search"]
    second = record_text(tmp_path / "second", script, ["--warmup", "45"])
    assert other_training(second) == []
    assert [row["function"] for row in loop_of(second)["loops"] if row["updates"]] == ["<module>"]
    assert second.bundle.manifest["step"]["why"] == "no DataLoader is used; a step ends with the optimizer"


ONE_FUNCTION = """\
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(320, 8)), batch_size=8)

def batches(n):
    return {batches}

def train(n):
    model, optimizer = make(n)
    for i in batches(n):
        update(model, optimizer)

def main():
    train(16)
    train(4000)

main()
"""


@pytest.mark.parametrize("batches", ["range(40)", "loader"])
def test_two_trainings_by_one_function_are_two(tmp_path: Path, batches: str) -> None:
    script = SETUP + ONE_FUNCTION.format(batches=batches)
    line = script.splitlines().index("    train(4000)") + 1
    run = record_text(tmp_path, script)
    (said,) = other_training(run)
    assert "the first training of the script, of 40 updates" in said and f":{line}: " in said
    loop = loop_of(run)
    its = [row for row in loop["statements"] if row["function"] == "train" and row["loop"] >= 0]
    assert its and all(row["calls"] <= loop["updates"] + 1 for row in its)


@pytest.mark.parametrize("batches", ["range(n + 1)", "loader if n > 16 else list(loader)[:17]"])
def test_a_second_training_is_not_mixed_into_the_measured_steps(tmp_path: Path, batches: str) -> None:
    run = record_text(tmp_path, SETUP + ONE_FUNCTION.format(batches=batches))
    assert run.code == 0, run.err
    (said,) = other_training(run)
    assert "the first training of the script, of 17 updates" in said
    assert run.bundle.manifest["steps_measured"] == 1
    assert "this training ended after 1 of 5 measured steps" in run.err
    assert {row["shape"][0] for row in run.bundle.model["parameters"]} == {16, 3}


IN_A_SEARCH = """\
for n in (16, {other}):
    train(n)
"""


@pytest.mark.parametrize("batches", ["range(40)", "loader"])
@pytest.mark.parametrize(("other", "trainings"), [(4000, 1), (16, 0)])
def test_another_size_is_another_training_and_another_fold_is_none(tmp_path: Path, batches: str, other: int, trainings: int) -> None:
    script = SETUP + ONE_FUNCTION.format(batches=batches).partition("def main")[0] + IN_A_SEARCH.format(other=other)
    run = record_text(tmp_path, script)
    said = other_training(run)
    assert len(said) == trainings and all("of 40 updates; the next begins at train.py:" in text for text in said)
    assert trainings or loop_of(run)["made"] > 40


def test_a_second_training_that_was_not_reached_is_told_of(tmp_path: Path) -> None:
    script = SETUP + SEARCH_FIRST.format(updates=60).replace("range(40)", "range(10**9)")
    line = script.splitlines().index("for i in range(60):") + 1
    (said,) = other_training(record_text(tmp_path, script))
    assert f"where it has not come yet (train.py:{line})" in said


@pytest.mark.parametrize("name", ["in a generator", "two models, four steps each", "a hundred optimizers", "in a coroutine"])
def test_one_training_is_no_other(tmp_path: Path, name: str) -> None:
    assert other_training(record_text(tmp_path, SETUP + MEASURED[name])) == []


EVALUATES_LATE = """\
import time
for step in range(2000):
    update(model, optimizer)
    time.sleep(0.03)
    if step and step % 400 == 0:
        time.sleep(0.2)
"""


def test_an_evaluation_that_comes_later_is_told_of(tmp_path: Path) -> None:
    run = record_text(tmp_path, SETUP + EVALUATES_LATE)
    (said,) = (row["message"] for row in run.bundle.manifest["warnings"] if row["code"] == "work_to_come")
    found = re.fullmatch(r"train\.py:(\d+): every 400 steps, .* not seen in (\d+) updates; `hotlens run --warmup (\d+)` would, .*", said)
    assert found is not None, said
    line, made, warmup = (int(number) for number in found.groups())
    assert (SETUP + EVALUATES_LATE).splitlines()[line - 1].strip() == "time.sleep(0.2)"
    assert made < 400 and warmup < 400 < warmup + made


@pytest.mark.parametrize(
    ("test", "every"),
    [
        ("step % 12 == 0", 12),
        ("(step + 1) % 12 == 0", 12),
        ("not step % 12", 12),
        ("step > 0 and step % 12 == 11", 12),
        ("step % 12", 0),
        ("step % 12 == 0 or first", 0),
        ("step % interval == 0", 0),
        ("step % 12 != 0", 0),
        ("step % 1.5 == 0", 0),
    ],
)
def test_a_rhythm_is_read_where_the_text_tells_it(test: str, every: int) -> None:
    text = f"for step in range(9):\n    if {test}:\n        work()\n    else:\n        rest()\n    optimizer.step()\n"
    found = plans_of(text.encode(), "train.py", True)
    assert found is not None
    (plan,) = found[1]
    by_line = {statement.line: statement.every for statement in plan.statements if statement is not None}
    assert by_line == {1: 0, 2: 0, 3: every, 5: 0, 6: 0}
