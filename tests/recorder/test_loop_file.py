"""`loop.json` of real runs: rare work has its share, the rows add up, and the loop is watched until its work has been seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Bundle, plain, record_text
from hotlens.clocks import FEW_UPDATES
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
    assert rare["calls"] == rare["in_updates"] == 2 and rare["last_update"] - rare["first_update"] == 20
    assert 0.06e9 <= rare["total_ns"] == pytest.approx(sum(rows[s]["total_ns"] for s in ("model.eval()", "time.sleep(0.03)")), rel=0.3)
    assert rows["time.sleep(0.03)"]["total_ns"] >= 0.06e9
    assert sum(r["total_ns"] for r in loop["statements"] if r["function"] == "<module>") == loop["watched_ns"]
    assert [each["updates"] for each in loop["loops"]] == [loop["updates"]]
    assert rows["import torch"]["calls"] == 0 and rows["import torch"]["startup_calls"] == 1
    warned = {w["code"] for w in run.bundle.manifest["warnings"]}
    assert warned <= {"steps_left_out"}


def test_a_loop_whose_work_has_been_seen_is_watched_no_longer(tmp_path: Path) -> None:
    run = record_text(tmp_path, counted_loop(200, STEP + "print(i)\n"))
    assert run.code == 0, run.err
    loop, rows = loop_of(run.bundle)
    assert loop["updates"] == FEW_UPDATES  # of the shortest steps; longer ones are watched for a second at most
    assert int(run.out.split()[-1]) < 2 * FEW_UPDATES
    assert rows["print(i)"]["in_updates"] == loop["updates"]


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
