"""Two real traces at once: what changed between them against the oracle's golden steps, and both ranks of a run merged into one file."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

import oracle
import pytest
from test_golden import TRACES, hotlens, needs_traces

OLD, NEW = TRACES / "trace_diff_control_control.json.gz", TRACES / "trace_diff_test_test.json.gz"
RANKS = sorted(TRACES.glob("worker[01]_step_12.*.json.gz"))


def golden_median(trace: Path, key: str) -> float:
    steps = json.loads(oracle.golden_of(trace).read_text())["steps"]
    return median(step[key] for step in steps)


@needs_traces
def test_a_real_pair_differs_by_what_the_raw_events_differ() -> None:
    said = json.loads(hotlens("diff", OLD, NEW, "--format", "json"))
    device = next(row for row in said["totals"] if row["name"] == "device")
    for row, key in ((said["step"], "wall_ns"), (device, "device_ns")):
        assert row["old_ns"] == golden_median(OLD, key)
        assert row["new_ns"] == golden_median(NEW, key)
        assert row["outcome"] == "slower"
        assert row["change_ns"] > row["noise_ns"]


@needs_traces
@pytest.mark.parametrize(("old", "new", "code"), [(OLD, NEW, 1), (NEW, OLD, 0), (NEW, NEW, 0)], ids=["slower", "faster", "same"])
def test_the_gate_on_a_real_pair(old: Path, new: Path, code: int) -> None:
    command = [os.environ["HOTLENS_BIN"], "diff", str(old), str(new), "--fail-over", "5%"]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == code


def read(trace: Path) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(gzip.decompress(trace.read_bytes()))
    return text


def numbers(trace: Path) -> dict[str, Any]:
    said = json.loads(hotlens("report", trace, "--format", "json"))
    return {key: said[key] for key in ("steps", "stages", "buckets", "totals", "modules", "verdict")}


@pytest.mark.skipif(len(RANKS) != 2, reason="HOTLENS_TRACES holds no two ranks of a run")
def test_of_two_ranks_in_one_file_one_is_shown_as_it_is_alone(tmp_path: Path) -> None:
    # Their processes and devices have numbers of their own; ids that tie events together collide, as those of any two processes do.
    first, second = (read(rank) for rank in RANKS)
    first["traceEvents"] = second["traceEvents"] + first["traceEvents"]
    merged = tmp_path / "both.json"
    merged.write_text(json.dumps(first))
    said = json.loads(hotlens("report", merged, "--format", "json"))
    assert "more-processes" in {warning["code"] for warning in said["warnings"]}
    alone = [numbers(rank) for rank in RANKS]
    assert alone[0] != alone[1]
    assert numbers(merged) in alone
