"""What `hotlens whatif scan_time` makes of gated recurrences: verified in pairs of runs, before and after.

    python tests/bench/scan_time.py

Each row is a model of two layers `h = a[:, t] * h + (1 - a[:, t]) * x[:, t]`, of so many sequences, steps and numbers a step. Needs
HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "lab"))

from gated import SCRIPT

HOTLENS = os.environ["HOTLENS_BIN"]
PYTHON = os.environ["HOTLENS_TEST_PYTHON"]
SHAPES = ((4, 64, 16), (8, 256, 32), (4, 512, 64), (32, 64, 64))  # the last one's state is too large for chunks on a CPU


def verified(kind: str, folder: Path) -> str:
    command = [HOTLENS, "whatif", kind, "--verify", "--python", PYTHON, "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["items"][0]["verified"]
    return f"{found['ratio']:.3f} of its time ({found['low']:.3f}..{found['high']:.3f}), {found['pairs']} pairs, losses {found['losses']}"


def main() -> None:
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "train.py").write_text(SCRIPT.format(shape=shape, dtype="float32"))
            subprocess.run([HOTLENS, "run", "--python", PYTHON, "train.py"], cwd=folder, capture_output=True, check=True)
            for kind in ("scan_time", "unbind_time"):
                print(f"{shape} {kind}: {verified(kind, folder)}", flush=True)


if __name__ == "__main__":
    main()
