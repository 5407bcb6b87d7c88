"""What `hotlens predict --device` says of another device, against the same training there.

    python tests/bench/devices.py record --program hotlens --out FOLDER [--python PYTHON] [--device cuda|cpu] [--threads N]
    python tests/bench/devices.py compare --program hotlens FOLDER FOLDER…

The first, on each machine: measures the device (`hotlens bench-device`), profiles the trainings of devices_models.py and runs each without
a profiler in another process. The second: every ordered pair of folders of one kind of device. The truth is the ratio of
the unprofiled steps by the script's own clock; the control is how far two halves of such a run lie apart, and a row whose
control is off by more than 3 % on either machine is marked. Error: of the predicted ratio, beside that of "unchanged".
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "devices_models.py"
MODELS = ["resnet", "mobilenet", "unet", "gpt", "bert", "vit", "lstm", "dlrm"]
AMP = ["resnet", "gpt", "vit"]  # once more with bfloat16, on GPUs
QUIET = 0.03


@dataclass(frozen=True)
class Row:
    """Ratios of step times, there to here."""

    model: str
    here: str
    there: str
    real: float
    predicted: float
    low: float
    high: float
    control: float

    @property
    def error(self) -> float:
        return self.predicted / self.real - 1

    @property
    def unchanged(self) -> float:
        return 1 / self.real - 1

    @property
    def inside(self) -> bool:
        return self.low <= self.real <= self.high

    @property
    def quiet(self) -> bool:
        return self.control <= QUIET


def record(options: argparse.Namespace) -> None:
    options.out.mkdir(parents=True)
    threads = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    hidden = {} if options.device == "cuda" else {"CUDA_VISIBLE_DEVICES": ""}
    environment = {**threads, **hidden, "XDG_CACHE_HOME": str(options.out.resolve() / "cache")}
    python = ["--python", options.python]
    subprocess.run([options.program, "bench-device", *python, "--out", options.out / "row.json"], env=environment, check=True)
    shutil.rmtree(options.out / "cache")
    cases = [(model, ()) for model in MODELS] + [(f"{model}_amp", ("--amp",)) for model in AMP if options.device == "cuda"]
    for name, more in cases:
        place = options.out / name
        place.mkdir()
        arguments = [str(SCRIPT), name.removesuffix("_amp"), "--device", options.device, "--threads", str(options.threads), *more]

        said = subprocess.run([options.python, *arguments], cwd=place, env=environment, check=True, capture_output=True, text=True)
        steps = json.loads(said.stdout.splitlines()[-1])["step_ns"]
        run = [options.program, "run", *python, "--steps", "3", *arguments]
        done = subprocess.run(run, cwd=place, env=environment, capture_output=True, text=True)
        (place / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
        print(f"{name:12} {steps[0] / 1e6:9.2f} {steps[1] / 1e6:9.2f} ms, exit code {done.returncode}", flush=True)


def steps_of(folder: Path) -> list[float]:
    steps: list[float] = json.loads((folder / "steps.json").read_text(encoding="utf-8"))
    return steps


def control(steps: list[float]) -> float:
    return max(steps) / min(steps) - 1


def predicted(program: str, profile: Path, here: Path, there: Path) -> dict[str, Any] | str:
    """The point of the answer, or why there is none."""
    command = [program, "predict", profile, "--device", there / "row.json", "--recorded-on", here / "row.json", "--format", "json"]
    said = subprocess.run(command, capture_output=True, text=True)
    if said.returncode:
        return said.stderr.strip().splitlines()[-1]
    point: dict[str, Any] = json.loads(said.stdout)["points"][0]
    return point


def compared(program: str, here: Path, there: Path) -> Iterator[Row | str]:
    for place in sorted(each for each in here.iterdir() if (each / "steps.json").is_file()):
        other = there / place.name
        profiles = sorted(place.glob(".hotlens/profiles/*/manifest.json"))
        if not profiles or not (other / "steps.json").is_file():
            continue
        point = predicted(program, profiles[-1].parent, here, there)
        if isinstance(point, str):
            yield f"{place.name}: {point}"
            continue
        mine, theirs = steps_of(place), steps_of(other)
        was = point["step_was_ns"]
        yield Row(
            place.name,
            here.name,
            there.name,
            min(theirs) / min(mine),
            point["step_ns"] / was,
            point["low_ns"] / was,
            point["high_ns"] / was,
            max(control(mine), control(theirs)),
        )


def kind(folder: Path) -> str:
    row: dict[str, Any] = json.loads((folder / "row.json").read_text(encoding="utf-8"))
    return str(row["kind"])


def compare(options: argparse.Namespace) -> None:
    rows: list[Row] = []
    print("| training | here | there | real | predicted | bracket | error | unchanged | control |\n|---|---|---|---|---|---|---|---|---|")
    pairs = [(a, b) for a in options.folders for b in options.folders if a != b and kind(a) == kind(b)]
    for row in (each for here, there in pairs for each in compared(options.program, here, there)):
        if isinstance(row, str):
            print(f"| {row} |")
            continue
        rows.append(row)
        marks = ("" if row.inside else " outside") + ("" if row.quiet else " not quiet")
        print(
            f"| {row.model} | {row.here} | {row.there} | {row.real:.3f} | {row.predicted:.3f} | {row.low:.3f} to {row.high:.3f}{marks} "
            f"| {row.error:+.1%} | {row.unchanged:+.1%} | {row.control:.1%} |"
        )
    quiet = [row for row in rows if row.quiet]
    if not quiet:
        sys.exit("no row with a quiet control")
    for what, found in (("predicted", [row.error for row in quiet]), ("unchanged", [row.unchanged for row in quiet])):
        errors = [abs(each) for each in found]
        print(f"{what}: mean {statistics.fmean(errors):.1%}, worst {max(errors):.1%}")
    print(f"{len(quiet)} of {len(rows)} quiet; {sum(row.inside for row in quiet)} of {len(quiet)} inside the bracket")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--python", default=sys.executable)
    recording.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    recording.add_argument("--threads", type=int, default=1)
    recording.set_defaults(run=record)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("folders", type=Path, nargs="+")
    comparing.set_defaults(run=compare)
    for verb in (recording, comparing):
        verb.add_argument("--program", default=os.environ.get("HOTLENS_BIN", str(HERE.parents[1] / "build/release/bin/hotlens")))
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
