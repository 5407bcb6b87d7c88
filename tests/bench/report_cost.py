"""What `hotlens report` costs as a whole process: wall time and peak memory, beside the Python peer HTA where it is installed.

    HOTLENS_BIN=... python tests/bench/report_cost.py TRACE... [--runs 5] [--peer PYTHON]

PYTHON is an interpreter that can import `hta` (HolisticTraceAnalysis 0.5). Runs take turns; the best of each side counts, so that
other load on the machine hits both. The peer is timed from its own call on, without its imports.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HOTLENS = os.environ.get("HOTLENS_BIN", "build/release/bin/hotlens")

PEER = """
import logging, sys, time
logging.disable(logging.CRITICAL)
from hta.common.trace import Trace
start, cpu = time.perf_counter(), time.process_time()
trace = Trace(trace_files={0: sys.argv[1]}, trace_dir="")
trace.parse_traces(use_multiprocessing=False)
print(time.perf_counter() - start, time.process_time() - cpu)
"""


@dataclass(frozen=True)
class Run:
    """Seconds of wall time and of all processors together, and bytes of memory at most."""

    wall: float
    cpu: float
    peak: int = 0


def report(trace: Path) -> Run:
    start = time.perf_counter()
    process = subprocess.Popen([HOTLENS, "report", str(trace), "--format", "json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"hotlens report {trace} failed with {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def peer(python: str, trace: Path) -> Run:
    """HTA loading the file."""
    done = subprocess.run([python, "-c", PEER, str(trace)], capture_output=True, text=True, check=True)
    wall, cpu = done.stdout.split()[-2:]
    return Run(float(wall), float(cpu))


def json_size(trace: Path) -> int:
    """Bytes of the file's JSON, inflated."""
    if trace.suffix != ".gz":
        return trace.stat().st_size
    with gzip.open(trace) as text:
        return sum(len(piece) for piece in iter(lambda: text.read(1 << 20), b""))


def compare(trace: Path, runs: int, python: str | None) -> None:
    ours: list[Run] = []
    theirs: list[Run] = []
    for _ in range(runs):
        ours.append(report(trace))
        if python:
            theirs.append(peer(python, trace))
    size = json_size(trace)
    wall = min(run.wall for run in ours)
    peak = min(run.peak for run in ours)
    cpu = min(run.cpu for run in ours)
    line = f"{trace.name}: {size / 1e6:.1f} MB of JSON, report {wall * 1e3:.0f} ms ({cpu * 1e3:.0f} ms of processors)"
    line += f", peak {peak / 1e6:.1f} MB, {peak / size:.2f} of the JSON"
    if theirs:
        peer_wall, peer_cpu = min(run.wall for run in theirs), min(run.cpu for run in theirs)
        line += f"; HTA {peer_wall:.2f} s ({peer_cpu:.2f} s), {peer_wall / wall:.0f} and {peer_cpu / cpu:.0f} times ours"
    print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer", help="a Python with hta")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for trace in options.traces:
            if trace.suffix == ".gz":
                plain = Path(folder) / trace.stem
                with gzip.open(trace) as text, plain.open("wb") as out:
                    shutil.copyfileobj(text, out)
                compare(plain, options.runs, options.peer)
            compare(trace, options.runs, options.peer)


if __name__ == "__main__":
    main()
