"""Complete events of a trace as plain values, and the few operations on intervals that the oracle needs. Times are integer nanoseconds."""

from __future__ import annotations

import gzip
import json
import sys
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

KINDS = {
    "cpu_op": "op", "Operator": "op", "CPU functions": "op",
    "user_annotation": "op",
    "cuda_runtime": "launch", "Runtime": "launch", "cuda_driver": "launch",
    "kernel": "kernel", "Kernel": "kernel", "CUDA functions": "kernel",
    "gpu_memcpy": "copy", "Memcpy": "copy",
    "gpu_memset": "fill", "Memset": "fill",
    "python_function": "python",
}  # fmt: skip
DEVICE = ("kernel", "copy", "fill")
MODULE = "nn.Module: "
STEP = "ProfilerStep#"


@dataclass
class Event:
    """A complete event: where it stands in `traceEvents`, what it is, when it ran (ns), and the arguments that link it to others."""

    index: int
    name: str
    kind: str
    thread: tuple[str, str]
    start: int
    end: int
    args: dict[str, Any]


@dataclass
class Interval:
    """Events of one thread with the events around them, found by containment; `around` is the innermost one that still runs."""

    event: Event
    around: Interval | None = None


def nanoseconds(value: object) -> int:
    """Decimal microseconds as written, to whole nanoseconds; what is below a nanosecond is dropped."""
    return int(Decimal(str(value)) * 1000)


def read(path: Path) -> tuple[list[Event], int]:
    """The complete events of a trace in file order, and its time base."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = json.loads(data.decode("utf-8", "replace"), parse_float=str, strict=False)
    rows = document if isinstance(document, list) else document["traceEvents"]
    base = 0 if isinstance(document, list) else int(document.get("baseTimeNanoseconds", 0))
    events = []
    for index, row in enumerate(rows):
        if row.get("ph") != "X":
            continue
        start = nanoseconds(row["ts"])
        duration = max(0, nanoseconds(row.get("dur", 0)))
        kind = KINDS.get(row.get("cat") or str(row["pid"]), "other")
        thread = (str(row.get("pid")), str(row.get("tid")))
        events.append(Event(index, row["name"], kind, thread, start, start + duration, row.get("args") or {}))
    return events, base


def union(intervals: Iterable[tuple[int, int]]) -> int:
    """The time covered by at least one interval."""
    covered = 0
    until = -sys.maxsize
    for start, end in sorted(intervals):
        covered += max(0, end - max(start, until))
        until = max(until, end)
    return covered


def merged(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union as disjoint intervals in order."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def beside(disjoint: list[tuple[int, int]], start: int, end: int) -> int:
    """How much of a window disjoint intervals in order cover."""
    covered = 0
    for begin, finish in disjoint[max(0, bisect_left(disjoint, (start, start)) - 1) :]:
        if begin >= end:
            break
        covered += max(0, min(finish, end) - max(begin, start))
    return covered


def clipped(events: Iterable[Event], start: int, end: int) -> list[tuple[int, int]]:
    return [(max(e.start, start), min(e.end, end)) for e in events if e.start < end and e.end > start]


def nested(events: Iterable[Event]) -> dict[int, Interval]:
    """Every event of one thread in the innermost one that holds its start, by index. Longer events are outside of shorter ones."""
    placed: dict[int, Interval] = {}
    open_: list[Interval] = []
    for event in sorted(events, key=lambda e: (e.start, -(e.end - e.start), e.index)):
        while open_ and open_[-1].event.end <= event.start:
            open_.pop()
        interval = Interval(event, open_[-1] if open_ else None)
        open_.append(interval)
        placed[event.index] = interval
    return placed


def chain(interval: Interval | None) -> list[Event]:
    """The event and those around it, innermost first."""
    events = []
    while interval:
        events.append(interval.event)
        interval = interval.around
    return events


def host_span(events: list[Event], base: int, step: dict[str, Any]) -> tuple[int, int]:
    """When the host ran a step of `hotlens report`, after the time base: what it reports is the device's, later where the host is ahead."""
    marks = [e for e in events if e.kind == "op" and e.name == f"{STEP}{step['index']}" and e.end > e.start]
    if marks:
        longest = max(marks, key=lambda e: e.end - e.start)
        return longest.start, longest.end
    return step["start_ns"] - base, step["start_ns"] - base + step["wall_ns"]
