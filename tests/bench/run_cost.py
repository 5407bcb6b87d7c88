"""What one `hotlens run` costs, and `hotlens report` and `check` on its bundle.

    python tests/bench/run_cost.py [--runs 5]

Prints medians of whole-process wall times in seconds: the run from start to bundle, the part of it that the script's own steps took
(from the manifest), the same interpreter importing torch and nothing else, the report
and the check. Then, of each example and of scripts of tests/loops/timed, a run against what it cannot do without: from its start until
all steps are measured, and what an interpreter with torch needs to end. The rest is watching on for what comes now and then, and writing.
Needs HOTLENS_BIN and HOTLENS_TEST_PYTHON.
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
RECORDER = ROOT / "annotator" / "recorder" / "hotlens" / "__main__.py"
TIMED = ("periodic", "replay", "diffusion", "distillation", "hugging_face", "rollouts")
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


def until_measured(script: Path) -> tuple[float, float]:
    """Seconds from the start of a run until its steps are measured, and until its end."""
    with tempfile.TemporaryDirectory() as place:
        folder = shutil.copytree(script.parent, Path(place) / "scripts")  # they may save what they train
        read, write = os.pipe()
        command = [PYTHON, str(RECORDER), "record", "--out", place, "--progress-fd", str(write), "--", script.name]
        started = time.perf_counter()
        run = subprocess.Popen(command, cwd=folder, pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        measured = 0.0
        with os.fdopen(read) as progress:
            for line in progress:
                if json.loads(line).get("phase") not in ("watch", "write", "done"):
                    measured = time.perf_counter() - started
        run.wait()
        return measured, time.perf_counter() - started


def to_end() -> float:
    """Seconds that an interpreter takes to end once torch has made an optimizer."""
    made = "import time, torch; torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1); print(time.time(), flush=True)"
    said = subprocess.run([PYTHON, "-c", made], check=True, capture_output=True, text=True).stdout
    return time.time() - float(said)


def lengths(runs: int) -> None:
    ends = statistics.median(to_end() for _ in range(runs))
    examples = [ROOT / "examples" / name / "train.py" for name in ("resnet_digits", "gpt_text")]
    for script in [*examples, *(ROOT / "tests" / "loops" / "timed" / f"{name}.py" for name in TIMED)]:
        measured, whole = (statistics.median(times) for times in zip(*(until_measured(script) for _ in range(runs)), strict=True))
        name = script.parent.name if script.name == "train.py" else script.stem
        print(f"{name}: {whole:.2f} s, {whole / (measured + ends):.2f}x of {measured + ends:.2f} s")


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
    lengths(runs)


if __name__ == "__main__":
    main()
