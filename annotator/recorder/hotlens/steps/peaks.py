"""What a device reaches at its best: products, convolutions and copies, measured with the torch that trains.

No data sheet: the best of repeated runs, each of one operator on operands that fill the device (random ones: a GPU multiplies ones faster,
with less power, than it ever does in a training). About two seconds on each device.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from .measure import accelerator_names, cpu_name

BUDGET_SECONDS = 0.4  # of one operator
LEAST_RUNS = 3


def best(run: Callable[[], object], wait: Callable[[], object], budget: float = BUDGET_SECONDS) -> float:
    """The shortest of repeated runs, seconds, the first (which sets things up) left out."""
    run()
    wait()
    shortest, begun, runs = float("inf"), time.perf_counter(), 0
    while runs < LEAST_RUNS or time.perf_counter() - begun < budget:
        start = time.perf_counter()
        run()
        wait()
        shortest = min(shortest, time.perf_counter() - start)
        runs += 1
    return shortest


def product(device: str, dtype: Any, size: int, wait: Callable[[], object]) -> float:
    """Floating-point operations a second of `size` × `size` matrices: 2 size³ each (a multiplication and an addition)."""
    import torch

    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    return 2 * size**3 / best(lambda: a @ b, wait)


def convolution(device: str, dtype: Any, images: int, wait: Callable[[], object]) -> float:
    """The same of 3 × 3 over 64 channels of 56 × 56 pixels, as in a ResNet: 2 · 9 · 64 · 64 · 56² an image."""
    import torch

    x = torch.randn(images, 64, 56, 56, device=device, dtype=dtype)
    weight = torch.randn(64, 64, 3, 3, device=device, dtype=dtype)
    return images * 2 * 9 * 64 * 64 * 56**2 / best(lambda: torch.nn.functional.conv2d(x, weight, padding=1), wait)


def copy(device: str, size: int, wait: Callable[[], object]) -> float:
    """Bytes a second, read and written, of a copy within the device's memory; `size` in bytes."""
    import torch

    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size / best(lambda: target.copy_(source), wait)


def measured(kind: str, name: str) -> dict[str, Any]:
    """A row: hotlens.device/1."""
    import torch

    gpu = kind != "cpu"
    device = "cuda" if gpu else "cpu"
    wait: Callable[[], object] = torch.cuda.synchronize if gpu else lambda: None
    types = {"f32": torch.float32, "bf16": torch.bfloat16, **({"f16": torch.float16} if gpu else {})}
    size, images, moved = (8192, 256, 1 << 30) if gpu else (1024, 8, 1 << 27)
    peaks: list[dict[str, Any]] = []
    for short, dtype in types.items():
        peaks.append({"what": "gemm", "type": short, "flops_per_s": round(product(device, dtype, size, wait))})
        peaks.append({"what": "convolution", "type": short, "flops_per_s": round(convolution(device, dtype, images, wait))})
    peaks.append({"what": "copy", "bytes_per_s": round(copy(device, moved, wait))})
    return {
        "schema": "hotlens.device/1",
        "name": name,
        "kind": kind,
        "threads": 0 if gpu else torch.get_num_threads(),
        "torch": str(torch.__version__),
        "measured": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "peaks": peaks,
    }


def main() -> None:
    """One row a line on standard output: of the accelerator where there is one, else of the CPU."""
    import torch

    if gpu := torch.cuda.is_available():
        torch.cuda.current_device()  # sets it up: a device counts as in use from then on
    with torch.no_grad():
        kind, name = (accelerator_names() if gpu else [("cpu", cpu_name())])[0]
        sys.stdout.write(json.dumps(measured(kind, name)) + "\n")
