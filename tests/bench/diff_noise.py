"""How often `hotlens diff` is wrong where nothing changed, and how often it finds one changed layer.

    python tests/bench/diff_noise.py record POOL [--runs 10] [--changed 4]
    python tests/bench/diff_noise.py judge POOL

`record` runs three models of different kind (diff_models.py) one after the other, round by round, into POOL: as they are, with one layer
wider, with one layer added. `judge` compares all ordered pairs of unchanged runs of a model, and seeded draws of three against three:
gates of 5 % that fire and module rows that are listed although nothing changed. Then each changed run (or three) against unchanged ones:
whether the layer that was changed is listed, and whether by its time alone. Needs HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOTLENS = os.environ["HOTLENS_BIN"]
PYTHON = os.environ["HOTLENS_TEST_PYTHON"]
SCRIPT = Path(__file__).resolve().parent / "diff_models.py"
# The module that a variant changes.
CHANGED = {
    "convolutions": {"wider": "features.3", "deeper": "features.8"},
    "transformer": {"wider": "blocks.1.up", "deeper": "extra"},
    "perceptron": {"wider": "layers.1", "deeper": "layers.3"},
}
DRAWS = 28  # of three against three, a model


def record(pool: Path, runs: int, changed: int) -> None:
    """Round by round, so that what else the machine does meets every model and variant alike."""
    started = time.monotonic()
    for number in range(runs):
        for model, variants in CHANGED.items():
            for variant in ("base", *(variants if number < changed else ())):
                place = pool / f"{model}-{variant}"
                place.mkdir(parents=True, exist_ok=True)
                command = [HOTLENS, "run", "--python", PYTHON, "--out", str(place), str(SCRIPT), model, variant]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"recorded in {(time.monotonic() - started) / 60:.1f} min")


def bundles(pool: Path, model: str, variant: str) -> list[Path]:
    """The runs of one variant, the earliest first."""
    return sorted((pool / f"{model}-{variant}" / ".hotlens" / "profiles").glob("*Z-*"))


def compare(before: list[Path], after: list[Path]) -> dict[str, Any]:
    """The diff of two sides as JSON, with a gate of 5 %."""
    baselines = [word for run in before for word in ("--baseline", str(run))]
    command = [HOTLENS, "diff", *baselines, *map(str, after), "--fail-over", "5%", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    diff: dict[str, Any] = json.loads(done.stdout)
    assert bool(diff["gate"]["crossed"]) == (done.returncode == 1)
    return diff


@dataclass
class Tally:
    """What came of the diffs with so many runs a side."""

    runs: int
    diffs: int = 0
    gates: int = 0
    rows: int = 0
    noise: list[float] = field(default_factory=list)  # of the step, a share
    layers: int = 0
    found: int = 0
    by_time: int = 0

    def unchanged(self, diff: dict[str, Any]) -> None:
        self.diffs += 1
        self.gates += bool(diff["gate"]["crossed"])
        self.rows += sum(row["explains"] for row in diff["modules"])
        self.noise.append(diff["step"]["noise_ns"] / diff["step"]["old_ns"])

    def changed(self, diff: dict[str, Any], layer: str) -> None:
        row = next(row for row in diff["modules"] if row["path"] == layer)
        self.layers += 1
        self.found += row["explains"]
        self.by_time += row["explains"] and row["outcome"] in ("slower", "faster")

    def told(self) -> str:
        return (
            f"{self.runs} a side: gates that fire though nothing changed {self.gates} of {self.diffs}, "
            f"module rows {self.rows} ({self.rows / self.diffs:.3f} a diff), "
            f"noise of the step ±{sorted(self.noise)[len(self.noise) // 2]:.0%} (median); "
            f"changed layer found {self.found} of {self.layers}, beyond noise by its time {self.by_time}"
        )


def draws(runs: list[Path], size: int, seed: random.Random) -> list[tuple[list[Path], list[Path]]]:
    """Two sides without a common run: every ordered pair of single runs, else seeded draws."""
    if size == 1:
        return [([a], [b]) for a, b in itertools.permutations(runs, 2)]
    drawn = [seed.sample(runs, 2 * size) for _ in range(DRAWS)]
    return [(each[:size], each[size:]) for each in drawn]


def judge(pool: Path) -> None:
    for size in (1, 3):
        tally, seed = Tally(size), random.Random(0)
        for model, variants in CHANGED.items():
            base = bundles(pool, model, "base")
            for before, after in draws(base, size, seed):
                tally.unchanged(compare(before, after))
            for variant, layer in variants.items():
                runs = bundles(pool, model, variant)
                for number in range(len(runs)):
                    after = [runs[number]] if size == 1 else seed.sample(runs, size)
                    tally.changed(compare(seed.sample(base, size), after), layer)
        print(tally.told(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "judge"])
    parser.add_argument("pool", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--changed", type=int, default=4)
    arguments = parser.parse_args()
    if arguments.what == "record":
        record(arguments.pool.resolve(), arguments.runs, arguments.changed)
    else:
        judge(arguments.pool.resolve())


if __name__ == "__main__":
    main()
