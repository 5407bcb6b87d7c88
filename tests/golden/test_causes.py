"""Each cause of a step's time, computed a second and slower way from the raw events: to 1 % of the step what `hotlens report` says.

The definitions are those of annotator/causes/cause_table.h. This way cuts the step at every edge of every event and asks, for each piece,
which device work runs, which comes next, and which events of the host are open; it knows neither owners nor buckets. What it cannot tell
from the format alone (which arithmetic family a kernel is of) it takes from the report's table of kernels. What the host does outside of
loading and waiting is compared as one sum, with the copies: of these the device's own part is a least.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import raw_events
import written
from raw_events import DEVICE, Event
from test_golden import TRACE_FILES, hotlens, needs_traces

LATENCY = 50_000  # ns: work that starts later than this after its launch returned was queued
BLOCKED = 100_000  # ns: a launch that takes this long waits
LOADING = ("enumerate(DataLoader)", "## load_batch ##", "## wait_for_batch ##")
WAITS = ("StreamSynchronize", "DeviceSynchronize", "EventSynchronize", "CtxSynchronize")
EXCHANGES = ("gloo:", "mpi:", "ucc:")
PRODUCTS = {"gemm", "convolution", "attention"}


def communicates(event: Event) -> bool:
    return event.name.startswith(("nccl", "rccl"))


class SecondWay:
    """The causes of one step of one trace. `families`: of kernels, by name."""

    def __init__(self, path: Path, step: dict[str, Any], families: dict[str, str]) -> None:
        events, base = raw_events.read(path)
        self.start = step["start_ns"] - base
        self.end = self.start + step["wall_ns"]
        self.families = families
        self.device = sorted((e for e in events if e.kind in DEVICE), key=lambda e: (e.start, e.index))
        self.host = [e for e in events if e.kind in ("op", "launch", "python")]
        launches = {int(e.args["correlation"]): e for e in events if e.kind == "launch" and int(e.args.get("correlation", -1)) > 0}
        self.launch_of = {e.index: launches[c] for e in self.device if (c := int(e.args.get("correlation", -1))) in launches}
        self.waits = self.find_waits()
        self.moves = self.find_moves()
        self.loads = [(e.start, e.end) for e in self.host if e.kind == "op" and e.name.startswith(LOADING)]
        self.recorded = (min((e.start for e in self.host), default=0), max((e.end for e in self.host), default=0))

    def find_waits(self) -> list[tuple[int, int]]:
        """When the host is inside a synchronisation, or in a call that returns when its copy is done (one to the device: has begun)."""
        waits = [(e.start, e.end) for e in self.host if e.kind == "launch" and any(word in e.name for word in WAITS)]
        for copy in self.device:
            launch = self.launch_of.get(copy.index)
            if copy.kind != "copy" or launch is None or copy.end > launch.end:
                continue
            if launch.end - launch.start >= BLOCKED or "Async" not in launch.name:
                waits.append((launch.start, copy.start if "HtoD" in copy.name else launch.end))
        return waits

    def find_moves(self) -> list[tuple[int, int]]:
        """When the host is inside an operator that copies to the device."""
        copies = [e for e in self.device if "HtoD" in e.name and e.start < self.end and e.end > self.start]
        launches = [self.launch_of[e.index] for e in copies if e.index in self.launch_of]
        operators = [e for e in self.host if e.kind == "op" and e.name.startswith("aten::")]
        return [(e.start, e.end) for e in operators if any(e.thread == x.thread and e.start <= x.start < e.end for x in launches)]

    def causes(self) -> Counter[str]:
        edges = {self.start, self.end}
        inside = [e for e in self.device if e.start < self.end and e.end > self.start]
        for span in ((e.start, e.end) for e in inside):
            edges.update(t for t in span if self.start < t < self.end)
        for span in (*self.waits, *self.loads, *self.moves):
            edges.update(t for t in span if self.start < t < self.end)
        edges.update(t for t in self.recorded if self.start < t < self.end)
        for event in inside:
            if launch := self.launch_of.get(event.index):
                edges.update(t for t in (launch.start, launch.end) if self.start < t < self.end)
        result: Counter[str] = Counter()
        starts = [e.start for e in inside]
        cuts = sorted(edges)
        running: list[Event] = []
        upcoming, idle_since = 0, self.start
        for begin, finish in zip(cuts, cuts[1:], strict=False):
            running = [e for e in running if e.end > begin]
            while upcoming < len(inside) and inside[upcoming].start <= begin:
                if inside[upcoming].end > begin:
                    running.append(inside[upcoming])
                upcoming += 1
            if running:
                result[self.busy(running)] += finish - begin
                idle_since = finish
            else:
                at = bisect_right(starts, begin)
                result[self.idle(begin, finish, idle_since, inside[at] if at < len(inside) else None)] += finish - begin
        return result

    def busy(self, running: list[Event]) -> str:
        computing = [e for e in running if not communicates(e)]
        if not computing:
            return "communication"
        first = min(computing, key=lambda e: (e.start, e.index))
        if first.kind == "copy" and ("DtoD" not in first.name):
            return "copy"
        family = self.families.get(first.name, "other")
        return "products" if family in PRODUCTS else "other" if family == "other" else "memory"

    def idle(self, begin: int, finish: int, since: int, following: Event | None) -> str:
        launch = self.launch_of.get(following.index) if following else None
        if following and launch and launch.end <= begin:
            return "queued" if launch.end <= since or following.start - launch.end > LATENCY else "host"
        if launch and launch.start <= begin:
            return "host"
        if finish <= self.recorded[0] or begin >= self.recorded[1]:
            return "unrecorded"
        for cause, spans in (("sync", self.waits), ("host", self.moves), ("data", self.loads)):
            if any(start <= begin and end >= finish for start, end in spans):
                return cause
        return "host"


class HostWay:
    """The causes of one step of a run without device work, from the main thread's innermost operator at each instant."""

    def __init__(self, path: Path, step: dict[str, Any], families: dict[str, str]) -> None:
        events, base = raw_events.read(path)
        self.start = step["start_ns"] - base
        self.end = self.start + step["wall_ns"]
        self.families = families
        ranges = [e for e in events if e.kind == "op" and not is_operator(e)]
        operators = [e for e in events if e.kind == "op" and is_operator(e)]
        marks = [e.thread for e in ranges if e.name.startswith(raw_events.STEP)]
        threads = Counter(marks) or Counter(e.thread for e in operators)
        self.main = threads.most_common(1)[0][0]
        self.loads = [(e.start, e.end) for e in ranges if e.thread == self.main and e.name.startswith(LOADING)]
        self.exchanges = [(e.start, e.end) for e in ranges if e.thread != self.main and e.name.startswith(EXCHANGES)]
        self.operators = [e for e in operators if e.thread == self.main]

    def innermost(self) -> list[tuple[int, int, Event | None]]:
        """The main thread's time in the step, by what is innermost there."""
        nested = raw_events.nested(self.operators)
        edges = sorted({self.start, self.end} | {t for e in self.operators for t in (e.start, e.end) if self.start < t < self.end})
        order = sorted(self.operators, key=lambda e: (e.start, e.start - e.end, e.index))
        pieces: list[tuple[int, int, Event | None]] = []
        at, last = 0, None
        for begin, finish in zip(edges, edges[1:], strict=False):
            while at < len(order) and order[at].start <= begin:
                last = nested[order[at].index]
                at += 1
            while last and last.event.end <= begin:
                last = last.around
            pieces.append((begin, finish, last.event if last else None))
        return pieces

    def causes(self) -> Counter[str]:
        result: Counter[str] = Counter()
        exchanges = raw_events.merged(self.exchanges)
        loads = raw_events.merged(self.loads)
        for begin, finish, event in self.innermost():
            loading = raw_events.beside(loads, begin, finish)
            waiting = raw_events.beside(exchanges, begin, finish) if event is None and loading == 0 else 0
            family = self.families.get(event.name, "") if event else ""
            cause = "products" if family in PRODUCTS else "memory" if family else "rest"
            result["data"] += loading
            result["communication"] += waiting
            result[cause] += finish - begin - loading - waiting
        return result


