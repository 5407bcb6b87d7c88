"""How far what-ifs are off: step time and peak memory of changes, against the same script really changed.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... python tests/bench/whatif.py [--models resnet,gpt] [--kinds fused_optimizer,autocast_bf16]
        [--device cuda] [--keep-freed] [--apart]

Each model of whatif_models.py is recorded as it is, at two batch sizes, and asked about every kind that applies; some also about two kinds
at once (COMBINED), about `zero_grad_none` after a recording with gradients of zeros (ZEROS), and about twice the batch (`batch_x2`, from
`hotlens predict`). Of `checkpoint` the recommended blocks are really checkpointed; its memory is that of recompute.py. The truth of time is
real steps of the model as it is, of the changed one, and of the one as it is once more, in turn in one process (of `loader`, and of all
with --apart, in processes in turn: caches then hold one model, as in a training); the third is the control, real against real. The truth of
memory is the allocator's peak in a recording of the changed script. Every error is printed; where a control is off by more than 3 %, the
machine was not quiet enough and the row is marked. With --keep-freed all processes keep the memory that they free: else a step may have
thousands of page faults, or none, as what else is on the heap decides.
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

from predict import KEEPS_FREED

HERE = Path(__file__).resolve().parent
HOTLENS = os.environ.get("HOTLENS_BIN", str(HERE.parents[1] / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
SCRIPT = HERE / "whatif_models.py"
NAMES = ["resnet", "mobilenet", "unet", "gpt", "bert", "vit", "lstm", "dlrm", "eager_gpt", "eager_bert", "recurrence", "vgg", "loader"]
COMBINED = {"resnet": "fused_optimizer+channels_last", "gpt": "fused_optimizer+autocast_bf16"}
ZEROS = ("resnet", "gpt", "lstm")
BATCH, OTHER = 8, 6  # recorded sizes
PROCESSES = 3  # of each, where steps cannot take turns in one
QUIET = 0.03
LARGE = 0.05  # change of the step above which the sign has to be right


@dataclass(frozen=True)
class Row:
    """Ratios of step times, changed to unchanged."""

    model: str
    kind: str
    predicted: float
    low: float
    high: float
    real: float
    control: float

    @property
    def error(self) -> float:
        return self.predicted / self.real - 1

    @property
    def inside(self) -> bool:
        return self.low <= self.real <= self.high

    @property
    def quiet(self) -> bool:
        return abs(self.control - 1) <= QUIET

    @property
    def sign_is_right(self) -> bool:
        return (self.predicted < 1) == (self.real < 1)


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


def record(folder: Path, model: str, kind: str, steps: int, *options: str) -> int:
    """The allocator's peak of the recorded step, bytes."""
    folder.mkdir(exist_ok=True)
    run(folder, HOTLENS, "run", "--python", PYTHON, "--warmup", "3", "--steps", str(steps), *options, str(SCRIPT), model, kind)
    newest = max(folder.glob(".hotlens/profiles/*/program.json.gz"))
    document: dict[str, Any] = json.loads(gzip.decompress(newest.read_bytes()))
    if document["refused"]:
        raise RuntimeError(f"{model}: {document['refused']}")
    return int(document["allocator"]["peak_bytes"])


def steps_of(folder: Path, model: str, kind: str) -> dict[str, list[float]]:
    steps: dict[str, list[float]] = json.loads(run(folder, PYTHON, str(SCRIPT), model, kind, "--times"))
    return steps


def real_ratios(folder: Path, model: str, kind: str, apart: bool) -> tuple[float, float]:
    """Of the changed model, and of the unchanged one again."""
    if apart or model == "loader":
        return ratios_of_processes(folder, model, kind)
    steps = steps_of(folder, model, kind)
    changed, again = (statistics.median(b / a for a, b in zip(steps["plain"], steps[name])) for name in ("changed", "again"))
    return changed, again


def ratios_of_processes(folder: Path, model: str, kind: str) -> tuple[float, float]:
    """The same of processes, each between two of the unchanged model."""
    middle = statistics.mean if model == "loader" else statistics.median  # a loader's steps are of two kinds
    before = "zeros" if kind == "zero_grad_none" else "none"

    def step(what: str) -> float:
        return middle(json.loads(run(folder, PYTHON, str(SCRIPT), model, what, "--alone"))["changed"])

    plain, changed = [step(before)], []
    for _ in range(PROCESSES):
        changed.append(step(kind))
        plain.append(step(before))
    ratios = [2 * between / (before + after) for before, between, after in zip(plain, changed, plain[1:])]
    return statistics.median(ratios), statistics.median(after / before for before, after in zip(plain, plain[1:]))


def asked(folder: Path, model: str, kinds: list[str]) -> list[dict[str, Any]]:
    document = json.loads(run(folder, HOTLENS, "whatif", *([",".join(kinds)] if kinds else []), "--python", PYTHON, "--format", "json"))
    for refused in document["refused"]:
        print(f"{model:10} {refused['kind']:18} refused: {refused['reason']} {refused.get('operator', '')}", flush=True)
    items: list[dict[str, Any]] = document["items"]
    for item in items:
        if item["method"] == "profile" and item.get("bound", True) and item["kind"] in kinds:
            print(f"{model:10} {item['kind']:18} is a bound alone: {'; '.join(item['assumes'])}", flush=True)
    return [item for item in items if item["method"] == "replay" or not item.get("bound", True)]


