"""Small traces written by hand, for what no shared trace shows. Times are microseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MAIN, STREAM = 11, 7


class Written:
    """Complete events of one process with a thread and a stream."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.correlation = 0

    def add(self, category: str, name: str, start: float, duration: float, thread: int = MAIN, **args: Any) -> None:
        row = {"ph": "X", "cat": category, "name": name, "pid": 5, "tid": thread, "ts": start, "dur": duration, "args": args}
        self.events.append(row)

    def op(self, name: str, start: float, duration: float, **args: Any) -> None:
        self.add("cpu_op", name, start, duration, **args)

    def kernel(self, name: str, launched: float, start: float, duration: float, category: str = "kernel") -> None:
        """Device work with its launch, which takes 5 µs."""
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernel", launched, 5, correlation=self.correlation)
        row = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": STREAM, "ts": start, "dur": duration}
        self.events.append({**row, "args": {"correlation": self.correlation, "stream": STREAM}})

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": self.events}))
        return path


def ahead(path: Path, marked: bool, waits: bool, steps: int = 3) -> Path:
    """Steps of 10 ms whose kernels take 49 ms each; `waits`: the last one waits for the device."""
    trace = Written()
    for step in range(steps):
        begin = 10_000 * step
        if marked:
            long = 49_000 * steps + 100 - begin if waits and step + 1 == steps else 10_000
            trace.add("user_annotation", f"ProfilerStep#{step}", begin, long)
        trace.add("python_function", "nn.Module: Net_0", begin + 50, 9_800, **{"Python id": step + 1, "Python parent id": None})
        for at in range(7):
            trace.op("aten::mm", begin + 100 + 1_000 * at, 900)
            trace.kernel("gemm", begin + 200 + 1_000 * at, 300 + 49_000 * step + 7_000 * at, 7_000)
    if waits:
        trace.add("cuda_runtime", "cudaDeviceSynchronize", 10_000 * steps - 100, 49_000 * steps + 150 - 10_000 * steps)
    return trace.write(path)


def exchanging(path: Path) -> Path:
    """Steps of 10 ms on a CPU: 1 ms of loading, a product, an exchange on another thread that the main thread waits for from then on."""
    trace = Written()
    for step in range(3):
        begin = 10_000 * step
        trace.add("user_annotation", f"ProfilerStep#{step}", begin, 10_000)
        trace.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 1_000)
        trace.op("aten::mm", begin + 1_100, 1_900)
        shapes = {"Input Dims": [[1000]], "Input type": ["float"]}
        trace.add("user_annotation", "gloo:all_reduce", begin + 2_000, 6_000, thread=MAIN + 1, **shapes)
        trace.op("aten::add_", begin + 8_100, 400)
    return trace.write(path)
