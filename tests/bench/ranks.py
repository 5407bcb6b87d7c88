"""Is the late rank named? Seeded runs of 2 and 4 gloo processes of which one sleeps in a stage of every step, recorded by `hotlens run`.

    python tests/bench/ranks.py [--runs 50] [--seed 1] [--synthetic 1024]

For each run: whether the report names the rank, the stage and the layer, and how the waiting that it finds compares with the sleep.
`--synthetic N` instead writes N traces of one training and reports them all: time and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "cli"))
from straggler import LAYERS, Delay, names_module, names_rank, names_stage, rank_set, record

STEPS, BUCKETS, OPERATORS = 5, 20, 40


def seeded(runs: int, seed: int) -> None:
    choice = random.Random(seed)
    right = {"rank": 0, "stage": 0, "layer": 0}
    for run in range(runs):
        ranks = choice.choice([2, 2, 2, 4])
        delay = Delay(
            choice.choice(["data", "batch", "forward", "backward"]),
            choice.randrange(ranks),
            choice.randrange(LAYERS),
            choice.choice([0.01, 0.02, 0.04]),
        )
        with tempfile.TemporaryDirectory() as folder:
            found = rank_set(record(Path(folder), delay, ranks))
        right["rank"] += names_rank(found, delay)
        right["stage"] += names_stage(found, delay)
        right["layer"] += names_module(found, delay)
        all_right = names_rank(found, delay) and names_stage(found, delay) and names_module(found, delay)
        print(f"{run + 1:3} {ranks} ranks, {delay}: {'right' if all_right else 'WRONG'}  {found['sentence']}", flush=True)
    print(", ".join(f"{what} {count} of {runs}" for what, count in right.items()))


def synthetic_trace(rank: int, ranks: int, late: int) -> dict[str, Any]:
    """Steps of 100 ms with collectives of one group; rank `late` comes 20 ms late in forward."""
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, thread: int, start: float, end: float, **args: Any) -> None:
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": end - start, "args": args})

    for step in range(STEPS):
        begin = step * 100_000.0
        forward = 30_000 + (20_000 if rank == late else 0) + rank % 7 * 10
        add("user_annotation", f"ProfilerStep#{step}", 1, begin, begin + 100_000)
        for number in range(OPERATORS):
            at = begin + 1000 + number * forward / OPERATORS
            add("cpu_op", "aten::mm", 1, at, at + 0.9 * forward / OPERATORS)
        for bucket in range(BUCKETS):
            came, all_came = begin + 1100 + forward + bucket * 100, begin + 51_200 + bucket * 2000
            shape = {"Input Dims": [[1000 + bucket]], "Input type": ["float"]}
            add("user_annotation", "gloo:all_reduce", 2, came if bucket == 0 else max(came, all_came - 1900), all_came, **shape)
        add("cpu_op", "aten::add_", 1, begin + 95_000, begin + 99_000)
    return {"schemaVersion": 1, "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": ranks}, "traceEvents": events}


def synthetic(ranks: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        late = ranks * 2 // 3
        for rank in range(ranks):
            (Path(folder) / f"rank{rank}.pt.trace.json").write_text(json.dumps(synthetic_trace(rank, ranks, late)))
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        began = time.monotonic()
        command = [os.environ["HOTLENS_BIN"], "report", folder]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        took = time.monotonic() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(text.splitlines()[0])
    print(f"{ranks} ranks, {size / 1e6:.0f} MB: {took:.1f} s, peak memory {peak / 1000:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--synthetic", type=int)
    options = parser.parse_args()
    if options.synthetic:
        synthetic(options.synthetic)
    else:
        seeded(options.runs, options.seed)