def twice_the_batch(folder: Path) -> dict[str, Any]:
    """What `predict` says, as an item of `whatif`."""
    answer = json.loads(run(folder, HOTLENS, "predict", "--batch-size", str(2 * BATCH), "--python", PYTHON, "--format", "json"))
    points = {point["batch_size"]: point for point in answer["points"]}
    was, point = points[BATCH]["step_ns"], points[2 * BATCH]
    ratios = {name: point[f"{key}_ns"] / was for name, key in (("ratio", "step"), ("low", "low"), ("high", "high"))}
    return {"kind": "batch_x2", "peak_bytes": point["peak_bytes"], **ratios}


def items_of(model: str, kinds: list[str], place: Path) -> list[dict[str, Any]]:
    folder = place / model
    kinds = ["loader_workers"] if model == "loader" else kinds  # a replay has no fetch, so other kinds are of another step
    of_recording = [kind for kind in kinds if kind not in ("batch_x2", "zero_grad_none")]
    found = []
    if not kinds or of_recording or "batch_x2" in kinds:
        record(folder, model, "none", 15, *(["--batch-sizes", str(OTHER)] if model != "loader" else []))
    if not kinds or of_recording:
        found += asked(folder, model, of_recording)
    if not kinds and model in COMBINED:
        found += asked(folder, model, [COMBINED[model]])
    if model in ZEROS and (not kinds or "zero_grad_none" in kinds):
        record(place / f"{model}-zeros", model, "zeros", 15)
        found += asked(place / f"{model}-zeros", model, ["zero_grad_none"])
    if model != "loader" and (not kinds or "batch_x2" in kinds):
        found.append(twice_the_batch(folder))
    return found


def one(model: str, kinds: list[str], place: Path, apart: bool) -> tuple[list[Row], list[float]]:
    """Rows of time, and errors of memory."""
    rows, memory = [], []
    for item in items_of(model, kinds, place):
        kind, peak = item["kind"], 0
        really = f"checkpoint={','.join(item['curve']['points'][item['curve']['chosen']]['blocks'])}" if kind == "checkpoint" else kind
        if kind != "checkpoint" and "peak_bytes" in item:
            peak = record(place / f"{model}-{kind}", model, really, 1)
            memory.append(item["peak_bytes"] / peak - 1)
        changed, control = real_ratios(place, model, really, apart)
        row = Row(model, kind, item["ratio"], item["low"], item["high"], changed, control)
        rows.append(row)
        peaks = f"memory {peak:11}, error {memory[-1]:+.4%}" if peak else "no memory"
        print(
            f"{model:10} {kind:18} time {row.predicted - 1:+6.1%} ({row.low - 1:+.1%} to {row.high - 1:+.1%}), real {row.real - 1:+6.1%}, "
            f"error {row.error:+6.1%}, control {row.control - 1:+.1%}; {peaks}"
            f"{'' if row.inside else '  outside'}{'' if row.quiet else '  not quiet'}",
            flush=True,
        )
    return rows, memory


def summary(name: str, errors: list[float]) -> None:
    sizes = sorted(abs(error) for error in errors)
    if sizes:
        tenth = sizes[min(len(sizes) - 1, round(0.9 * (len(sizes) - 1)))]
        print(f"{name}: {len(sizes)} cases, mean {statistics.mean(sizes):.2%}, p90 {tenth:.2%}, worst {sizes[-1]:.2%}")


def report(rows: list[Row], memory: list[float]) -> None:
    print(f"{len(rows)} pairs, {len({row.kind for row in rows})} kinds, {len({row.model for row in rows})} models")
    print(f"memory to the byte: {sum(error == 0 for error in memory)} of {len(memory)}")
    summary("memory", memory)
    for name, some in (("all", rows), ("control within 3 %", [row for row in rows if row.quiet])):
        summary(f"time, {name}", [row.error for row in some])
        summary(f"no change as the prediction, {name}", [1 / row.real - 1 for row in some])
        large = [row for row in some if abs(row.real - 1) > LARGE]
        print(f"sign right above 5 %, {name}: {sum(row.sign_is_right for row in large)} of {len(large)}")
        print(f"inside the interval, {name}: {sum(row.inside for row in some)} of {len(some)}")
    for kind in sorted({row.kind for row in rows}):
        summary(f"time, {kind}", [row.error for row in rows if row.kind == kind])
    summary("control, real against real", [row.control - 1 for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(NAMES))
    parser.add_argument("--kinds", default="", help="as `hotlens whatif` takes them, and batch_x2; all where none is named")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--keep-freed", action="store_true")
    parser.add_argument("--apart", action="store_true")
    options = parser.parse_args()
    os.environ["HOTLENS_BENCH_DEVICE"] = options.device
    os.environ.update(KEEPS_FREED if options.keep_freed else {})
    rows: list[Row] = []
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        for model in options.models.split(","):
            try:
                found = one(model, options.kinds.split(",") if options.kinds else [], Path(place), options.apart)
            except RuntimeError as reason:
                print(f"{model}: refused, {reason}", flush=True)
                continue
            rows += found[0]
            memory += found[1]
    report(rows, memory)


if __name__ == "__main__":
    main()
