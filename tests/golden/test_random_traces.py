"""What must hold of any trace, on random ones (synthetic.py): sums to the nanosecond, agreement with the oracle, diff and export.

HOTLENS_RANDOM_TRACES says how many (default 25); a failing case names its seed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import oracle
import pytest
import synthetic
from test_golden import compare_events, compare_modules, compare_steps, hotlens

SEEDS = range(int(os.environ.get("HOTLENS_RANDOM_TRACES", "25")))

Case = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="module", params=SEEDS, ids=lambda seed: f"seed{seed}")
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    trace = tmp_path_factory.mktemp("random") / "trace.json"
    trace.write_text(synthetic.trace(request.param))
    return trace, json.loads(hotlens("export", trace, "--to", "json"))


def columns(rows: list[dict[str, Any]], key: str) -> list[int]:
    """The sum over rows, per step."""
    return [sum(values) for values in zip(*(row[key] for row in rows), strict=True)]


def test_buckets_and_stages_add_up_to_the_step(case: Case) -> None:
    _, export = case
    steps = export["report"]["steps"]
    assert columns(export["buckets"], "wall_ns") == [step["wall_ns"] for step in steps]
    assert columns(export["buckets"], "device_ns") == [step["device_ns"] for step in steps]
    assert columns(export["stages"], "wall_ns") == [step["wall_ns"] for step in steps]


def test_modules_hold_their_children(case: Case) -> None:
    _, export = case
    modules = export["modules"]
    for module in modules:
        for direction in ("forward", "backward"):
            times = module[direction]
            assert all(own <= total for own, total in zip(times["cpu_self_ns"], times["cpu_total_ns"], strict=True))
            assert all(device <= span for device, span in zip(times["device_ns"], times["span_ns"], strict=True))
            if "parent" not in module:
                continue
            for key in ("cpu_total_ns", "device_ns", "span_ns"):
                above = modules[module["parent"]][direction][key]
                assert all(part <= whole for part, whole in zip(times[key], above, strict=True)), (module["path"], key)


def test_the_oracle_agrees(case: Case) -> None:
    trace, export = case
    golden = oracle.compute(trace)
    compare_steps(export, golden)
    compare_events(trace, golden)
    compare_modules(export, golden)


def test_a_trace_does_not_differ_from_itself(case: Case) -> None:
    trace, _ = case
    diff = json.loads(hotlens("diff", trace, trace, "--fail-over", "0%", "--format", "json"))
    tables = ("totals", "stages", "stages_device", "buckets", "modules", "operators", "kernels", "families")
    rows = [diff["step"], *(row for table in tables for row in diff[table])]
    assert len(rows) > 10
    assert {row["outcome"] for row in rows} == {"same"}
    assert {row["change_ns"] for row in rows} == {0}


def test_a_perfetto_export_reads_back_as_the_same_profile(case: Case) -> None:
    trace, export = case
    again = trace.parent / "again" / trace.name
    again.parent.mkdir(exist_ok=True)
    hotlens("export", trace, "--to", "perfetto", "-o", again)
    second = json.loads(hotlens("export", again, "--to", "json"))
    for either in (export, second):
        either["report"]["profile"].pop("source", None)
    assert second == export
