"""How far predictions for other batch sizes are off: peak memory at sizes that were not recorded, and step time at twice and four times.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... python tests/bench/predict.py [--models resnet,gpt] [--sizes 1,3,16] [--keep-freed]
                                                                          [--peaks | --times]

Recorded are 6 and 8. Memory is compared with the allocator's peak in a run at each size. Time is compared with real steps of processes of
one size each, since what a process did before decides its page faults. Rounds take turns, so that all meet the same machine: a recording
with its prediction, then processes of the three sizes, up and down again; a prediction's error is that to the median of all processes of
the size. The control is real against real: the processes on the way up against those on the way down. Every error is printed; where a
control is off by more than 3 %, the machine was not quiet enough, and the row is marked. How far each recording lies from real steps at 8
is printed beside it: that is a part of the error. With --keep-freed all processes keep the memory that they free, and have no page
faults. With --peaks memory alone is compared, which a busy machine does not disturb; with --times, time alone.
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
LARGER = (2 * MEASURED, 4 * MEASURED)
QUIET = 0.03
ROUNDS = 3
KEEPS_FREED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}


@dataclass(frozen=True)
class Time:
    """Errors as fractions; `bundle`: the recorded steps at the measured size against real ones; `controls`: at that size, at this one."""

    model: str
    batch: int
    error: float
    bundle: float
    controls: tuple[float, float]
    inside: bool  # of the interval

    @property
    def is_quiet(self) -> bool:
        return max(map(abs, self.controls)) <= QUIET


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


def real_time(model: str, batch: int) -> float:
    """Median of a process's steps, seconds."""
    done = subprocess.run([PYTHON, SCRIPT, model, "--times", str(batch)], capture_output=True, text=True, check=True)
    return statistics.median(json.loads(done.stdout))


def predict(folder: Path, model: str, sizes: list[int]) -> dict[int, dict[str, Any]]:
    """Points by batch size, from recordings made now."""
    record(folder, model, RECORDED, 3)
    record(folder, model, MEASURED, 15)
    wanted = ",".join(map(str, sorted({*sizes, MEASURED, *LARGER})))
    found = json.loads(hotlens(folder, "predict", "--python", PYTHON, "--batch-size", wanted, "--format", "json"))
    for refusal in found["refused"]:
        print(f"{model} {refusal['batch_size']}: refused, {refusal['reason']}")
    return {point["batch_size"]: point for point in found["points"]}


def compare_times(model: str, place: Path) -> list[Time]:
    up: dict[int, list[float]] = {size: [] for size in (MEASURED, *LARGER)}
    down: dict[int, list[float]] = {size: [] for size in up}
    predictions = []
    for number in range(ROUNDS):
        predictions.append(predict(place / f"{model}-round-{number}", model, []))
        for size in up:
            up[size].append(real_time(model, size))
        for size in reversed(up):
            down[size].append(real_time(model, size))
    truth = {size: statistics.median(up[size] + down[size]) for size in up}
    control = {size: statistics.median(up[size]) / statistics.median(down[size]) - 1 for size in up}
    return [
        Time(
            model,
            batch,
            points[batch]["step_ns"] / 1e9 / truth[batch] - 1,
            points[MEASURED]["step_ns"] / 1e9 / truth[MEASURED] - 1,
            (control[MEASURED], control[batch]),
            points[batch]["low_ns"] <= truth[batch] * 1e9 <= points[batch]["high_ns"],
        )
        for points in predictions
        for batch in LARGER
    ]


def compare_peaks(model: str, sizes: list[int], place: Path) -> list[float]:
    points = predict(place / model, model, sizes)
    errors = []
    for batch in sizes:
        if batch in points:
            peak = record(place / f"{model}-{batch}", model, batch, 1)
            errors.append(points[batch]["peak_bytes"] / peak - 1)
            print(f"{model:10} {batch:4} memory {peak:12} predicted {points[batch]['peak_bytes']:12} {errors[-1]:+.4%}", flush=True)
    return errors


def show(row: Time) -> None:
    line = f"{row.model:10} {row.batch:4} time {row.error:+.1%}, controls {row.controls[0]:+.1%} and {row.controls[1]:+.1%}"
    loud = "" if row.is_quiet else "  not quiet"
    print(f"{line}, its recording {row.bundle:+.1%}, {'inside' if row.inside else 'outside'} the interval{loud}", flush=True)


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
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--peaks", action="store_true")
    only.add_argument("--times", action="store_true")
    options = parser.parse_args()
    if options.keep_freed:
        os.environ.update(KEEPS_FREED)
    memory: list[float] = []
    times: list[Time] = []
    with tempfile.TemporaryDirectory() as place:
        for model in options.models.split(","):
            try:
                if not options.times:
                    memory += compare_peaks(model, [int(size) for size in options.sizes.split(",")], Path(place))
                if not options.peaks:
                    found = compare_times(model, Path(place))
                    times += found
                    for row in found:
                        show(row)
            except RuntimeError as reason:
                print(f"{model}: refused, {reason}", flush=True)
    print(f"memory to the byte: {sum(error == 0 for error in memory)} of {len(memory)}")
    summary("memory", memory)
    if options.peaks:
        return
    summary("time", [row.error for row in times])
    quiet = [row for row in times if row.is_quiet]
    summary("time, controls within 3 %", [row.error for row in quiet])
    summary("control, real against real", [control for row in times for control in row.controls])
    summary("recordings against real steps", [row.bundle for row in times])
    print(f"inside the interval: {sum(row.inside for row in times)} of {len(times)}")


if __name__ == "__main__":
    main()
