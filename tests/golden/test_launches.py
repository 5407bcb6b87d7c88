"""Launch statistics of the shown step, counted a second way from the raw events of every shared trace with device work.

Links are by correlation, as in raw_events; nothing of our annotation is used but which step is shown. Idle time is compared with the causes
of the same report, to the nanosecond.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import raw_events
from raw_events import DEVICE, Event
from test_golden import TRACE_FILES, hotlens, needs_traces


class Raw:
    """Device work of a trace, its launches, and the bounds of the shown step."""

    def __init__(self, path: Path, report: dict[str, Any]) -> None:
        events, base = raw_events.read(path)
        shown = report["profile"]["shown_step"]
        step = next(s for s in report["steps"] if s["index"] == shown)
        self.start, self.end = raw_events.host_span(events, base, step)
        self.device = [e for e in events if e.kind in DEVICE]
        launches = {int(e.args["correlation"]): e for e in events if e.kind == "launch" and int(e.args.get("correlation", -1)) > 0}
        self.launch = {e.index: launches[c] for e in self.device if (c := int(e.args.get("correlation", -1))) in launches}

    def launched(self) -> list[Event]:
        """What the step launched."""
        return [e for e in self.device if e.index in self.launch and self.start <= self.launch[e.index].start < self.end]


def at_share(values: list[int], share: float) -> int:
    return sorted(values)[math.ceil(share * len(values)) - 1]


def direction(name: str) -> tuple[str, str | None]:
    way = next(
        (short for word, short in (("HtoD", "HtoD"), ("HostToDevice", "HtoD"), ("DtoH", "DtoH"), ("DeviceToHost", "DtoH")) if word in name),
        "DtoD",
    )
    return way, "pageable" if "Pageable" in name else "pinned" if "Pinned" in name else None


def reported(trace: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(hotlens("report", trace, "--format", "json"))
    if "launches" not in report:
        assert report["totals"]["device_ns"] == 0
        pytest.skip("no device work")
    return report


each_trace = pytest.mark.parametrize("trace", TRACE_FILES, ids=lambda path: path.name.split(".")[0])


@needs_traces
@each_trace
def test_delays_and_short_kernels_are_those_of_the_raw_events(trace: Path) -> None:
    report = reported(trace)
    raw = Raw(trace, report)
    works = Counter(raw.launch[e.index].index for e in raw.launched())
    kernels = [e for e in raw.launched() if e.kind == "kernel"]
    alone = [e for e in kernels if works[raw.launch[e.index].index] == 1]
    said = report["launches"]
    assert (said["kernels"], said["kernels_in_graphs"]) == (len(alone), len(kernels) - len(alone))
    if not alone:
        return
    delays = [max(0, e.start - raw.launch[e.index].end) for e in alone]
    assert (said["delay_median_ns"], said["delay_p90_ns"]) == (at_share(delays, 0.5), at_share(delays, 0.9))
    assert said["shorter_than_launch"] == sum(e.end - e.start < raw.launch[e.index].end - raw.launch[e.index].start for e in alone)


@needs_traces
@each_trace
def test_the_queue_is_that_of_the_raw_events(trace: Path) -> None:
    report = reported(trace)
    raw = Raw(trace, report)
    waits = [(max(raw.launch[e.index].start, raw.start), min(e.start, raw.end)) for e in raw.device if e.index in raw.launch]
    waits = [(start, end) for start, end in waits if end > start]
    wall = raw.end - raw.start
    said = report["launches"]
    assert said["queued_mean"] == pytest.approx(sum(end - start for start, end in waits) / wall, rel=1e-6, abs=1e-9)
    assert said["queue_empty"] == pytest.approx(1 - raw_events.union(waits) / wall, rel=1e-6, abs=1e-9)


@needs_traces
@each_trace
def test_copies_are_those_of_the_raw_events(trace: Path) -> None:
    report = reported(trace)
    sums: dict[tuple[str, str | None], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for event in Raw(trace, report).launched():
        if event.kind == "copy":
            moved = event.args.get("bytes")
            row = sums[direction(event.name)]
            time = event.end - event.start
            row[0] += 1
            row[1] += time
            row[2] += int(moved or 0)
            row[3] += time if moved is not None else 0
    said = {(c["direction"], c.get("memory")): c for c in report["launches"]["copies"]}
    assert {key: (c["calls"], c["ns"]) for key, c in said.items()} == {key: (row[0], row[1]) for key, row in sums.items()}
    for key, (_, _, size, time) in sums.items():
        if size and time:
            assert said[key]["bytes"] == size
            assert said[key]["bytes_per_s"] == pytest.approx(size / time * 1e9, abs=1)


@needs_traces
@each_trace
def test_idle_time_is_that_of_the_causes(trace: Path) -> None:
    report = reported(trace)
    said, spent = report["launches"], report["spent"]
    shown = next(s for s in report["steps"] if s["index"] == report["profile"]["shown_step"])
    waits = said["host_wait_ns"] + said["kernel_wait_ns"] + said["other_wait_ns"]
    assert waits == shown["idle_ns"]
    assert said["kernel_wait_ns"] + said["other_wait_ns"] == spent["queued_ns"] + spent["unrecorded_ns"]
