"""What the lab's worker costs: how long it takes to answer, and what it holds in memory, idle and after many requests.

    HOTLENS_TEST_PYTHON=... python tests/bench/lab_worker.py [--requests 10000] [--starts 9] [--program FILE]

The program is a perceptron of 20 MB of parameters that Adam trains, or FILE (a `program.json.gz`). Requests go round: `hello`, a step, a
step that is refused; each thousandth loads the program again. Growth: resident memory after the last request against that after half
of them. Memory is read where nothing runs. Wants a worker that is built (tests/e2e/lab leaves one in build/cache).
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/e2e/lab"))
from worker import Worker, op, program, tensor

ROOT = Path(__file__).resolve().parents[2]
WIDTH, LAYERS, BATCH = 512, 19, 16  # 20 MB of weights
LOADED_EVERY = 1_000
MEMORY_BYTES = 4_000_000_000  # that it may take


def perceptron() -> dict[str, Any]:
    """One step of `LAYERS` square layers: forward, backward, Adam."""
    tensors = [tensor([WIDTH, WIDTH], requires_grad=True, name=f"{at}.weight", storage=at) for at in range(LAYERS)]
    for at in range(2 * LAYERS):
        tensors.append(tensor([WIDTH, WIDTH], "state", name=f"state {at}", storage=LAYERS + at))
    tensors.append(tensor([BATCH, WIDTH], "input", storage=3 * LAYERS))
    last, operators = len(tensors) - 1, []
    for at in range(LAYERS):
        operators.append({**op("aten::linear", {"t": last}, {"t": at}, out=last + 1), "grad": True})
        operators.append({**op("aten::relu", {"t": last + 1}, out=last + 2), "grad": True})
        last += 2
    operators.append({**op("aten::sum", {"t": last}, out=last + 1), "grad": True})
    operators.append(op("hotlens::backward", {"t": last + 1}, None))
    for at in range(LAYERS):
        mean, square = LAYERS + 2 * at, LAYERS + 2 * at + 1
        operators.append(op("aten::lerp_", {"t": mean}, {"gradient": at}, 0.1, overload="Scalar", out=mean))
        operators.append(op("aten::addcmul_", {"t": square}, {"gradient": at}, {"gradient": at}, out=square, value=0.001))
        operators.append(op("aten::addcdiv_", {"t": at}, {"t": mean}, {"t": square}, out=at, value=-0.001))
    operators.append(op("hotlens::clear_gradient", *range(LAYERS)))
    return program(tensors, operators)


def resident(worker: Worker) -> int:
    """Bytes."""
    lines = Path(f"/proc/{worker.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024


def starts(path: Path, times: int) -> list[float]:
    found = []
    for _ in range(times):
        begin = time.monotonic()
        with Worker(path) as worker:
            worker.ask(do="hello")
            found.append(time.monotonic() - begin)
    return found


def asked(document: dict[str, Any], requests: int) -> Iterator[dict[str, Any]]:
    for at in range(requests):
        if at % LOADED_EVERY == 0:
            yield {"do": "load", "program": document, "memory_bytes": MEMORY_BYTES}
        elif at % 3 == 0:
            yield {"do": "hello"}
        else:
            yield {"do": "step", "batch": 1, "rounds": 1} if at % 3 == 1 else {"do": "step", "batch": -1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--starts", type=int, default=9)
    parser.add_argument("--program", type=Path)
    options = parser.parse_args()
    document = json.loads(gzip.decompress(options.program.read_bytes())) if options.program else perceptron()
    path = max(ROOT.glob("build/cache/hotlens/lab/*/hotlens-lab"), key=lambda each: each.stat().st_atime)
    times = starts(path, options.starts)
    print(f"start to the first answer: median {statistics.median(times):.2f} s, worst {max(times):.2f} s of {len(times)}", flush=True)
    with Worker(path) as worker:
        worker.ask(do="hello")
        print(f"resident: {resident(worker) / 1e6:.0f} MB without a program", flush=True)
        loaded = worker.ask(do="load", program=document, memory_bytes=MEMORY_BYTES)
        print(f"with one of {loaded['operators']} operators, {loaded['tensors']} tensors: {resident(worker) / 1e6:.0f} MB", flush=True)
        sizes = []
        for at, request in enumerate(asked(document, options.requests)):
            worker.ask(**request)
            if (at + 1) % LOADED_EVERY == 0:
                sizes.append(resident(worker) / 1e6)
        print(f"after each {LOADED_EVERY:,} requests, MB: {' '.join(f'{size:.1f}' for size in sizes)}")
        if len(sizes) > 1:
            print(f"growth in the last half: {sizes[-1] - sizes[len(sizes) // 2 - 1]:+.2f} MB")


if __name__ == "__main__":
    main()