def is_operator(event: Event) -> bool:
    return not event.name.startswith((raw_events.STEP, "Optimizer.", "## ", "enumerate(", *EXCHANGES))


def compare_host(trace: Path) -> None:
    report = json.loads(hotlens("report", trace, "--format", "json"))
    step = min(report["steps"], key=lambda s: abs(s["wall_ns"] - report["totals"]["wall_ns"]))
    assert report["totals"]["device_ns"] == 0
    spent = {name.removesuffix("_ns"): time for name, time in report["spent"].items()}
    ours = Counter({"data": spent["data"], "communication": spent["communication"], "products": spent["compute"] + spent["thin_products"]})
    second = HostWay(trace, step, {kernel["name"]: kernel["family"] for kernel in report["kernels"]}).causes()
    for cause in ours:
        assert abs(ours[cause] - second[cause]) <= 0.01 * step["wall_ns"], (cause, ours, second)


def said(report: dict[str, Any]) -> Counter[str]:
    """The report's causes, the host's as one sum with copies, and products with thin ones."""
    spent = {name.removesuffix("_ns"): time for name, time in report["spent"].items()}
    groups = defaultdict(list, {"launch": ["host"], "copy": ["host"], "compute": ["products"], "thin_products": ["products"]})
    result: Counter[str] = Counter()
    for name, time in spent.items():
        result[(groups[name] or [name])[0]] += time
    return result


@needs_traces
@pytest.mark.parametrize("trace", TRACE_FILES, ids=lambda path: path.name.split(".")[0])
def test_each_cause_agrees(trace: Path) -> None:
    report = json.loads(hotlens("report", trace, "--format", "json"))
    step = min(report["steps"], key=lambda s: abs(s["wall_ns"] - report["totals"]["wall_ns"]))
    if report["totals"]["device_ns"] == 0:
        compare_host(trace)
        return
    families = {kernel["name"]: kernel["family"] for kernel in report["kernels"]}
    ours, second = said(report), SecondWay(trace, step, families).causes()
    assert report["spent"]["copy_ns"] >= 0.99 * second["copy"]
    second["host"] += second.pop("copy", 0)
    for cause in sorted({*ours, *second}):
        assert abs(ours[cause] - second[cause]) <= 0.01 * step["wall_ns"], (cause, ours, second)


def test_each_cause_of_a_written_trace_without_a_device_agrees(tmp_path: Path) -> None:
    trace = written.exchanging(tmp_path / "trace.json")
    compare_host(trace)
    spent = json.loads(hotlens("report", trace, "--format", "json"))["spent"]
    assert (spent["data_ns"], spent["communication_ns"], spent["compute_ns"]) == (1_000_000, 5_000_000, 1_900_000)
