"""No row is smaller than the rows inside it, by direction, in the export and the report. Timeline blocks: nesting_test.cpp.

On every shared trace, on random ones, and on small ones in which several modules call one.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import synthetic
from test_golden import TRACE_FILES, hotlens

SEEDS = range(12)
UNITS = {"ns": 1, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
TIME = r"([\d.]+) (ns|µs|ms|s)"
ROW = re.compile(rf"^(?P<indent> +)(?P<label>\S.*?) +{TIME} +{TIME} +[\d.]+ %")


def shared(parents: int) -> str:
    """`parents` layers call one rotary embedding, forward and, by sequence number, backward."""
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, start: int, duration: int, pid: int = 5, tid: int = 11, **args: Any) -> None:
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration, "args": args})

    def work(name: str, start: int, correlation: int, **args: Any) -> None:
        add("cpu_op", name, start, 20, **args)
        add("cuda_runtime", "cudaLaunchKernel", start + 5, 5, correlation=correlation)
        add("kernel", "rotate", start + 12, 15, pid=0, tid=7, correlation=correlation, stream=7)

    end = 100 + parents * 100
    add("python_function", "nn.Module: Net_0", 0, end, **{"Python id": 1, "Python parent id": None})
    for at in range(parents):
        start = 50 + at * 100
        add("python_function", f"nn.Module: Layer_{at}", start, 90, **{"Python id": 2 + 2 * at, "Python parent id": 1})
        add("python_function", "nn.Module: Rotary_0", start + 10, 60, **{"Python id": 3 + 2 * at, "Python parent id": 2 + 2 * at})
        work("aten::cos", start + 20, at + 1, **{"Sequence number": at, "Fwd thread id": 0})
        work("CosBackward0", end + 50 + at * 100, 100 + at, **{"Sequence number": parents - 1 - at, "Fwd thread id": 1})
    add("user_annotation", "ProfilerStep#0", 0, end + 100 + parents * 100)
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


def single_stream(text: str) -> bool:
    return len({(e["pid"], e["tid"]) for e in json.loads(text)["traceEvents"] if e["cat"] in ("kernel", "gpu_memset")}) < 2


@pytest.fixture(
    scope="module", params=[*TRACE_FILES, *SEEDS, "two", "many"], ids=lambda p: p.name.split(".")[0] if isinstance(p, Path) else str(p)
)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """A trace, and whether its device time has to add up: kernels on two streams run at once, and each row counts its own."""
    if isinstance(request.param, Path):
        return request.param, True
    text = synthetic.trace(request.param) if isinstance(request.param, int) else shared({"two": 2, "many": 9}[request.param])
    trace = tmp_path_factory.mktemp("children") / "trace.json"
    trace.write_text(text)
    return trace, single_stream(text)


def check(name: str, whole: float, parts: list[float], adds_up: bool) -> None:
    assert max(parts) <= whole, name
    if adds_up:
        assert sum(parts) <= whole, name


def test_in_the_export(case: tuple[Path, bool]) -> None:
    trace, device_adds_up = case
    modules = json.loads(hotlens("export", trace, "--to", "json"))["modules"]
    children = defaultdict(list)
    for module in modules:
        if "parent" in module:
            children[module["parent"]].append(module)
    for parent, below in children.items():
        for direction in ("forward", "backward"):
            whole = modules[parent][direction]
            for step in range(len(whole["cpu_total_ns"])):
                host = [child[direction]["cpu_total_ns"][step] for child in below]
                assert whole["cpu_self_ns"][step] + sum(host) == whole["cpu_total_ns"][step], modules[parent]["path"]
                device = [child[direction]["device_ns"][step] for child in below]
                check(modules[parent]["path"], whole["device_ns"][step], device, device_adds_up)


def test_in_the_json_of_each_step(case: tuple[Path, bool]) -> None:
    trace, device_adds_up = case
    steps = [step["index"] for step in json.loads(hotlens("report", trace, "--format", "json"))["steps"]]
    for step in steps[:3]:
        rows = json.loads(hotlens("report", trace, "--format", "json", "--step", step))["modules"]
        by_path = {row["path"]: row for row in rows}
        children = defaultdict(list)
        for row in rows:
            if "/" in row["path"] and row["path"].rsplit("/", 1)[0] in by_path:
                children[row["path"].rsplit("/", 1)[0]].append(row)
        for path, below in children.items():
            for direction in ("forward", "backward"):
                for key in ("cpu_total_ns", "device_ns"):
                    parts = [row[direction][key] for row in below]
                    check(path, by_path[path][direction][key], parts, device_adds_up or key == "cpu_total_ns")


def spelled(number: str, unit: str) -> tuple[float, float]:
    """A time as shown, and half a unit of its last digit."""
    digits = len(number.partition(".")[2])
    return float(number) * UNITS[unit], 0.5 * 10**-digits * UNITS[unit]


def test_in_the_text(case: tuple[Path, bool]) -> None:
    trace, device_adds_up = case
    text = hotlens("report", trace, "--unfold")
    if "\nModules in step" not in text:
        pytest.skip("no modules")
    rows = text.split("\nModules in step", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    open_: list[tuple[int, str, list[list[float]]]] = []
    read = 0
    for row in rows:
        found = ROW.match(row)
        assert found, row
        read += 1
        depth = len(found["indent"])
        while open_ and open_[-1][0] >= depth:
            open_.pop()
        columns = [spelled(found[3], found[4]), spelled(found[5], found[6])]
        if open_:
            for column, (value, half) in zip(open_[-1][2], columns, strict=True):
                column.append(value - half)
                check(row, column[0], [column[-1]] if not device_adds_up else column[1:], device_adds_up)
        open_.append((depth, row, [[value + half] for value, half in columns]))
    assert read > 0
