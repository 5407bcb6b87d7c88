"""Small traces to start a fuzzer from: one of each writer, and of each fault that writers make.

python tests/fuzz/seeds.py FOLDER
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

Event = dict[str, Any]


def host(name: str, start: float, length: float, category: str = "cpu_op", thread: int = 1, **args: object) -> Event:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": length, "args": args}


def launched(name: str, start: float, number: int) -> list[Event]:
    launch = host("cudaLaunchKernel", start, 1.5, "cuda_runtime", correlation=number)
    work = host(name, start + 3, 4.25, "kernel", 7, correlation=number, device=0, stream=7) | {"pid": 0}
    flow = {"id": number, "pid": 1, "tid": 1, "ts": start, "cat": "ac2g", "name": "ac2g"}
    return [launch, work, {"ph": "s", **flow}, {"ph": "f", "bp": "e", **flow, "pid": 0, "tid": 7}]


def step(number: int, start: float) -> list[Event]:
    """A training step of 100 us: load, forward in a module, backward on its own thread, optimizer."""
    node = "autograd::engine::evaluate_function: AddmmBackward0"
    return [
        host(f"ProfilerStep#{number}", start, 100, "user_annotation"),
        host("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + 1, 9, "user_annotation"),
        host("nn.Module: Linear_0", start + 12, 20, "python_function", **{"Python id": 1, "Python parent id": None}),
        host("aten::addmm", start + 14, 10, **{"Sequence number": number, "Fwd thread id": 0, "Input Dims": [[2, 3], [3, 4]]}),
        *launched("ampere_sgemm_32x32_tn", start + 16, number * 10),
        host(node, start + 40, 20, thread=2, **{"Sequence number": number, "Fwd thread id": 1}),
        host("torch::autograd::AccumulateGrad", start + 62, 5, thread=2),
        host("Optimizer.step#SGD.step", start + 70, 20, "user_annotation"),
        host("cudaStreamSynchronize", start + 92, 5, "cuda_runtime", correlation=number * 10 + 1),
        {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": start + 15,
         "args": {"Bytes": 512, "Addr": 64, "Device Id": 0, "Device Type": 1, "Total Allocated": 512, "Total Reserved": 4096}},
    ]  # fmt: skip


def kineto(events: list[Event]) -> str:
    lines = ",\n".join("  " + json.dumps(event) for event in events)
    head = '{\n  "schemaVersion": 1,\n  "deviceProperties": [{"id": 0, "name": "A", "totalGlobalMem": 1024}],\n  "traceEvents": [\n'
    return f'{head}{lines}\n  ],\n  "traceName": "t.json",\n  "baseTimeNanoseconds": 1790857026000000000\n}}\n'


def seeds() -> dict[str, bytes]:
    events = step(1, 10.5) + step(2, 120.125)
    whole = kineto(events)
    legacy = json.dumps([{"name": "aten::mm", "ph": "X", "ts": 5, "dur": 4, "tid": 1, "pid": "CPU functions", "args": {}},
                         {"name": "sgemm", "ph": "X", "ts": 6.5, "dur": 4, "tid": 0, "pid": "CUDA functions", "args": {}}])  # fmt: skip
    old = whole.replace("cpu_op", "Operator").replace("cuda_runtime", "Runtime").replace('"kernel"', '"Kernel"')
    texts = {
        "kineto": whole,
        "old": old,
        "legacy": legacy,
        "compact": json.dumps({"traceEvents": events}, separators=(",", ":"), sort_keys=True),
        "indented": json.dumps({"metadata": {"traceEvents": [1]}, "traceEvents": events}, indent=1),
        "cut": whole[: len(whole) * 2 // 3],
        "quote": whole.replace("Linear_0", '<string>{"device":"cpu"}(0): f', 1),
        "newline": whole.replace("Linear_0", "a\nb", 1),
        "backslash": whole.replace("Linear_0", "C:\\Users\\x.py(3): f", 1),
        "fragment": whole.replace('"device": 0, "stream": 7', '"device": 0, ', 1),
        "numbers": whole.replace("10.5", "-1e30", 1).replace('"dur": 4.25', '"dur": 9223372036854775807', 1),
        "nan": whole.replace('"tid": 2', '"tid": NaN', 1),
    }
    made = {name: text.encode() for name, text in texts.items()}
    made["utf8"] = whole.encode().replace(b"Linear_0", b"\xff\xfe\x07", 1)
    made["gzip"] = gzip.compress(whole.encode(), mtime=0)
    made["gzip_cut"] = made["gzip"][: len(made["gzip"]) // 2]
    return made


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in seeds().items():
        (folder / name).write_bytes(text)


if __name__ == "__main__":
    main()
