"""Traces that the tests record themselves, with the torch beside them: what stands in where nobody has a collection of real ones.

`python tests/traces/own_traces.py FOLDER` writes NAME.json.gz for every name in NAMES, unless they are there from the same torch.
A CPU records no device: the traces but `cpu` are given one. Each operator that calls no other launches a kernel nearly as long as
itself, on one stream, tied to it by number and by an arrow as Kineto ties them. Two of them have a clock that ticks at every
beginning and end, so that their steps take the same time on a busy machine as on an idle one.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

STEPS = 5
CPU = "cpu"  # as torch writes it, with the allocator's events
DEVICE = "device"  # launch-bound: its kernels are shorter than what launches them; even steps
DEEPER = "deeper"  # the same with three times the blocks
DATA = "data"  # its loader takes most of every step
NAMES = (CPU, DEVICE, DEEPER, DATA)
KERNEL_SHARE = 0.8
LOADER_SECONDS = 0.05
LOADER_SHARE = 0.75
TICK_US = 4

Event = dict[str, Any]


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.norm(self.conv(x)))


class Net(nn.Module):
    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3)
        self.blocks = nn.Sequential(*(Block(16) for _ in range(blocks)))
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Images(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 8 * (STEPS + 3)

    def __getitem__(self, at: int) -> tuple[torch.Tensor, int]:
        time.sleep(self.seconds / 8)
        return torch.randn(3, 16, 16), at % 10


def train(file: Path, blocks: int, seconds: float) -> None:
    torch.manual_seed(0)
    model = Net(blocks)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=2, active=STEPS),
        on_trace_ready=lambda done: done.export_chrome_trace(str(file)),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as profiler:
        for images, labels in torch.utils.data.DataLoader(Images(seconds), batch_size=8):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            profiler.step()


def ticking(events: list[Event]) -> None:
    """Gives every edge of the events the time of a clock that ticks from edge to edge: what lies in what stays as it was."""
    timed = [event for event in events if "ts" in event and event.get("ph") != "M"]
    ends = [round(event["ts"] + event.get("dur", 0), 3) for event in timed]
    first = min(event["ts"] for event in timed)
    clock = {at: first + tick * TICK_US for tick, at in enumerate(sorted({*ends, *(event["ts"] for event in timed)}))}
    for event, end in zip(timed, ends, strict=True):
        start = clock[event["ts"]]
        if "dur" in event:
            event["dur"] = clock[end] - start
        event["ts"] = start


def leaves(events: list[Event]) -> list[Event]:
    """Operators that call no other, in the order of their starts."""
    found: list[Event] = []
    operators = [event for event in events if event.get("cat") == "cpu_op"]
    operators.sort(key=lambda each: (each["pid"], each["tid"], each["ts"], -each["dur"]))
    for event, after in zip(operators, [*operators[1:], None], strict=True):
        inside = after is not None and after["tid"] == event["tid"] and after["ts"] < event["ts"] + event["dur"]
        if not inside and event["dur"] > 1:
            found.append(event)
    return sorted(found, key=lambda each: each["ts"])


def with_device(events: list[Event]) -> list[Event]:
    """The events of a CPU, and what a device would have added: launches, kernels, arrows between them."""
    added: list[Event] = []
    free = 0.0
    for correlation, operator in enumerate(leaves(events), start=1):
        host = {"pid": operator["pid"], "tid": operator["tid"]}
        start = round(operator["ts"] + operator["dur"] / 2, 3)
        begin = round(max(free, start + 2), 3)
        duration = round(operator["dur"] * KERNEL_SHARE, 3)
        free = begin + duration
        tie = {"correlation": correlation, "External id": operator["args"].get("External id", 0)}
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **host, "ts": start, "dur": round(operator["dur"] / 4, 3)}
        name = f"void at::native::{operator['name'].split('::')[-1]}_kernel<float>(float*)"
        stream = {"pid": 0, "tid": 7}
        kernel = {"ph": "X", "cat": "kernel", "name": name, **stream, "ts": begin, "dur": duration}
        arrow = {"cat": "ac2g", "name": "ac2g", "id": correlation}
        added += [
            {**launch, "args": tie},
            {**kernel, "args": {**tie, "device": 0, "stream": 7}},
            {**arrow, "ph": "s", **host, "ts": start},
            {**arrow, "ph": "f", "bp": "e", **stream, "ts": begin},
        ]
    return events + added


def loader_share(events: list[Event]) -> float:
    def total(prefix: str) -> float:
        return float(sum(event["dur"] for event in events if event.get("ph") == "X" and event["name"].startswith(prefix)))

    return total("enumerate(DataLoader)") / total("ProfilerStep#")


def recorded(name: str, raw: Path) -> dict[str, Any]:
    """Where other programs take the machine, its steps take longer: the loader then has to, too, to be what takes most of them."""
    seconds = LOADER_SECONDS if name == DATA else 0
    while True:
        train(raw, blocks=6 if name == DEEPER else 2, seconds=seconds)
        trace: dict[str, Any] = json.loads(raw.read_text())
        raw.unlink()
        if name != DATA or loader_share(trace["traceEvents"]) >= LOADER_SHARE or seconds > 2:
            return trace
        seconds *= 3


def write(name: str, folder: Path) -> None:
    trace = recorded(name, folder / f"{name}.json")
    if name in (DEVICE, DEEPER):
        ticking(trace["traceEvents"])
    if name != CPU:
        trace["traceEvents"] = with_device(trace["traceEvents"])
    (folder / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode(), 1))


def record(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made_by = f"{torch.__version__} {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}"
    with (folder / "made-by.txt").open("a+") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)  # tests run beside each other
        stamp.seek(0)
        if stamp.read() == made_by:
            return
        for name in NAMES:
            write(name, folder)
        stamp.truncate(0)
        stamp.write(made_by)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
