"""Lines guessed from a bare trace, against a tracer that saw the modules being made: right, wrong and unknown leaves per model.

    python tests/bench/static_lines.py [--models FILE.py] [--keep FOLDER] [NAME…]

FILE.py defines factories `NAME() -> (model, run)` and a dictionary MODELS of them; without it tests/e2e/real_models/catalog.py.
Needs HOTLENS_BIN and HOTLENS_MODELS_PYTHON (tests/e2e/install_models.sh makes its environment). What is recorded stays in FOLDER and is
not recorded again. Times are wall times of the whole `hotlens check`, Python's start for its search path included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "e2e" / "static" / "record.py"
CATALOG = ROOT / "tests" / "e2e" / "real_models" / "catalog.py"
HOTLENS = os.environ["HOTLENS_BIN"]
PYTHON = os.environ["HOTLENS_MODELS_PYTHON"]


@dataclass
class Lines:
    right: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def leaves(self) -> int:
        return len(self.right) + len(self.wrong) + len(self.unknown)


def names_in(models: Path) -> list[str]:
    code = f"import {models.stem}; print(*{models.stem}.MODELS)"
    found = subprocess.run([PYTHON, "-c", code], cwd=models.parent, capture_output=True, text=True, check=True)
    return found.stdout.split()


def record(models: Path, names: list[str], out: Path) -> None:
    missing = [name for name in names if not (out / name / "files.json").exists()]
    environment = {**os.environ, "PYTHONPATH": str(models.parent), "HF_HUB_OFFLINE": "1"}
    for i in range(0, len(missing), 8):  # a factory that fails costs its group only
        command = [PYTHON, str(RECORD), models.stem, str(out), *missing[i : i + 8]]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr.strip().splitlines()[-1], file=sys.stderr)


def found_lines(folder: Path, truth: dict[str, Any]) -> tuple[dict[str, tuple[str, range]], float]:
    """Module's frame name -> file and lines (1-based) of its definition anchor; and the seconds that took."""
    classes = json.loads((folder / "files.json").read_text())
    files = sorted({*classes, *(file for row in truth.values() for file, _ in row["lines"])})
    command = [HOTLENS, "check", *files, "--profile", str(folder / "trace.json"), "--python", PYTHON, "--format", "json"]
    start = time.monotonic()
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = time.monotonic() - start
    found = {}
    for file in document["files"]:
        for anchor in file["anchors"]:
            if anchor["role"] == "definition":
                lines = range(anchor["line"] + 1, anchor["end_line"] + 2)
                found.update({module.rpartition("/")[2]: (file["path"], lines) for module in anchor["modules"]})
    return found, seconds


def judge(folder: Path) -> Lines:
    truth = json.loads((folder / "truth.json").read_text())
    found, seconds = found_lines(folder, truth)
    lines = Lines(seconds=seconds)
    for name, row in truth.items():
        if not row["leaf"] or not row["lines"]:
            continue
        if name not in found:
            lines.unknown.append(row["path"])
        elif any(file == found[name][0] and line in found[name][1] for file, line in row["lines"]):
            lines.right.append(row["path"])
        else:
            file, at = found[name]
            lines.wrong.append(f"{row['path']}: said {file}:{at.start}, made at one of {row['lines']}")
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", type=Path, default=CATALOG)
    options.add_argument("--keep", type=Path)
    options.add_argument("names", nargs="*")
    given = options.parse_args()
    models = given.models.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        out = (given.keep or Path(scratch)).resolve()
        names = given.names or names_in(models)
        record(models, names, out)
        judged = {name: judge(out / name) for name in names if (out / name / "truth.json").exists()}
    for name, lines in judged.items():
        print(f"{name:32} right {len(lines.right):4} wrong {len(lines.wrong):3} unknown {len(lines.unknown):4}  {lines.seconds:.2f} s")
        for each in lines.wrong[:3]:
            print("   ", each)
    leaves = sum(lines.leaves for lines in judged.values()) or 1
    shares = {what: sum(len(getattr(lines, what)) for lines in judged.values()) / leaves for what in ("right", "wrong", "unknown")}
    slowest = max((lines.seconds for lines in judged.values()), default=0.0)
    print(f"{len(judged)} of {len(names)} models, {leaves} leaves: " + ", ".join(f"{w} {s:.2%}" for w, s in shares.items()), end="")
    print(f"; slowest {slowest:.2f} s")


if __name__ == "__main__":
    main()
