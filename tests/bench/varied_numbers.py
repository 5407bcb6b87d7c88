"""Edited lengths and sizes, told from a profile that has the number with other values, against the edited script really run.

    python tests/bench/varied_numbers.py [--times] [NAME…]

Every script is recorded with `--vary`; then each value is predicted, and the script recorded so. Peaks are compared to the byte; with
--times the step also, with the median of three recordings.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "e2e/lab"), str(TESTS)]

import varied_scripts as scripts  # noqa: E402
from conftest import HOTLENS  # noqa: E402
from training import predicted, recorded_peak  # noqa: E402
from warm import interpreter  # noqa: E402

# By name: the script, the number, how its line begins and ends, its value, and those to predict.
CASES = {
    "GPT": (scripts.GPT, "block_size", "block_size: int = {}\n", 64, (32, 100, 128, 256)),
    "ViT": (scripts.VIT, "IMG", "IMG = {}\n", 32, (16, 40, 64)),
    "diffusion": (scripts.DIFFUSION, "SIZE", "SIZE = {}\n", 32, (16, 36, 40, 64)),
    "recurrent": (scripts.RECURRENT, "SEQ", "SEQ = {}\n", 35, (20, 50, 70)),
    "audio": (scripts.AUDIO, "samples", 'samples", type=int, default={})', 4096, (2000, 5000, 8192)),
    "graph, nodes": (scripts.GRAPH, "NODES", "NODES = {}\n", 120, (40, 100, 300)),
    "graph, edges": (scripts.GRAPH, "EDGES", "EDGES = {}\n", 600, (100, 2000)),
    "relative places": (scripts.RELATIVE, "T", "\nT = {}\n", 24, (16, 33, 40)),
    "resized pictures": (scripts.RESIZED, "IMG", "IMG = {}\n", 64, (32, 96, 128)),
}


def run(folder: Path, text: str, *options: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    command = [HOTLENS, "run", "--python", interpreter(), *options, "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def step_ns(folder: Path) -> float:
    latest = max(folder.glob(".hotlens/profiles/*/manifest.json"), key=lambda path: path.stat().st_mtime_ns)
    return statistics.median(json.loads(latest.read_text())["plain_step_ns"])


def real_step_ns(folder: Path, text: str) -> float:
    steps = []
    for _ in range(3):
        run(folder, text)
        steps.append(step_ns(folder))
    return statistics.median(steps)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    right = wrong = refused = within = timed = 0
    for name, (text, number, line, was, values) in CASES.items():
        if options.names and name not in options.names:
            continue
        place = Path(tempfile.mkdtemp())
        run(place / "recorded", text, "--vary", number)
        for value in values:
            now = text.replace(line.format(was), line.format(value), 1)
            assert now != text
            (place / "recorded" / "train.py").write_text(now)
            document = predicted(place / "recorded")
            if document["refused"] or document["misfits"]:
                refused += 1
                print(f"{name}: {was} -> {value}: {(document['refused'] + document['misfits'])[0]['reason']}")
                continue
            (told,) = document["edits"]
            truth = place / f"truth-{value}"
            run(truth, now, "--warmup", "1", "--steps", "2")
            peak = recorded_peak(truth)
            same = told["peak_bytes"] == peak
            right, wrong = right + same, wrong + (not same)
            said = "equal" if same else f"{told['peak_bytes']} predicted, {peak} real"
            if options.times:
                real = real_step_ns(truth, now)
                timed += 1
                within += told["low_ns"] <= real <= told["high_ns"]
                said += f"; step {told['step_ns'] / 1e6:.2f} ms ({told['step_ns'] / real - 1:+.1%})"
            print(f"{name}: {was} -> {value}: peak {said}", flush=True)
    print(
        f"peaks equal {right}, others {wrong}, refused {refused}"
        + (f"; real step within the interval {within} of {timed}" if timed else "")
    )


if __name__ == "__main__":
    main()
