"""Traces whose events have no `args` (some tools strip them): no correlation, no sequence number; launch arrows are all that links.

Shared traces with arrows are stripped here. Copies to the device stay what they were, and no kernel becomes one.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from test_golden import TRACE_FILES, hotlens, needs_traces

LAUNCH_ARROWS = ("async_gpu", "ac2g", "async_cpu_to_gpu")


def read(trace: Path) -> dict[str, Any]:
    raw = trace.read_bytes()
    document = json.loads(gzip.decompress(raw) if trace.suffix == ".gz" else raw)
    return document if isinstance(document, dict) else {"traceEvents": document}


def has_arrows(events: list[dict[str, Any]]) -> bool:
    return any(event.get("ph") == "f" and event.get("cat") in LAUNCH_ARROWS for event in events)


def device_times(path: Path) -> dict[str, int]:
    report = json.loads(hotlens("export", path, "--to", "json"))
    return {bucket["name"]: sum(bucket["device_ns"]) for bucket in report["buckets"]}


def compare_stripped(trace: Path, tmp_path: Path) -> None:
    document = read(trace)
    for event in document["traceEvents"]:
        if event.get("ph") == "X":
            event.pop("args", None)
    stripped = tmp_path / "stripped.json"
    stripped.write_text(json.dumps(document))
    before, after = device_times(trace), device_times(stripped)
    busy = sum(before.values())
    assert abs(after["host_to_device"] - before["host_to_device"]) <= busy / 1000
    assert abs(sum(after.values()) - busy) <= busy / 1000


@needs_traces
@pytest.mark.parametrize("trace", TRACE_FILES, ids=lambda path: path.name.split(".")[0])
def test_copies_are_what_they_were(trace: Path, tmp_path: Path) -> None:
    if not has_arrows(read(trace)["traceEvents"]):
        pytest.skip("no launch arrows")
    compare_stripped(trace, tmp_path)
