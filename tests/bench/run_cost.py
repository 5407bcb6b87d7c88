"""What one `hotlens run` costs, and `hotlens report` and `check` on its bundle.

    python tests/bench/run_cost.py [--runs 5]

Prints medians of whole-process wall times in seconds: the run from start to bundle, the part of it that the script's own steps took
(from the manifest), the same interpreter importing torch and nothing else, the report
and the check. Needs HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOTLENS = os.environ["HOTLENS_BIN"]
PYTHON = os.environ["HOTLENS_TEST_PYTHON"]


def seconds(command: list[str], folder: Path) -> float:
    """Wall time of one process, output thrown away."""
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def steps_seconds(bundle: Path) -> float:
    """The script's own steps: warm-up and plain ones at the plain median, measured ones and the map step as recorded."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    plain = manifest["plain_step_ns"]
    total = sum(plain) + manifest["warmup_steps"] * statistics.median(plain) + sum(manifest["profiled_step_ns"]) + manifest["map_step_ns"]
    return float(total) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    for example in ("resnet_digits", "gpt_text"):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / example
            shutil.copytree(ROOT / "examples" / example, folder, ignore=shutil.ignore_patterns(".hotlens", "__pycache__"))
            figures: dict[str, list[float]] = {"run": [], "steps": [], "import torch": [], "report": [], "check": []}
            for _ in range(runs):
                figures["run"].append(seconds([HOTLENS, "run", "--python", PYTHON, "train.py"], folder))
                newest = max((folder / ".hotlens" / "profiles").iterdir(), key=lambda path: path.name)
                figures["steps"].append(steps_seconds(newest))
                figures["import torch"].append(seconds([PYTHON, "-c", "import torch"], folder))
                figures["report"].append(seconds([HOTLENS, "report", "--format", "json"], folder))
                figures["check"].append(seconds([HOTLENS, "check", "train.py"], folder))
            print(example, " ".join(f"{name} {statistics.median(values):.3f} s" for name, values in figures.items()))


if __name__ == "__main__":
    main()
