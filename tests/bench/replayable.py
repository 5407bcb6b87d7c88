"""Which share of the operators that real models call a replay can run again.

    HOTLENS_BIN=... HOTLENS_TEST_PYTHON=... HOTLENS_MODELS_PYTHON=... python tests/bench/replayable.py [--models bert,gat] [--keep FOLDER]

Each model of tests/e2e/real_models is recorded, and `hotlens whatif fused_optimizer`, which applies to all of them, replays its step: the
self-check compares the peak with the recorded one. Calls are counted in the trace of the map step: operators that no other operator
called, but for the backward pass. Of a step that is refused none is replayed. Wants a worker (tests/e2e/lab leaves one in build/cache);
else it is compiled.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests/e2e/real_models"
HOTLENS = os.environ.get("HOTLENS_BIN", str(ROOT / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
MODELS_PYTHON = os.environ.get("HOTLENS_MODELS_PYTHON", sys.executable)
BACKWARD = "autograd::engine"


@dataclass(frozen=True)
class Row:
    model: str
    calls: int
    replayed: int
    check: str  # of the replayed peak against the recorded one
    rest: str  # why not all are replayed

    @property
    def share(self) -> float:
        return self.replayed / self.calls if self.calls else 0.0


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    settings = {"XDG_CACHE_HOME": str(ROOT / "build/cache"), **os.environ}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=settings)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1].removeprefix("hotlens: ")


def names() -> list[str]:
    done = run(MODELS, MODELS_PYTHON, "-c", "import catalog; print(*catalog.MODELS)")
    if done.returncode != 0:
        raise SystemExit(f"the models' packages are missing (tests/e2e/install_models.sh): {last_line(done.stderr)}")
    return done.stdout.split()


def read(file: Path) -> Any:
    return json.loads(gzip.decompress(file.read_bytes()))


def record(folder: Path, model: str) -> Path:
    """The bundle of a new profile."""
    folder.mkdir(parents=True, exist_ok=True)
    done = run(folder, HOTLENS, "run", "--python", MODELS_PYTHON, "--warmup", "1", "--steps", "1", str(MODELS / "train.py"), model)
    if done.returncode != 0:
        raise RuntimeError(last_line(done.stderr))
    return max(folder.glob(".hotlens/profiles/*/program.json.gz")).parent


def outermost(events: Iterable[dict[str, Any]]) -> list[str]:
    """Names of operators that no other one encloses on their thread, in order."""
    ends: dict[Any, float] = {}
    found = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        if event["ts"] < ends.get(event["tid"], 0):
            continue
        ends[event["tid"]] = event["ts"] + event["dur"]
        found.append(event["name"])
    return found


def calls_of(bundle: Path) -> Counter[str]:
    events = read(bundle / "trace-map.json.gz")["traceEvents"]
    operators = outermost(event for event in events if event.get("cat") == "cpu_op")
    return Counter(name for name in operators if not name.startswith(BACKWARD))


def replayed_of(program: Any) -> Counter[str]:
    """A custom autograd function is one call, as in the trace."""
    names = [operator["kwargs"]["name"] if operator["op"] == "hotlens::function" else operator["op"] for operator in program["operators"]]
    return Counter(name for name in names if not name.startswith("hotlens::"))


def given(program: Any, missing: Counter[str]) -> str:
    """What is taken as given where its size depends on values, and the modules that call it."""
    if not missing:
        return ""
    named = {program["modules"][o["module"]]["path"] for o in program["operators"] if "sizes" in o["kwargs"] and o["module"] >= 0}
    operators = ", ".join(f"{count} × {name}" for name, count in missing.items())
    return f"{operators} in {', '.join(sorted(named))}: the size depends on values, the result is given"


def self_check(bundle: Path) -> tuple[str, str]:
    """In words, and why the step is not replayed; that is empty where it is."""
    done = run(bundle, HOTLENS, "whatif", "fused_optimizer", "--profile", str(bundle), "--python", PYTHON, "--format", "json")
    if not done.stdout.strip():
        return "fails", last_line(done.stderr)
    check = json.loads(done.stdout)["self_check"]
    words = f"{check['peak_bytes_replayed'] - check['peak_bytes_real']:+,} bytes"
    return words, "" if check["ok"] else "the replay's peak is another one"


def row_of(model: str, bundle: Path) -> Row:
    program = read(bundle / "program.json.gz")
    calls, replayed = calls_of(bundle), replayed_of(program)
    if program["refused"]:
        return Row(model, calls.total(), 0, "-", program["refused"])
    check, reason = self_check(bundle)
    return Row(model, calls.total(), 0 if reason else (calls & replayed).total(), check, reason or given(program, calls - replayed))


def shown(row: Row) -> str:
    return f"{row.model:26} {row.calls:6,} {row.share:7.1%}  {row.check:14} {row.rest}"


def rows(wanted: list[str], place: Path) -> Iterable[Row]:
    for model in wanted:
        try:
            yield row_of(model, record(place / model, model))
        except RuntimeError as reason:
            yield Row(model, 0, 0, "-", f"not recorded: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", help="all where none is named")
    parser.add_argument("--keep", type=Path, help="the folder that the profiles stay in")
    options = parser.parse_args()
    found: list[Row] = []
    print(f"{'model':26} {'calls':>6} {'share':>7}  {'self-check':14} the rest")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(options.models.split(",") if options.models else names(), options.keep or Path(folder)):
            found.append(row)
            print(shown(row), flush=True)
    worst = min(found, key=lambda row: row.share)
    calls, replayed = sum(row.calls for row in found), sum(row.replayed for row in found)
    print(
        f"{sum(row.replayed > 0 for row in found)} of {len(found)} models; {replayed:,} of {calls:,} calls ({replayed / calls:.1%}); "
        f"mean {statistics.mean(row.share for row in found):.1%}, worst {worst.share:.1%} ({worst.model})"
    )


if __name__ == "__main__":
    main()
