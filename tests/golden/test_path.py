"""Waiting, communication and the critical path, computed a second and slower way from the raw events: to 1 % of the step what
`hotlens report` says.

The path is followed backwards from the end of the last step, by the rules of annotator/causes/critical_path.h, from one device event or
host wait to the next; what it spends on the host is one sum but for loading, since test_causes.py compares what the host does.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import raw_events
from raw_events import Event
from test_causes import BLOCKED, LATENCY, SecondWay, communicates
from test_golden import TRACE_FILES, hotlens, needs_traces

GROUPS = {"launch": "host", "sync": "host", "copy": "host", "compute": "products", "thin_products": "products"}
BUSY_THROUGHOUT = 0.9  # of a launch that waits for room in the queue


def report_of(trace: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(hotlens("report", trace, "--format", "json"))
    return report


def shown_step(report: dict[str, Any]) -> dict[str, Any]:
    index = report["profile"]["shown_step"]
    step: dict[str, Any] = next(step for step in report["steps"] if step["index"] == index)
    return step


def host_waits(way: SecondWay) -> list[tuple[int, int]]:
    """When a host thread waits for the device: synchronisations, copies that block, launches that a full queue holds up."""
    busy = raw_events.merged((e.start, e.end) for e in way.device)
    copied = {
        launch.index for copy in way.device if copy.kind == "copy" and (launch := way.launch_of.get(copy.index)) and copy.end <= launch.end
    }
    blocked = []
    for launch in (e for e in way.host if e.kind == "launch" and e.end - e.start >= BLOCKED and e.index not in copied):
        if raw_events.beside(busy, launch.start, launch.end) >= BUSY_THROUGHOUT * (launch.end - launch.start):
            blocked.append((launch.start, launch.end))
    after = [(way.recorded[1], max(e.end for e in way.device))] if way.device else []
    return [span for span in (*way.waits, *blocked, *after) if span[1] > span[0]]


class SlowPath:
    """The critical path of one step, as nanoseconds by cause."""

    def __init__(self, way: SecondWay, last_step: tuple[int, int]) -> None:
        self.way = way
        self.last_step = last_step
        self.waits = sorted(host_waits(way))
        self.loads = raw_events.merged(way.loads)
        other = raw_events.merged((*way.waits, *way.moves))  # inside of loading: neither is loading
        self.moves_loading = raw_events.merged((max(a, x), min(b, y)) for a, b in self.loads for x, y in other if a < y and b > x)
        reached, self.device = 0, []
        for event in way.device:
            reached = max(reached, event.end)
            if reached > way.start:
                self.device.append(event)
        self.by_end = sorted((e for e in self.device if e.end > e.start), key=lambda e: e.end)
        self.ends = [e.end for e in self.by_end]
        self.before: dict[int, Event] = {}
        last: dict[tuple[str, str], Event] = {}
        for event in self.device:
            if event.thread in last:
                self.before[event.index] = last[event.thread]
            last[event.thread] = event
        self.spent: Counter[str] = Counter()
        self.now = last_step[1]

    def take(self, since: int, cause: str) -> None:
        start, end = max(since, self.way.start), min(self.now, self.way.end)
        if start < end:
            self.spent[cause] += end - start
            if cause == "host":
                loading = raw_events.beside(self.loads, start, end) - raw_events.beside(self.moves_loading, start, end)
                self.spent["host"] -= loading
                self.spent["data"] += loading
        self.now = min(self.now, since)

    def ending(self, after: int, until: int) -> Event | None:
        at = bisect_right(self.ends, until)
        return self.by_end[at - 1] if at > 0 and self.ends[at - 1] > after else None

    def follow(self) -> Counter[str]:
        launched = [
            e for e in self.device if (launch := self.way.launch_of.get(e.index)) and self.last_step[0] <= launch.start < self.last_step[1]
        ]
        event = max((e for e in launched if e.end >= self.now), key=lambda e: e.end, default=None)
        if event:
            self.now = event.end
        while self.now > self.way.start:
            event = self.from_device(event) if event else self.from_host()
        return self.spent

    def from_device(self, event: Event) -> Event | None:
        self.take(event.start, self.way.busy([event]) if not communicates(event) else "communication")
        launch, before = self.way.launch_of.get(event.index), self.before.get(event.index)
        launched = min(launch.start, event.start) if launch else self.way.start
        free = before.end if before else -1
        ready = max(free, launched)
        other = self.ending(ready, event.start) if launch is None or event.start - ready > LATENCY else None
        if other:
            self.take(other.end, "queued")
            return other
        if free >= launched:
            self.take(free, "queued")
            return before
        if launch and event.start - launch.end > LATENCY:
            self.take(max(launch.end, launched), "queued")
        self.take(launched, "host" if launch else "queued")
        return None

    def from_host(self) -> Event | None:
        """To the wait before this moment, or through it to the work whose end released it."""
        before = [span for span in self.waits if span[0] < self.now]
        inside = [span for span in before if span[1] >= self.now]
        if inside:
            start = max(span[0] for span in inside)
            released = self.ending(start, self.now)
            self.take(released.end if released else start, "host")
            return released
        self.take(max((span[1] for span in before), default=self.way.start), "host")
        return None


@needs_traces
@pytest.mark.parametrize("trace", TRACE_FILES, ids=lambda path: path.name.split(".")[0])
def test_waiting_and_the_critical_path_agree(trace: Path) -> None:
    report = report_of(trace)
    if report["totals"]["device_ns"] == 0:
        pytest.skip("no device work")
    step = shown_step(report)
    families = {kernel["name"]: kernel["family"] for kernel in report["kernels"]}
    way = SecondWay(trace, step, families)
    events, base = raw_events.read(trace)
    begun, done = raw_events.host_span(events, base, step)
    allowed = 0.01 * step["wall_ns"]

    waited = raw_events.union((max(a, begun), min(b, done)) for a, b in host_waits(way) if a < done and b > begun)
    waited += step.get("behind_ns", 0) - step.get("caught_up_ns", 0)
    ours = next(bucket["wall_ns"] for bucket in report["buckets"] if bucket["name"] == "waiting")
    assert abs(ours - waited) <= allowed

    second = SlowPath(way, raw_events.host_span(events, base, report["steps"][-1])).follow()
    said: Counter[str] = Counter()
    for cause, time in report["critical_path"].items():
        name = cause.removesuffix("_ns")
        said[GROUPS.get(name, name)] += time
    second["host"] += second.pop("copy", 0)
    assert sum(second.values()) == step["wall_ns"]
    for cause in sorted({*said, *second}):
        assert abs(said[cause] - second[cause]) <= allowed, (cause, said, second)


@needs_traces
@pytest.mark.parametrize("trace", TRACE_FILES, ids=lambda path: path.name.split(".")[0])
def test_communication_agrees(trace: Path) -> None:
    report = report_of(trace)
    step = shown_step(report)
    way = SecondWay(trace, step, {})
    own = raw_events.clipped(filter(communicates, way.device), way.start, way.end)
    others = raw_events.merged(raw_events.clipped((e for e in way.device if not communicates(e)), way.start, way.end))
    exposed = sum(end - start - raw_events.beside(others, start, end) for start, end in raw_events.merged(own))
    assert step.get("communication_ns", 0) == raw_events.union(own)
    assert step.get("exposed_communication_ns", 0) == exposed
