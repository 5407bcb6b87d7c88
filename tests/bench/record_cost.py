"""What recording the program of a step costs, in map steps: the steps that are made for it, above plain ones, and reading and writing it.

    HOTLENS_TEST_PYTHON=... python tests/bench/record_cost.py [--models resnet,gpt,dlrm] [--batch 8] [--runs 3] [--profile]

Models of predict_models.py, with one thread. The recorder runs in a process of its own with clocks around its parts; shown
are medians of the runs, in milliseconds of the processor, which other processes disturb less than those of the wall. With --profile a
profile of Python's functions in the recorded step is printed, whose times are too long by what it takes itself.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDER = HERE.parents[1] / "annotator" / "recorder"
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
MODELS, STEPS, SHOWN = HERE / "predict_models.py", "5", 30
# What the recorder calls, and what it is called here.
READING, WRITING = (
    ("bundle.result", "measured_memory", "memory read"),
    [("bundle.bundle", "as_json", "numbered"), ("bundle.bundle", "compressed", "compressed")],
)
PLAIN, MAP, RECORDED = "plain step", "map step", "recorded step"
PARTS = ["memory step", RECORDED, "profiler", "memory read", "numbered", "compressed"]


class Clocks:
    """Nanoseconds by part, each time that it ran."""

    def __init__(self, profiled: bool) -> None:
        self.found: dict[str, list[int]] = defaultdict(list)
        self.profile = cProfile.Profile() if profiled else None
        self._begun: dict[type, int] = {}

    def around(self, owner: Any, name: str, part: str) -> None:
        whole = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.process_time_ns()
            try:
                return whole(*args, **kwargs)
            finally:
                self.found[part].append(time.process_time_ns() - begin)

        setattr(owner, name, timed)

    def around_steps(self, phase: Any, part: Callable[[Any], str]) -> None:
        """From before the first work of a step to behind the last."""
        begin_step, end_step = phase.begin_step, phase.end_step

        def begin(step: Any) -> None:
            self._begun[phase] = time.process_time_ns()
            begin_step(step)
            if self.profile is not None and part(step) == RECORDED:
                self.profile.enable()

        def end(step: Any) -> None:
            if self.profile is not None:
                self.profile.disable()
            end_step(step)
            self.found[part(step)].append(time.process_time_ns() - self._begun[phase])

        phase.begin_step, phase.end_step = begin, end


def record_here(out: str, profiled: bool, command: list[str]) -> None:
    """Runs the recorder in this process and writes what its parts took."""
    sys.path.insert(0, str(RECORDER))
    load: Callable[[], Any] = importlib.import_module("hotlens.__main__").load_package
    package = load().__name__
    part = lambda name: importlib.import_module(f"{package}.{name}")  # noqa: E731
    cli, clocks, phases = part("cli"), Clocks(profiled), part("steps.phases")
    clocks.around_steps(phases.Recorded, lambda step: RECORDED if step.program is not None else "memory step")
    clocks.around_steps(phases.Mapped, lambda _: MAP)
    clocks.around_steps(phases.Plain, lambda _: PLAIN)
    clocks.around(phases.Recorded, "start", "profiler")
    clocks.around(phases.Recorded, "finish", "profiler")
    for module, name, called in [READING, *WRITING]:
        clocks.around(part(module), name, called)
    try:
        cli.main(["record", "--out", out, "--steps", STEPS, "--", *command])
    finally:
        (Path(out) / "parts.json").write_text(json.dumps(clocks.found))
        if clocks.profile is not None:
            pstats.Stats(clocks.profile, stream=sys.stderr).sort_stats("tottime").print_stats(SHOWN)


def parts_of(model: str, batch: int, profiled: bool) -> dict[str, float]:
    """Milliseconds."""
    with tempfile.TemporaryDirectory() as out:
        command = [PYTHON, __file__, "--inside", out, *(["--profile"] if profiled else []), "--", str(MODELS), model, str(batch)]
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        if profiled:
            print(done.stderr)
        parts = json.loads((Path(out) / "parts.json").read_text())
    return {name: (statistics.median if name in (PLAIN, MAP) else sum)(found) / 1e6 for name, found in parts.items()}


def cost(parts: dict[str, float]) -> float:
    """Milliseconds: two steps come for the program, which would have been plain ones."""
    return sum(parts[name] for name in PARTS) - 2 * parts[PLAIN]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet,gpt,dlrm")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return record_here(options.inside, options.profile, options.command)
    print(f"{'ms':8} {PLAIN:>10} {MAP:>10} {' '.join(f'{name:>13}' for name in PARTS)} {'in map steps':>13}")
    for model in options.models.split(","):
        runs = [parts_of(model, options.batch, options.profile) for _ in range(options.runs)]
        middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        steps = statistics.median(cost(run) / run[MAP] for run in runs)
        row = " ".join(f"{middle[name]:13.1f}" for name in PARTS)
        print(f"{model:8} {middle[PLAIN]:10.1f} {middle[MAP]:10.1f} {row} {steps:13.2f}", flush=True)


if __name__ == "__main__":
    main()
