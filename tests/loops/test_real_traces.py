"""Device time on the right module leaf in real traces that record modules, against a plain reading of the same events in Python.

The reading here knows nothing of Hotlens: a kernel's launch by correlation, the frames and operators around it by time, a backward
operator's forward by sequence number. HOTLENS_TRACES names a folder of traces; without it one that the tests record themselves is left.
"""

from __future__ import annotations

import bisect
import collections
import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compare import HOTLENS

GOAL = 0.99
FOLDER = os.environ.get("HOTLENS_TRACES")
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
FRAME = "nn.Module: "

Event = dict[str, Any]


def events_of(path: Path) -> list[Event]:
    """traceEvents of a trace of Kineto's; empty for another format."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        trace = json.load(file)
    return trace["traceEvents"] if isinstance(trace, dict) else []


def has_modules(events: list[Event]) -> bool:
    """Frames of modules, and device work to put on them."""
    frames = any(str(event.get("name", "")).startswith(FRAME) for event in events)
    return frames and any(event.get("cat") in DEVICE for event in events)


class Host:
    """What runs around an instant on a thread: operators and module frames, outermost first."""

    def __init__(self, events: list[Event]) -> None:
        self._around: dict[Any, list[Event]] = collections.defaultdict(list)
        self._forward: dict[int, list[Event]] = collections.defaultdict(list)
        for event in events:
            if event.get("ph") != "X":
                continue
            operator = event.get("cat") == "cpu_op"
            if operator or str(event["name"]).startswith(FRAME):
                self._around[event["pid"], event["tid"]].append(event)
            number = event.get("args", {}).get("Sequence number")
            if operator and number is not None and not event["args"].get("Fwd thread id"):
                self._forward[number].append(event)
        self._stacks = {thread: self._nested(sorted(spans, key=lambda e: (e["ts"], -e["dur"]))) for thread, spans in self._around.items()}

    @staticmethod
    def _nested(spans: list[Event]) -> tuple[list[float], list[list[Event]]]:
        starts, stacks, stack = [], [], []
        for span in spans:
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= span["ts"]:
                stack.pop()
            stack.append(span)
            starts.append(span["ts"])
            stacks.append(list(stack))
        return starts, stacks

    def stack(self, event: Event) -> list[Event]:
        """Spans that hold the start of `event`."""
        starts, stacks = self._stacks.get((event["pid"], event["tid"]), ([], []))
        at = bisect.bisect_right(starts, event["ts"]) - 1
        return [span for span in (stacks[at] if at >= 0 else []) if event["ts"] < span["ts"] + span["dur"]]

    def leaf(self, event: Event) -> tuple[str, str | None] | None:
        """Direction and innermost module of what a launch does; nothing where frames cannot tell (gradient accumulation)."""
        stack = self.stack(event)
        backward = [i for i, span in enumerate(stack) if "evaluate_function" in span["name"] or span.get("args", {}).get("Fwd thread id")]
        frames = [span["name"] for span in stack[(backward[-1] if backward else 0) :] if span["name"].startswith(FRAME)]
        if not backward:
            return "forward", frames[-1][len(FRAME) :] if frames else None
        if frames:
            return "recompute", frames[-1][len(FRAME) :]
        if any("AccumulateGrad" in span["name"] for span in stack):
            return None
        numbers = [span["args"]["Sequence number"] for span in stack if span.get("args", {}).get("Fwd thread id")]
        made = [op for op in self._forward.get(numbers[-1], []) if op["ts"] < event["ts"]] if numbers else []
        if not made:
            return "backward", None
        frames = [span["name"] for span in self.stack(max(made, key=lambda op: op["ts"])) if span["name"].startswith(FRAME)]
        return "backward", frames[-1][len(FRAME) :] if frames else None


TRACES = sorted(Path(FOLDER).glob("*.json*")) if FOLDER else []


@pytest.mark.skipif(not TRACES, reason="HOTLENS_TRACES names no folder of traces")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name[:40])
def test_device_time_is_on_the_module_leaf(path: Path) -> None:
    events = events_of(path)
    if not has_modules(events):
        pytest.skip("records no modules on a device")
    compare_leaves(path, events)


def test_device_time_is_on_the_module_leaf_of_our_own_trace(own_traces: Path) -> None:
    path = own_traces / "device.json.gz"
    events = events_of(path)
    assert has_modules(events)
    compare_leaves(path, events)


def compare_leaves(path: Path, events: list[Event]) -> None:
    output = subprocess.run([HOTLENS, "report", str(path), "--events"], check=True, stdout=subprocess.PIPE, text=True).stdout
    said = {line["event"]: line for line in map(json.loads, output.splitlines())}
    launches = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})
    }
    host = Host(events)
    right: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    wrong: collections.Counter[tuple[str | None, str | None]] = collections.Counter()
    for index, event in enumerate(events):
        launch = launches.get(event.get("args", {}).get("correlation")) if event.get("cat") in DEVICE else None
        truth = host.leaf(launch) if launch is not None and index in said else None
        if truth is None or "nccl" in event["name"]:
            continue
        direction, leaf = truth
        got = said[index]["module"].rsplit("/", 1)[-1] if said[index]["module"] else None
        total[direction] += event["dur"]
        if got == leaf:
            right[direction] += event["dur"]
        else:
            wrong[leaf, got] += event["dur"]
    assert total
    for direction, time in total.items():
        assert right[direction] >= GOAL * time, f"{direction}: {right[direction]} of {time}; {wrong.most_common(10)}"
