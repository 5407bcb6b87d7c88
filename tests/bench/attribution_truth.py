"""How much operator time Hotlens puts on the right module, against ranges that the script itself recorded.

    python tests/bench/attribution_truth.py

Runs `truth_model.py` under `hotlens run`, reads the measured trace on its own, and compares `hotlens report --events` with the innermost
truth range around every operator. A recomputation counts as backward. Exit code 1 below 99 %. Needs HOTLENS_BIN and HOTLENS_TEST_PYTHON.
"""

from __future__ import annotations

import bisect
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MODEL = Path(__file__).resolve().parent / "truth_model.py"
HOTLENS = os.environ.get("HOTLENS_BIN", "hotlens")
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
GOAL = 0.99  # share of operator time on the right module


def reported(bundle: Path) -> dict[int, dict[str, Any]]:
    """What Hotlens says of every event, by its position in the trace."""
    output = subprocess.run([HOTLENS, "report", str(bundle), "--events"], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = (json.loads(line) for line in output.splitlines())
    return {line["event"]: line for line in lines}


def complete_events(bundle: Path) -> list[tuple[int, dict[str, Any]]]:
    """Position and event of everything with a duration."""
    with gzip.open(bundle / "trace-0.json.gz", "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return [(index, event) for index, event in enumerate(events) if event.get("ph") == "X"]


def truth_of(event: dict[str, Any], ranges: list[dict[str, Any]], starts: list[float]) -> dict[str, Any] | None:
    """The innermost truth range around an event; ranges nest at most a few deep."""
    end: float = event["ts"] + event["dur"]
    nearest = ranges[: bisect.bisect_right(starts, event["ts"])][-8:]
    around = [candidate for candidate in nearest if end <= candidate["ts"] + candidate["dur"]]
    return around[-1] if around else None


def compare(bundle: Path) -> dict[str, tuple[float, float]]:
    """Right and total operator time in µs, by direction."""
    said = reported(bundle)
    events = complete_events(bundle)
    ranges = sorted((event for _, event in events if event["name"].startswith("truth.")), key=lambda event: event["ts"])
    starts = [event["ts"] for event in ranges]
    right: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    for index, event in events:
        truth = truth_of(event, ranges, starts) if event["cat"] == "cpu_op" and index in said else None
        if truth is None:
            continue
        _, direction, path = truth["name"].split(".", 2)
        got = said[index]
        recomputed = direction == "forward" and got["stage"] == "backward"
        total[direction] += event["dur"]
        if got["module"] == path and (got["direction"] == direction or recomputed):
            right[direction] += event["dur"]
        elif "--verbose" in sys.argv:
            print(event["name"], "in", truth["name"], "but", got)
    return {direction: (right[direction], total[direction]) for direction in total}


def main() -> int:
    """Prints one line per direction."""
    with tempfile.TemporaryDirectory(prefix="hotlens-truth-") as folder:
        command = [HOTLENS, "run", "--python", PYTHON, "--", str(MODEL)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        bundle = max(Path(folder).glob(".hotlens/profiles/*/manifest.json"), default=None)
        if bundle is None:
            print("no bundle was written", file=sys.stderr)
            return 1
        shares = compare(bundle.parent)
    for direction, (right, total) in sorted(shares.items()):
        print(f"{direction}: {100 * right / total:.3f} % of {total / 1000:.1f} ms of operators on the right module")
    complete = set(shares) == {"forward", "backward"}
    return 0 if complete and all(right >= GOAL * total for right, total in shares.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
