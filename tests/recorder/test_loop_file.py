"""`loop.json` of real runs: rare work has its share, the rows add up, and the loop is watched until its work has been seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Bundle, plain, record_text
from hotlens.loop.clocks import FEW_UPDATES, SHORT_NS
from scripts import MODEL, STEP, counted_loop, indent
from test_bundle import check_bundle


def loop_of(bundle: Bundle) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The file, and its rows by the source line that each begins on; of several on a line the first."""
    loop = json.loads((bundle.path / "loop.json").read_text(encoding="utf-8"))
    files = [(bundle.path / f["copy"]).read_text(encoding="utf-8").splitlines() for f in bundle.model["files"] if f["copy"]]
    rows: dict[str, dict[str, Any]] = {}
    for row in loop["statements"]:
        rows.setdefault(files[row["file"]][row["line"]].strip(), row)
    return loop, rows


EVALUATION = """\
def evaluate():
    model.eval()
    with torch.no_grad():
        time.sleep(0.03)
    model.train()
"""


def test_an_evaluation_now_and_then_is_waited_for_and_has_its_share(tmp_path: Path) -> None:
    """Every 20th step is none that a window of 5 must see."""
    body = "x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n" + STEP + "if i % 20 == 19:\n    evaluate()\n"
    run = record_text(tmp_path, "import time\n" + MODEL + EVALUATION + "for i in range(400):\n" + indent(body))
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    loop, rows = loop_of(run.bundle)
    rare = rows["evaluate()"]
    assert rare["calls"] >= 2 and rare["last_update"] - rare["first_update"] == 20 * (rare["in_updates"] - 1)
    assert (
        0.03e9 * rare["calls"]
        <= rare["timed_ns"]
        == pytest.approx(sum(rows[s]["timed_ns"] for s in ("model.eval()", "time.sleep(0.03)")), rel=0.3)
    )
    assert rows["time.sleep(0.03)"]["timed_ns"] >= 0.03e9 * rare["calls"]
    # As often as it comes, whatever part of the updates watched has it; what follows an optimizer's step is in the next update.
    assert rare["total_ns"] == pytest.approx(rare["timed_ns"] / rare["calls"] * loop["updates"] / 20, rel=0.05)
    own = [r["total_ns"] for r in loop["statements"] if r["function"] == "<module>"]
    assert sum(own) <= loop["watched_ns"] <= sum(own) + len(own)
    assert [each["updates"] for each in loop["loops"]] == [loop["updates"]]
    assert rows["import torch"]["calls"] == 0 and rows["import torch"]["startup_calls"] == 1
    warned = {w["code"] for w in run.bundle.manifest["warnings"]}
    assert warned <= {"steps_left_out"}


def test_what_differs_from_update_to_update_has_its_spread(tmp_path: Path) -> None:
    body = "x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n" + STEP + "time.sleep(0.002 + 0.01 * (i % 2))\n"
    run = record_text(tmp_path, "import time\n" + MODEL + "for i in range(60):\n" + indent(body))
    assert run.code == 0, run.err
    _, rows = loop_of(run.bundle)
    row = rows["time.sleep(0.002 + 0.01 * (i % 2))"]
    assert row["in_watched"] >= 3
    p10, _, p90 = row["usual_ns"]
    assert 0.002e9 <= p10 < 0.006e9 and p90 >= 0.012e9


def test_a_loop_whose_work_has_been_seen_is_watched_no_longer(tmp_path: Path) -> None:
    run = record_text(tmp_path, counted_loop(100_000, STEP + "print(i)\n"))
    assert run.code == 0, run.err
    loop, rows = loop_of(run.bundle)
    before = loop["watched_ns"] - loop["update_ns"][-1]
    assert loop["updates"] > FEW_UPDATES and before < SHORT_NS <= loop["watched_ns"]
    assert rows["print(i)"]["in_updates"] == loop["made"]


COMPILED = """\
def train_step(x, y):
    loss = criterion(model(x), y)
    loss.backward()
    return loss

compiled = torch.compile(train_step, backend="eager")
"""


def test_what_is_compiled_is_compiled_as_without(tmp_path: Path) -> None:
    body = "x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\noptimizer.zero_grad()\nloss = compiled(x, y)\noptimizer.step()\n"
    counters = "import torch._dynamo\nprint(dict(torch._dynamo.utils.counters['graph_break']))\n"
    script = MODEL + COMPILED + "for i in range(30):\n" + indent(body) + counters
    (tmp_path / "train.py").write_text(script)
    expected = plain(tmp_path, ["train.py"])
    assert expected.returncode == 0, expected.stderr
    run = record_text(tmp_path, script, ["--keep-going"])
    assert run.code == 0, run.err
    assert run.out == expected.stdout
    _, rows = loop_of(run.bundle)
    assert rows["loss = compiled(x, y)"]["calls"] > 0 and "loss.backward()" not in rows


ONE_LOADER = """\
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randint(0, 3, (40,))), batch_size=8)
def evaluate():
    with torch.no_grad():
        for x, y in loader:
            time.sleep(0.001)
for epoch in range(20):
    for x, y in loader:
"""


def test_batches_of_an_evaluation_are_no_updates(tmp_path: Path) -> None:
    """It asks the loader that the training asks, without a switch to evaluation."""
    run = record_text(tmp_path, "import time\n" + MODEL + ONE_LOADER + indent(STEP, 8) + "    evaluate()\n", ["--keep-going"])
    assert run.code == 0, run.err
    loop, rows = loop_of(run.bundle)
    assert rows["optimizer.step()"]["calls"] == loop["updates"]
    assert 0.9 * loop["updates"] <= 5 * rows["evaluate()"]["calls"] <= 1.1 * loop["updates"] + 5


TWO_TRAINERS = """\
class Layer:
    def train(self):
        for _ in range(15):
            x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
{step}

class Net:
    def train(self):
        for layer in [Layer(), Layer()]:
            layer.train()

Net().train()
"""


def test_methods_of_one_name_are_functions_of_their_own(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + TWO_TRAINERS.format(step=indent(indent(indent(STEP)))))
    assert run.code == 0, run.err
    loop, _ = loop_of(run.bundle)
    of = {name: sum(r["total_ns"] for r in loop["statements"] if r["function"] == name) for name in ("Layer.train", "Net.train")}
    assert 0.8 * loop["watched_ns"] < of["Layer.train"] <= of["Net.train"] <= loop["watched_ns"]
    assert {each["function"] for each in loop["loops"]} == {"Layer.train", "Net.train"}
