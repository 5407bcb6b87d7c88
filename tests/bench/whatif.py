"""How far what-ifs are off: step time and peak memory of changes, against the same script really changed.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... python tests/bench/whatif.py [--models resnet,gpt] [--kinds fused_optimizer,autocast_bf16]

Each model of predict_models.py is recorded as it is and asked about every kind that applies. The truth of time are real steps of the model
as it is, of the changed one, and of the one as it is once more, in turn in one process; the third is the control, real against real. The
truth of memory is the allocator's peak in a recording of the changed script. Every error is printed; where a control is off by more than
3 %, the machine was not quiet enough and the row is marked.
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
SCRIPT = HERE / "whatif_models.py"
NAMES = ["resnet", "mobilenet", "unet", "gpt", "bert", "vit", "lstm", "dlrm"]
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


def record(folder: Path, model: str, kind: str, steps: int) -> int:
    """The allocator's peak of the recorded step, bytes."""
    folder.mkdir(exist_ok=True)
    run(folder, HOTLENS, "run", "--python", PYTHON, "--warmup", "3", "--steps", str(steps), str(SCRIPT), model, kind)
    newest = max(folder.glob(".hotlens/profiles/*/program.json.gz"))
    document: dict[str, Any] = json.loads(gzip.decompress(newest.read_bytes()))
    if document["refused"]:
        raise RuntimeError(f"{model}: {document['refused']}")
    return int(document["allocator"]["peak_bytes"])


def real_ratios(folder: Path, model: str, kind: str) -> tuple[float, float]:
    """Of the changed model, and of the unchanged one again."""
    steps: dict[str, list[float]] = json.loads(run(folder, PYTHON, str(SCRIPT), model, kind, "--times"))
    plain = steps["plain"]
    changed, again = (statistics.median(b / a for a, b in zip(plain, steps[name])) for name in ("changed", "again"))
    return changed, again


def one(model: str, kinds: str, place: Path) -> tuple[list[Row], list[float]]:
    """Rows of time, and errors of memory."""
    folder = place / model
    record(folder, model, "none", 15)
    wanted = [kinds] if kinds else []
    document = json.loads(run(folder, HOTLENS, "whatif", *wanted, "--python", PYTHON, "--format", "json"))
    for refused in document["refused"]:
        print(f"{model:10} {refused['kind']:18} refused: {refused['reason']} {refused.get('operator', '')}", flush=True)
    rows, memory = [], []
    for item in document["items"]:
        kind = item["kind"]
        if item["method"] != "replay" or kind == "checkpoint":  # that one is recompute.py's
            continue
        peak = record(place / f"{model}-{kind}", model, kind, 1)
        memory.append(item["peak_bytes"] / peak - 1)
        changed, control = real_ratios(folder, model, kind)
        row = Row(model, kind, item["ratio"], item["low"], item["high"], changed, control)
        rows.append(row)
        print(
            f"{model:10} {kind:18} time {row.predicted - 1:+6.1%} ({row.low - 1:+.1%} to {row.high - 1:+.1%}), real {row.real - 1:+6.1%}, "
            f"error {row.error:+6.1%}, control {row.control - 1:+.1%}; memory {peak:11}, error {memory[-1]:+.4%}"
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
    parser.add_argument("--kinds", default="", help="as `hotlens whatif` takes them; all where none is named")
    options = parser.parse_args()
    rows: list[Row] = []
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        for model in options.models.split(","):
            try:
                found = one(model, options.kinds, Path(place))
            except RuntimeError as reason:
                print(f"{model}: refused, {reason}", flush=True)
                continue
            rows += found[0]
            memory += found[1]
    report(rows, memory)


if __name__ == "__main__":
    main()
