"""Backward of modules without sequence numbers: by the profiler's arrows, else by order, else unknown; never 0 for want of knowing.

Shared traces that have numbers lose them here; what is found without them is compared with what the numbers say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_golden import TRACE_FILES, hotlens, needs_traces
from test_without_args import read

ARROWS = ("fwdbwd", "forward_backward")
NUMBERED = [trace for trace in TRACE_FILES if any(name in trace.name for name in ("mi300", "perf_model", "nccl_parser", "ns_resolution"))]


def without_numbers(trace: Path, arrows: bool) -> dict[str, Any]:
    document = read(trace)
    for event in document["traceEvents"]:
        arguments = event.get("args")
        if isinstance(arguments, dict):
            arguments.pop("Sequence number", None)
            arguments.pop("Fwd thread id", None)
    if not arrows:
        document["traceEvents"] = [event for event in document["traceEvents"] if event.get("cat") not in ARROWS]
    return document


def backward(path: Path) -> dict[str, int | None]:
    modules = json.loads(hotlens("export", path, "--to", "json"))["modules"]
    return {module["path"]: sum(module["backward"]["device_ns"]) if module["backward"] else None for module in modules}


@needs_traces
@pytest.mark.parametrize("arrows", [True, False], ids=["arrows", "order"])
@pytest.mark.parametrize("trace", NUMBERED, ids=lambda path: path.name.split(".")[0])
def test_backward_is_what_the_numbers_say(trace: Path, arrows: bool, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped.json"
    stripped.write_text(json.dumps(without_numbers(trace, arrows)))
    true, found = backward(trace), backward(stripped)
    known = {path for path, time in found.items() if time is not None}
    off = sum(abs((found[path] or 0) - (true.get(path) or 0)) for path in known)
    assert off <= 0.05 * sum(time or 0 for time in true.values())
    assert all(true.get(path) or found[path] == 0 for path in known if not found[path])
    said = json.loads(hotlens("report", stripped, "--format", "json"))
    codes = {warning["code"] for warning in said["warnings"]}
    assert ("backward-by-order" in codes) == (not arrows)
    if not arrows:
        assert 0.5 < said["profile"]["backward_confidence"] <= 1


def test_what_order_does_not_tell_is_unknown(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, start: int, duration: int) -> None:
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": duration})

    add("user_annotation", "ProfilerStep#0", 0, 1000)
    add("python_function", "nn.Module: Net_0", 10, 200)
    add("cpu_op", "aten::addmm", 20, 50)
    for at in range(3):
        add("cpu_op", f"autograd::engine::evaluate_function: Foreign{at}Backward", 400 + at * 100, 50)
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    said = json.loads(hotlens("report", trace, "--format", "json"))
    assert said["modules"][0]["backward"] is None
    assert said["profile"]["backward_confidence"] == 0
    row = next(line for line in hotlens("report", trace).splitlines() if "Net_0" in line)
    assert row.split()[-2:] == ["unknown", "unknown"]
    diff = json.loads(hotlens("diff", trace, trace, "--format", "json"))
    assert diff["modules"][0]["backward"] is None
