"""Random traces of training steps: nested modules and operators on several threads, launches, kernels on streams, backward by number.

The shape of a trace (modules, streams, threads, steps) and all its times come from one seed. What is written follows the trace format; what
is true of it is left to the oracle.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

MAIN, BACKWARD, LOADER = 11, 12, 13
CLASSES = ("Linear", "Conv2d", "Block", "ReLU", "Attention")
KERNELS = ("void gemm<float>", "elementwise, <add>", "ncclDevKernel_AllReduce_Sum_f32", 'odd "name"\n')


@dataclass
class Node:
    """A module: its instance name and its children."""

    name: str
    children: list[Node] = field(default_factory=list)


class Writer:
    """Appends events and keeps a clock per stream; times are nanoseconds and are written as microseconds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.events: list[dict[str, Any]] = []
        self.streams = [7, 20, 21][: self.random.randint(0, 3)]
        self.free = dict.fromkeys(self.streams, 0)
        self.correlation = 100
        self.sequence = 0
        self.python_id = 0
        self.numbers: list[int] = []
        self.counters: dict[str, int] = {}
        self.made: list[Node] = []
        self.now = 1_000

    def pause(self, most: int = 3_000) -> int:
        """Moves the host's clock on; sometimes by nothing at all, so that edges touch."""
        self.now += self.random.choice((0, 1, self.random.randint(0, most)))
        return self.now

    def complete(self, category: str, name: str, start: int, end: int, thread: int, pid: int = 5, **args: Any) -> None:
        times = {"ts": start / 1000, "dur": (end - start) / 1000}  # short enough for a double to print all of it
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread, **times, "args": args})

    def launch(self, thread: int) -> None:
        """A launch, and often the work it starts, later and on any stream; one in ten launches has no work."""
        start = self.pause(500)
        self.now += self.random.randint(1, 9_000)
        self.correlation += 1
        self.complete("cuda_runtime", "cudaLaunchKernel", start, self.now, thread, correlation=self.correlation)
        if not self.streams or self.random.random() < 0.1:
            return
        stream = self.random.choice(self.streams)
        begin = max(self.free[stream], start + self.random.randint(0, 20_000))
        end = begin + self.random.randint(0, 30_000)
        self.free[stream] = end
        category, name = self.random.choice((("kernel", self.random.choice(KERNELS)), ("gpu_memset", "Memset (Device)")))
        self.complete(category, name, begin, end, stream, pid=0, correlation=self.correlation, stream=stream)

    def operator(self, name: str, thread: int, depth: int = 0, **args: Any) -> None:
        start = self.pause()
        for _ in range(self.random.randint(0, 2)):
            if depth < 2 and self.random.random() < 0.5:
                self.operator("aten::inner", thread, depth + 1)
            else:
                self.launch(thread)
        self.now += self.random.randint(1, 5_000)
        self.complete("cpu_op", name, start, self.now, thread, **args)

    def model(self, depth: int) -> Node:
        """A module of fresh ones and, now and then, of ones that others call as well."""
        kind = self.random.choice(CLASSES)
        count = self.counters.get(kind, 0)
        self.counters[kind] = count + 1
        children = [self.model(depth - 1) for _ in range(self.random.randint(0, 3))] if depth > 0 else []
        if self.made and self.random.random() < 0.2:
            children.append(self.random.choice(self.made))
        self.made.append(Node(f"{kind}_{count}", children))
        return self.made[-1]

    def forward(self, module: Node, parent: int | None) -> None:
        self.python_id += 1
        own, start = self.python_id, self.pause()
        for child in module.children:
            for _ in range(self.random.choice((1, 1, 1, 2))):
                self.forward(child, own)
        for _ in range(self.random.randint(0, 3)):
            self.sequence += 1
            self.numbers.append(self.sequence)
            self.operator("aten::work", MAIN, **{"Sequence number": self.sequence, "Fwd thread id": 0})
        self.now += self.random.randint(1, 2_000)
        args: dict[str, Any] = {"Python id": own, "Python parent id": parent}
        self.complete("python_function", f"nn.Module: {module.name}", start, self.now, MAIN, **args)

    def backward(self, thread: int) -> None:
        for number in reversed(self.numbers):
            if self.random.random() < 0.2:
                continue
            start = self.pause()
            args = {"Sequence number": number, "Fwd thread id": 1}
            self.operator("WorkBackward0", thread, **args)
            self.now += self.random.randint(1, 1_000)
            self.complete("cpu_op", "autograd::engine::evaluate_function: WorkBackward0", start, self.now, thread, **args)
            if self.random.random() < 0.3:
                self.operator("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", thread)
        self.numbers.clear()

    def annotated(self, name: str, operators: int) -> None:
        start = self.pause()
        for _ in range(operators):
            self.operator("aten::small", MAIN)
        self.now += self.random.randint(1, 4_000)
        self.complete("user_annotation", name, start, self.now, MAIN)


def trace(seed: int) -> str:
    """One trace as JSON text."""
    writer = Writer(seed)
    model = writer.model(3)
    thread = writer.random.choice((MAIN, BACKWARD))
    for step in range(writer.random.randint(1, 5)):
        start = writer.pause()
        if writer.random.random() < 0.7:
            writer.annotated("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1)
        if writer.random.random() < 0.5:
            writer.annotated("Optimizer.zero_grad#SGD.zero_grad", 1)
        writer.forward(model, None)
        writer.backward(thread)
        writer.annotated("Optimizer.step#SGD.step", writer.random.randint(0, 3))
        writer.now += writer.random.randint(0, 50_000)
        writer.complete("user_annotation", f"ProfilerStep#{step + 3}", start, writer.now, MAIN)
        writer.pause()
    writer.random.shuffle(writer.events)
    return json.dumps({"schemaVersion": 1, "traceEvents": writer.events, "baseTimeNanoseconds": 1_700_000_000_000_000_123})
