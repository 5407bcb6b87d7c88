"""How right the times of a loop's lines are: scripts with clocks of their own, in a plain run, against what Hotlens says of their lines.

    HOTLENS_BIN=... python tests/bench/loop_lines.py [--rounds 2] [--scripts periodic,replay]

The scripts are tests/loops/timed; shares are among their clocked statements. A script is run plain, watched and plain again: the control
are the two plain runs against each other. All keep the memory that they free: else the page faults of a step, which change with whatever
else is on the heap, are a fifth of what some of them do. A share is right where it is within 3 points or 10 % of the value; time on the
right line is the part of all time that both give to the same line. Of several rounds the one with the best control counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

LOOPS = Path(__file__).resolve().parents[1] / "loops"
sys.path.insert(0, str(LOOPS))

import test_timed as timed  # noqa: E402
from predict import KEEPS_FREED  # noqa: E402

POINTS, PART = 0.03, 0.1

Shares = dict[str, float]


def same_line(a: Shares, b: Shares) -> float:
    """The part of all time that both give to the same line."""
    return sum(min(a[name], b.get(name, 0.0)) for name in a)


def is_right(true: float, said: float) -> bool:
    return abs(true - said) <= max(POINTS, PART * true)


def measured(script: Path) -> tuple[float, Shares, Shares]:
    """Control, the plain run's shares and what is said."""
    with tempfile.TemporaryDirectory() as folder:
        run = timed.runs(script, Path(folder))
        again = timed.with_clocks(Path(folder), [sys.executable, script.name])
    true, said = timed.shares(run)
    return same_line(true, timed.of_all({name: again["totals"].get(name, 0.0) for name in run.lines})), true, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2, help="rounds of each script")
    parser.add_argument("--scripts", default=",".join(script.stem for script in timed.SCRIPTS))
    asked = parser.parse_args()
    os.environ.update(KEEPS_FREED)
    lines = right = first = leaders = found = 0
    overlaps = []
    for name in asked.scripts.split(","):
        control, true, said = max((measured(LOOPS / "timed" / f"{name}.py") for _ in range(asked.rounds)), key=lambda row: row[0])
        off = {line: (round(true[line], 3), round(said[line], 3)) for line in true if not is_right(true[line], said[line])}
        ranked = sorted(true, key=lambda line: -true[line])
        top = sorted(said, key=lambda line: -said[line])
        lines, right = lines + len(true), right + len(true) - len(off)
        first += top[0] == ranked[0]
        leaders, found = leaders + len(ranked[:3]), found + len(set(ranked[:3]) & set(top[:3]))
        overlaps.append(same_line(true, said))
        print(f"{name:18} time on the right line {overlaps[-1]:.1%}, control {control:.1%}; off {off or 'none'}", flush=True)
    print(f"lines within 3 points or 10 %: {right} of {lines}")
    print(f"costliest line: {first} of {len(overlaps)}; of the three costliest: {found} of {leaders}")
    print(f"time on the right line: mean {sum(overlaps) / len(overlaps):.1%}, least {min(overlaps):.1%}")


if __name__ == "__main__":
    main()
