"""Steps whose host gets ahead of its device: each takes as long as the device does, whether or not a later one waits for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import written
from test_golden import hotlens


@pytest.mark.parametrize("waits", (False, True), ids=("never waits", "the last waits"))
@pytest.mark.parametrize("marked", (False, True), ids=("unmarked", "marked"))
def test_a_step_takes_as_long_as_its_device(tmp_path: Path, marked: bool, waits: bool) -> None:
    report = json.loads(hotlens("report", written.ahead(tmp_path / "trace.json", marked, waits), "--format", "json"))
    steps = report["steps"]
    assert len(steps) == 3
    assert not any(step["outlier"] for step in steps)
    for step in steps:
        assert abs(step["wall_ns"] - 49_000_000) < 1_000_000
        assert step["device_ns"] <= step["wall_ns"]
    shown = next(step for step in steps if step["index"] == report["profile"]["shown_step"])
    assert sum(stage["wall_ns"] for stage in report["stages"]) == shown["wall_ns"]
    assert sum(bucket["wall_ns"] for bucket in report["buckets"]) == shown["wall_ns"]
    assert report["modules"][0]["forward"]["device_ns"] <= shown["wall_ns"]
    assert sum(report["critical_path"].values()) == shown["wall_ns"]


def test_the_perfetto_export_has_the_critical_path(tmp_path: Path) -> None:
    out = tmp_path / "perfetto.json"
    hotlens("export", written.ahead(tmp_path / "trace.json", True, True), "--to", "perfetto", "-o", out)
    events = json.loads(out.read_text())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    path = [e for e in events if names.get((e["pid"], e["tid"])) == "critical path" and e["ph"] == "X"]
    assert {"gemm", "aten::mm"} & {e["name"] for e in path}
    assert {e["args"]["on"] for e in path} <= {"host", "device", "launch", "queue"}
    assert sum(e["dur"] for e in path) == 3 * 49_000 + 300
