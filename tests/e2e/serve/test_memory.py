"""Memory at the moment of the peak on real traces, against the allocator's raw events."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from page_socket import Page, Server
from small_trace import Trace

TRACES = os.environ.get("HOTLENS_TRACES")
# By trace: the device whose allocator is looked at, as c10::DeviceType counts.
DEVICE_TYPES = {"h100_gaunernst_bert-small-uncased__1016001.json.gz": 1, "switch_transformers_a100.json.gz": 1}


def allocations(file: Path, device: int) -> list[dict[str, Any]]:
    with gzip.open(file) as text:
        events = json.load(text)["traceEvents"]
    found = [each for each in events if each.get("name") == "[memory]" and each["args"]["Device Type"] == device]
    return [each["args"] for each in sorted(found, key=lambda each: float(each["ts"]))]


def held_at_the_peak(events: list[dict[str, Any]]) -> tuple[int, int]:
    """The most that the allocator counts, and how much of it was allocated in the recording."""
    peak = max(range(len(events)), key=lambda at: events[at]["Total Allocated"])
    live: dict[int, int] = {}
    for each in events[: peak + 1]:
        live.pop(each["Addr"], None)
        if each["Bytes"] > 0:
            live[each["Addr"]] = each["Bytes"]
    return events[peak]["Total Allocated"], sum(live.values())


@pytest.mark.skipif(TRACES is None, reason="HOTLENS_TRACES is not set")
@pytest.mark.parametrize("name", sorted(DEVICE_TYPES))
def test_rows_of_memory_are_the_raw_peak(name: str, tmp_path: Path) -> None:
    compare_rows(Path(str(TRACES)) / name, DEVICE_TYPES[name], tmp_path)


def test_rows_of_memory_are_the_raw_peak_of_our_own_trace(own_traces: Path, tmp_path: Path) -> None:
    compare_rows(own_traces / "cpu.json.gz", 0, tmp_path)


def compare_rows(file: Path, device: int, tmp_path: Path) -> None:
    total, allocated = held_at_the_peak(allocations(file, device))
    with Server(tmp_path, str(file)) as running:
        page = Page(running)
        overview = page.ask("overview")
        assert overview["memoryPeak"] == total
        top = page.ask("breakdown", metric="memory")
        assert sum(row["value"] for row in top["rows"]) == top["total"] == total
        before = [row["value"] for row in top["rows"] if row["label"] == "held before the step"]
        assert before == ([total - allocated] if total > allocated else [])
        # Every level down adds up to its row, and each row to its parts.
        module = max((row for row in top["rows"] if row["kind"] == "module"), key=lambda row: row["value"])
        while module["children"] > 0:
            below = page.ask("breakdown", metric="memory", module=module["module"], limit=1000)["rows"]
            assert sum(row["value"] for row in below) == module["value"]
            assert all(sum(part["value"] for part in row["parts"]) == row["value"] for row in below)
            module = max((row for row in below if row["kind"] == "module"), key=lambda row: row["value"], default={"children": 0})
        at = overview["memoryPeakAt"]
        assert 0 <= at["time"] <= overview["steps"][overview["representative"]]["wall"]
        if "module" in at:
            assert page.ask("details", path=at["path"])["module"] == at["module"]
        page.close()


def test_the_peak_says_what_each_stage_holds(tmp_path: Path) -> None:
    """A host that allocates a batch, an output that backward waits for, and an operator's own need: the peak is in the backward."""
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 1000)
    trace.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 5, 80)
    trace.add("cpu_op", "aten::linear", 200, 60, **{"Sequence number": 1, "Fwd thread id": 0})
    trace.add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 400, 100, **{"Sequence number": 1, "Fwd thread id": 1})
    total = 0
    for at, address, size in [(20, 1, 1000), (210, 2, 300), (420, 3, 70), (440, 3, -70), (450, 2, -300)]:
        total += size
        event = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": "9", "tid": "1", "ts": at}
        about = {"Total Allocated": total, "Total Reserved": 0, "Bytes": size, "Addr": address, "Device Id": -1, "Device Type": 0}
        trace.events.append({**event, "args": about})
    trace.write(tmp_path / "t.json")
    with Server(tmp_path, "t.json") as running:
        page = Page(running)
        overview = page.ask("overview")
        assert overview["memoryPeak"] == 1370
        assert (overview["memoryPeakAt"]["stage"], overview["memoryPeakAt"]["time"]) == ("backward", 420_000)
        rows = {row["label"]: row["parts"] for row in page.ask("breakdown", metric="memory")["rows"]}
        assert rows == {
            "data": [{"what": "data", "value": 1000}],
            "forward": [{"what": "activations", "value": 300}],
            "backward": [{"what": "workspace", "value": 70}],
        }
        page.close()
