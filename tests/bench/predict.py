"""How far predictions for other batch sizes are off: peak memory at sizes that were not recorded, and step time at twice and four times.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... python tests/bench/predict.py [--models resnet,gpt] [--sizes 1,3,16] [--keep-freed] [--peaks]

Recorded are 6 and 8. Memory is compared with the allocator's peak in a run at each size. Time is compared with real steps of processes of
one size each, since what a process did before decides its page faults; sizes take turns. The control is real against real: how far the
processes of a size lie apart, and the recorded steps at 8 against those at 8. Every error is printed; where a control is off by more than
3 %, the machine was not quiet enough or the steps have page faults by chance, and the row is marked. With --keep-freed all processes keep
the memory that they free, and have none. With --peaks memory alone is compared, which a busy machine does not disturb.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HOTLENS = os.environ.get("HOTLENS_BIN", str(HERE.parents[1] / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
SCRIPT = HERE / "predict_models.py"
NAMES = ["resnet", "mobilenet", "unet", "gpt", "bert", "vit", "lstm", "dlrm"]
RECORDED, MEASURED = 6, 8
QUIET = 0.03
PROCESSES = 3  # of each size
KEEPS_FREED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}


@dataclass(frozen=True)
class Time:
    """Errors as fractions; `bundle`: the recorded steps at the measured size against the real ones of this process."""

    model: str
    batch: int
    error: float
    bundle: float
    control: float
    inside: bool  # of the interval


def hotlens(folder: Path, *arguments: str) -> str:
    done = subprocess.run([HOTLENS, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"hotlens {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def record(folder: Path, model: str, batch: int, steps: int) -> int:
    """The allocator's peak of the recorded step, bytes."""
    folder.mkdir(exist_ok=True)
    options = ["--python", PYTHON, "--warmup", "3", "--steps", str(steps), "--format", "json"]
    hotlens(folder, "run", *options, str(SCRIPT), model, str(batch))
    newest = max(folder.glob(".hotlens/profiles/*/program.json.gz"))
    document: dict[str, Any] = json.loads(gzip.decompress(newest.read_bytes()))
    if document["refused"]:
        raise RuntimeError(f"{model}: {document['refused']}")
    return int(document["allocator"]["peak_bytes"])


def real_times(model: str) -> dict[int, list[float]]:
    """Medians of processes, by size."""
    sizes = [MEASURED, 2 * MEASURED, 4 * MEASURED]
    found: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(PROCESSES):
        for size in sizes:
            done = subprocess.run([PYTHON, SCRIPT, model, "--times", str(size)], capture_output=True, text=True, check=True)
            found[size].append(statistics.median(json.loads(done.stdout)))
    return found


def compare_times(model: str, points: dict[int, dict[str, Any]], real: dict[int, list[float]]) -> list[Time]:
    at_measured = statistics.median(real[MEASURED])
    bundle = points[MEASURED]["step_ns"] / 1e9 / at_measured - 1
    rows = []
    for batch in (2 * MEASURED, 4 * MEASURED):
        truth, point = statistics.median(real[batch]), points[batch]
        control = max(real[batch]) / min(real[batch]) - 1
        inside = point["low_ns"] <= truth * 1e9 <= point["high_ns"]
        rows.append(Time(model, batch, point["step_ns"] / 1e9 / truth - 1, bundle, control, inside))
    return rows


def one(model: str, sizes: list[int], place: Path, times_too: bool) -> tuple[list[float], list[Time]]:
    """Errors of memory, and rows of time."""
    record(place / model, model, RECORDED, 3 if times_too else 1)
    record(place / model, model, MEASURED, 15 if times_too else 1)
    peaks = {batch: record(place / f"{model}-{batch}", model, batch, 1) for batch in sizes}
    wanted = ",".join(map(str, sorted({*sizes, 2 * MEASURED, 4 * MEASURED})))
    predicted = json.loads(hotlens(place / model, "predict", "--python", PYTHON, "--batch-size", wanted, "--format", "json"))
    points = {point["batch_size"]: point for point in predicted["points"]}
    for refusal in predicted["refused"]:
        print(f"{model} {refusal['batch_size']}: refused, {refusal['reason']}")
    memory = []
    for batch, peak in peaks.items():
        if batch not in points:
            continue
        memory.append(points[batch]["peak_bytes"] / peak - 1)
        print(f"{model:10} {batch:4} memory {peak:12} predicted {points[batch]['peak_bytes']:12} {memory[-1]:+.4%}", flush=True)
    times = compare_times(model, points, real_times(model)) if times_too else []
    for row in times:
        loud = "" if max(abs(row.control), abs(row.bundle)) <= QUIET else "  not quiet"
        line = f"{model:10} {row.batch:4} time {row.error:+.1%}, controls {row.control:+.1%} and {row.bundle:+.1%}"
        print(f"{line}, {'inside' if row.inside else 'outside'} the interval{loud}", flush=True)
    return memory, times


def summary(name: str, errors: list[float]) -> None:
    sizes = sorted(abs(error) for error in errors)
    if sizes:
        print(
            f"{name}: {len(sizes)} cases, mean {statistics.mean(sizes):.3%}, median {statistics.median(sizes):.3%}, worst {sizes[-1]:.3%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(NAMES))
    parser.add_argument("--sizes", default="1,3,16,32,48,64")
    parser.add_argument("--keep-freed", action="store_true")
    parser.add_argument("--peaks", action="store_true")
    options = parser.parse_args()
    if options.keep_freed:
        os.environ.update(KEEPS_FREED)
    memory: list[float] = []
    times: list[Time] = []
    with tempfile.TemporaryDirectory() as place:
        for model in options.models.split(","):
            try:
                found = one(model, [int(size) for size in options.sizes.split(",")], Path(place), not options.peaks)
            except RuntimeError as reason:
                print(f"{model}: refused, {reason}", flush=True)
                continue
            memory += found[0]
            times += found[1]
    print(f"memory to the byte: {sum(error == 0 for error in memory)} of {len(memory)}")
    summary("memory", memory)
    if options.peaks:
        return
    summary("time", [row.error for row in times])
    quiet = [row for row in times if max(abs(row.control), abs(row.bundle)) <= QUIET]
    summary("time, both controls within 3 %", [row.error for row in quiet])
    summary("control, real against real", [row.control for row in times])
    summary("control, recorded steps against real ones", [row.bundle for row in times])
    print(f"inside the interval: {sum(row.inside for row in times)} of {len(times)}")


if __name__ == "__main__":
    main()
