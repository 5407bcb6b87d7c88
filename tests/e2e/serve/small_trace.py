"""A small trace with modules, a device and hostile names, for tests that need no recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HOSTILE = "<img src=x onerror=alert(1)>\u202e\u0000"
LONG = "long_" * 2000


class Trace:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.launches = 0

    def add(self, category: str, name: str, start: float, duration: float, thread: str = "1", **args: Any) -> None:
        process = "0" if category == "kernel" else "9"
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start, "dur": duration, "args": args}
        )

    def launch(self, name: str, at: float, start: float, duration: float) -> None:
        self.launches += 1
        self.add("cuda_runtime", "cudaLaunchKernel", at, 4, correlation=self.launches)
        self.add("kernel", name, start, duration, thread="7", correlation=self.launches)

    def step(self, number: int, at: float) -> None:
        self.add("user_annotation", f"ProfilerStep#{number}", at, 1000)
        self.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 5, 80)
        self.add("python_function", "nn.Module: Net_0", at + 100, 500)
        for layer in range(4):
            begin = at + 110 + layer * 100
            self.add("python_function", f"nn.Module: Linear_{layer}", begin, 90)
            self.add("cpu_op", "aten::linear", begin + 5, 60)
            self.launch("ampere_sgemm_128x64_tn", begin + 20, begin + 40, 50)
        self.add("cpu_op", HOSTILE, at + 620, 30)
        self.launch(LONG, at + 630, at + 640, 20)
        self.add("user_annotation", "Optimizer.step#SGD.step", at + 700, 100)

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": self.events}))
        return path


def small_trace(path: Path, steps: int = 3) -> Path:
    trace = Trace()
    for number in range(steps):
        trace.step(number, number * 1000.0)
    return trace.write(path)
