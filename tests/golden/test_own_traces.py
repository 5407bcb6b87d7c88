"""Traces that the tests record themselves (tests/traces/own_traces.py): golden numbers and a pair, as the oracle computes them.

They are the essential cases of this folder for a machine without HOTLENS_TRACES: torch's own format of today, module frames, a device.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

import oracle
import pytest
from test_golden import compare_events, compare_modules, compare_steps, hotlens
from test_without_args import compare_stripped

Case = tuple[Path, dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module", params=["cpu", "device", "deeper", "data"])
def case(request: pytest.FixtureRequest, own_traces: Path) -> Case:
    trace = own_traces / f"{request.param}.json.gz"
    return trace, json.loads(hotlens("export", trace, "--to", "json")), oracle.compute(trace)


def test_steps_events_and_modules_are_the_oracles(case: Case) -> None:
    trace, export, golden = case
    assert golden["totals"]["marked_steps"] == 5
    assert len(golden["modules"]) > 5
    compare_steps(export, golden)
    compare_events(trace, golden)
    compare_modules(export, golden)


def test_every_kernel_has_its_launch(case: Case) -> None:
    trace, export, golden = case
    assert golden["totals"]["unlinked_ns"] == 0
    assert (golden["totals"]["linked"] > 100) == (trace.name != "cpu.json.gz")
    assert sum(sum(bucket["device_ns"]) for bucket in export["buckets"]) == sum(step["device_ns"] for step in golden["steps"])


@pytest.mark.parametrize(("name", "kind"), [("device", "launch"), ("data", "data")])
def test_the_verdict_is_what_the_trace_was_made_to_show(own_traces: Path, name: str, kind: str) -> None:
    assert json.loads(hotlens("report", own_traces / f"{name}.json.gz", "--format", "json"))["verdict"]["kind"] == kind


def test_a_deeper_model_differs_by_what_the_oracle_says(own_traces: Path) -> None:
    old, new = (own_traces / f"{name}.json.gz" for name in ("device", "deeper"))
    said = json.loads(hotlens("diff", old, new, "--format", "json"))
    device = next(row for row in said["totals"] if row["name"] == "device")
    for row, key in ((said["step"], "wall_ns"), (device, "device_ns")):
        assert row["old_ns"] == median(step[key] for step in oracle.compute(old)["steps"])
        assert row["new_ns"] == median(step[key] for step in oracle.compute(new)["steps"])
        assert row["outcome"] == "slower"


@pytest.mark.parametrize(("old", "new", "code"), [("device", "deeper", 1), ("deeper", "device", 0), ("deeper", "deeper", 0)])
def test_the_gate(own_traces: Path, old: str, new: str, code: int) -> None:
    pair = [str(own_traces / f"{name}.json.gz") for name in (old, new)]
    command = [os.environ["HOTLENS_BIN"], "diff", *pair, "--fail-over", "5%"]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == code


def test_launch_arrows_alone_link_as_well(own_traces: Path, tmp_path: Path) -> None:
    compare_stripped(own_traces / "device.json.gz", tmp_path)
