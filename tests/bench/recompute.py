"""How far plans of checkpoints are off: the curve of `hotlens whatif checkpoint` and its plans for budgets, against scripts that do it.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... python tests/bench/recompute.py [--models gpt,resnet]

Each model of recompute_models.py is recorded as it is. Every point of its curve, and the plan for each of four budgets between its
highest and its lowest peak, is then really run. Memory is the peak above what is there when the step begins (weights, states of the
optimizer, the batch), which is less than above the weights alone, so errors are not smaller for it. Times are ratios to the same model
without checkpoints, step by step in turn; the control is that model once more. Gradients of the first step have to be equal to the last
bit, with dropout on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whatif import HOTLENS, PYTHON, QUIET, run, summary

SCRIPT = Path(__file__).resolve().parent / "recompute_models.py"
NAMES = ["gpt", "bert", "vit", "resnet", "unet", "mobilenet"]
PARTS = (0.25, 0.5, 0.75, 1.0)  # of the way from the highest to the lowest peak
CLOSE = 0.005


@dataclass(frozen=True)
class Row:
    """One choice of blocks: predicted and real."""

    model: str
    blocks: int
    memory: float  # error of the peak
    time: float  # error of the ratio of step times
    inside: bool
    control: float
    equal: bool
    budget: float | None  # how far the real peak lies above it, as a fraction; below 0: within


def plan(folder: Path, *options: str) -> dict[str, Any]:
    document = json.loads(run(folder, HOTLENS, "whatif", "checkpoint", *options, "--python", PYTHON, "--format", "json"))
    if not document["items"]:
        raise RuntimeError(document["refused"][0]["reason"])
    item: dict[str, Any] = document["items"][0]
    return item


def one(model: str, folder: Path) -> list[Row]:
    folder.mkdir()
    run(folder, HOTLENS, "run", "--python", PYTHON, "--warmup", "3", "--steps", "5", str(SCRIPT), model)
    newest = max(folder.glob(".hotlens/profiles/*/program.json.gz"))
    start = json.loads(gzip.decompress(newest.read_bytes()))["allocator"]["start_bytes"]
    item = plan(folder)
    points = item["curve"]["points"]
    wanted = [(point, None) for point in points[1:]]
    highest, lowest = points[0]["peak_bytes"], points[-1]["peak_bytes"]
    for part in PARTS:
        budget = round(highest - part * (highest - lowest)) + 1
        found = plan(folder, "--budget", f"{budget}b")["curve"]
        wanted.append((found["points"][found["chosen"]], budget))
    truth = json.loads(run(folder, PYTHON, str(SCRIPT), model, "--truth", json.dumps([point["blocks"] for point, _ in wanted])))
    plain, *changed, again = truth["seconds"]
    control = statistics.median(b / a for a, b in zip(plain, again))
    unchanged = highest / (start + truth["rise_bytes"][0]) - 1
    print(f"{model}: peak {highest}, of the unchanged step off by {unchanged:+.4%}, control {control - 1:+.1%}", flush=True)
    rows = []
    for at, (point, budget) in enumerate(wanted):
        rise = truth["rise_bytes"][at + 1]
        real = statistics.median(b / a for a, b in zip(plain, changed[at]))
        row = Row(
            model,
            len(point["blocks"]),
            (point["peak_bytes"] - start) / rise - 1,
            point["ratio"] / real - 1,
            point["low"] <= real <= point["high"],
            control,
            truth["gradients_equal"][at + 1],
            None if budget is None else (rise + start) / budget - 1,
        )
        rows.append(row)
        print(
            f"{model:10} {row.blocks:2} blocks, peak {point['peak_bytes']:10} off by {row.memory:+.3%}; time {point['ratio'] - 1:+6.1%}, "
            f"real {real - 1:+6.1%}, off by {row.time:+.1%}{'' if row.inside else ', outside'}{'' if row.equal else '; GRADIENTS DIFFER'}"
            f"{'' if row.budget is None else f'; budget {row.budget:+.3%}'}",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(NAMES))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as place:
        for model in parser.parse_args().models.split(","):
            try:
                rows += one(model, Path(place) / model)
            except RuntimeError as reason:
                print(f"{model}: refused, {reason}", flush=True)
    summary("peak above what the step begins with", [row.memory for row in rows])
    print(f"within {CLOSE:.1%}: {sum(abs(row.memory) <= CLOSE for row in rows)} of {len(rows)}")
    print(f"gradients equal to the last bit: {sum(row.equal for row in rows)} of {len(rows)}")
    budgets = [row.budget for row in rows if row.budget is not None]
    print(f"within the budget: {sum(budget <= 0 for budget in budgets)} of {len(budgets)}, worst {max(budgets, default=0):+.3%}")
    summary("time", [row.time for row in rows])
    summary(f"time, control within {QUIET:.0%}", [row.time for row in rows if abs(row.control - 1) <= QUIET])
    print(f"inside the interval: {sum(row.inside for row in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
