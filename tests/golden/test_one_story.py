"""Stages, buckets, modules and kernels tell one story: the same time of the host and of the device, divided differently.

Buckets say what the device did during a step, stages and modules what the step launched, whenever that ran. The two differ by what earlier
steps left behind (`carried_ns`) and by what runs on beyond the step's end; in a trace whose steps follow one another that cancels.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import raw_events
import synthetic
import written
from raw_events import DEVICE
from test_golden import TRACE_FILES, hotlens, needs_traces

SEEDS = range(int(os.environ.get("HOTLENS_RANDOM_TRACES", "25")))
WRITTEN = [(marked, waits) for marked in (False, True) for waits in (False, True)]


def export_of(trace: Path) -> dict[str, Any]:
    export: dict[str, Any] = json.loads(hotlens("export", trace, "--to", "json"))
    return export


def one_story(trace: Path) -> None:
    export = export_of(trace)
    report = export["report"]
    steps = report["steps"]
    of_host = [sum(row["wall_ns"][at] for row in export["stages"]) for at in range(len(steps))]
    assert of_host == [sum(row["wall_ns"][at] for row in export["buckets"]) for at in range(len(steps))]
    assert of_host == [step["wall_ns"] for step in steps]
    for at, step in enumerate(steps):
        assert sum(row["device_ns"][at] for row in export["buckets"]) == step["device_ns"]
        assert step.get("carried_ns", 0) <= step["device_ns"] <= step["wall_ns"]
    shown = export["representative"]
    kernels = sum(kernel["ns"] for kernel in report["kernels"])
    stages = sum(row["device_ns"][shown] for row in export["stages"])
    if report["totals"]["device_ns"] == 0:
        assert stages == 0
        return
    check_device(trace, report, shown, stages, kernels)
    # Every cause has its time once, and the path too.
    assert sum(report["spent"].values()) == sum(report["critical_path"].values()) == steps[shown]["wall_ns"]
    parts = report["critical_parts"]
    assert [part["start_ns"] for part in parts[1:]] == [part["end_ns"] for part in parts[:-1]]
    assert (parts[0]["start_ns"], parts[-1]["end_ns"]) == (0, steps[shown]["wall_ns"])


def check_device(trace: Path, report: dict[str, Any], shown: int, stages: int, kernels: int) -> None:
    """What the step launched: as the raw events have it, by kernel, by stage, by root module."""
    events, base = raw_events.read(trace)
    step = report["steps"][shown]
    begun, done = raw_events.host_span(events, base, step)
    launches = {int(e.args["correlation"]): e for e in events if e.kind == "launch" and int(e.args.get("correlation", -1)) > 0}
    own = [
        e
        for e in events
        if e.kind in DEVICE and (launch := launches.get(int(e.args.get("correlation", -1)))) and begun <= launch.start < done
    ]
    marked = any(e.name == f"{raw_events.STEP}{step['index']}" for e in events)
    ahead = "behind_ns" in step or "caught_up_ns" in step
    if any(e.kind in DEVICE and e.args for e in events) and (marked or not ahead):  # else only the program knows the host's span
        assert kernels == sum(e.end - e.start for e in own)
        busy = raw_events.union((e.start, e.end) for e in own)
        # Stages that overlap on two streams count each; one stage never counts twice.
        assert busy <= stages <= kernels
    roots = [module for module in report["modules"] if "same_as" not in module and is_root(report, module)]
    modules = sum((module[direction] or {"device_ns": 0})["device_ns"] for module in roots for direction in ("forward", "backward"))
    assert report["totals"]["device_attributed_ns"] <= kernels
    assert modules >= report["totals"]["device_attributed_ns"] - kernels // 100 or not roots


def is_root(report: dict[str, Any], module: dict[str, Any]) -> bool:
    return not any(module["path"].startswith(other["path"] + sign) for other in report["modules"] for sign in "./" if other is not module)


@needs_traces
@pytest.mark.parametrize("trace", TRACE_FILES, ids=lambda path: path.name.split(".")[0])
def test_of_a_shared_trace(trace: Path) -> None:
    one_story(trace)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_a_random_trace(seed: int, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(synthetic.trace(seed))
    one_story(trace)


@pytest.mark.parametrize(("marked", "waits"), WRITTEN)
def test_where_the_host_runs_ahead(marked: bool, waits: bool, tmp_path: Path) -> None:
    one_story(written.ahead(tmp_path / "trace.json", marked, waits))
