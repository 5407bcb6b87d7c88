"""`hotlens` against the oracle, on every shared trace: steps, device time, links, module trees and their times, to the nanosecond.

A golden file holds what oracle.py computed from the raw events; each was looked at by hand once (README.md). For a trace without step marks
the oracle computes again with the steps that `hotlens` chose: which steps there are is judgement, what lies in them is not.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import oracle
import pytest
import raw_events

TRACES = Path(os.environ.get("HOTLENS_TRACES", "/nonexistent"))
TRACE_FILES = sorted(TRACES.glob("*.json*")) if TRACES.is_dir() else []

needs_traces = pytest.mark.skipif(not TRACE_FILES, reason="HOTLENS_TRACES names no folder with traces")


def hotlens(*arguments: object) -> str:
    command = [os.environ["HOTLENS_BIN"], *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def expected(trace: Path, export: dict[str, Any]) -> dict[str, Any]:
    golden: dict[str, Any] = json.loads(oracle.golden_of(trace).read_text())
    if golden["totals"]["marked_steps"] == 0:
        base = raw_events.read(trace)[1]
        rows = [(s["index"], s["start_ns"] - base, s["start_ns"] - base + s["wall_ns"]) for s in export["report"]["steps"]]
        golden = oracle.compute(trace, rows)
    return golden


def of_bucket(export: dict[str, Any], name: str) -> list[int]:
    found: list[int] = next(bucket["device_ns"] for bucket in export["buckets"] if bucket["name"] == name)
    return found


def compare_steps(export: dict[str, Any], golden: dict[str, Any]) -> None:
    ours = [
        {
            **{key: step[key] for key in ("index", "start_ns", "wall_ns", "device_ns")},
            "unlinked_device_ns": of_bucket(export, "earlier_step")[at],
            "carried_device_ns": step.get("carried_ns", 0),
            "communication_device_ns": of_bucket(export, "communication")[at],
        }
        for at, step in enumerate(export["report"]["steps"])
    ]
    assert ours == [{key: row[key] for key in row if key != "events"} for row in golden["steps"]]


def compare_events(trace: Path, golden: dict[str, Any]) -> None:
    found = Counter(json.loads(line)["step"] for line in hotlens("report", trace, "--events").splitlines())
    assert {row["index"]: row["events"] for row in golden["steps"] if row["events"]} == dict(found)


def compare_modules(export: dict[str, Any], golden: dict[str, Any]) -> None:
    paths: list[str] = []
    rows = {}
    for name, parent, calls, host, forward, backward in golden["modules"]:
        paths.append(name if parent < 0 else f"{paths[parent]}/{name}")
        rows[paths[-1]] = (calls[export["representative"]], host, forward, backward)
    ours = {
        module["path"]: (
            module["calls"],
            module["forward"]["cpu_total_ns"],
            module["forward"]["device_ns"],
            module["backward"]["device_ns"],
        )
        for module in export["modules"]
    }
    assert ours == rows


@pytest.fixture(scope="module", params=TRACE_FILES, ids=lambda trace: trace.name.split(".")[0])
def case(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    export = json.loads(hotlens("export", request.param, "--to", "json"))
    return request.param, export, expected(request.param, export)


Case = tuple[Path, dict[str, Any], dict[str, Any]]


def test_steps_and_device_time_are_exact(case: Case) -> None:
    compare_steps(case[1], case[2])


def test_every_event_is_in_its_step(case: Case) -> None:
    compare_events(case[0], case[2])


def test_module_trees_calls_and_times_are_exact(case: Case) -> None:
    if "modules" not in case[2]:
        pytest.skip("the trace has no module frames")
    compare_modules(case[1], case[2])


@needs_traces
def test_the_golden_files_are_what_the_oracle_says_today() -> None:
    smallest = min(TRACE_FILES, key=lambda trace: trace.stat().st_size)
    for trace in (smallest, *(t for t in TRACE_FILES if "perf_model" in t.name or "mi300" in t.name)):
        assert oracle.golden_of(trace).read_text() == oracle.text(oracle.compute(trace)), trace.name


@needs_traces
def test_every_shared_trace_has_a_golden_file() -> None:
    assert {oracle.golden_of(trace) for trace in TRACE_FILES} == set(oracle.GOLDEN.glob("*.json"))
