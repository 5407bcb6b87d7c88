"""What other programs take of the machine's processors meanwhile: a step may be slow because the machine is busy.

Read from `proc(5)`: `/proc/stat` for the machine, `/proc/PID/stat` for this process and its descendants (DataLoader workers). Where these
cannot be read, nothing is said.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Processors:
    """Nanoseconds of processor time until now: of the whole machine, and of this process with its descendants."""

    now_ns: int
    used_ns: int
    ours_ns: int


def _ticks_of_processes() -> dict[int, tuple[int, int]]:
    """Parent and processor time in ticks, its ended children's with it, by process."""
    found: dict[int, tuple[int, int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            found[int(entry)] = int(fields[1]), sum(map(int, fields[11:15]))
    return found


def _is_ours(process: int, ticks: dict[int, tuple[int, int]], ours: int) -> bool:
    while process in ticks and process != ours:
        process = ticks[process][0]
    return process == ours


def read_processors() -> Processors | None:
    """None where the system does not tell."""
    try:
        name, *values = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = map(int, values[:8])
        processes = _ticks_of_processes()
    except (OSError, ValueError, IndexError):
        return None
    used = user + nice + system + interrupts + soft_interrupts + stolen
    ours = sum(own for process, (_, own) in processes.items() if _is_ours(process, processes, os.getpid()))
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return Processors(time.perf_counter_ns(), used * tick, ours * tick) if name == "cpu" else None


def between(before: Processors, after: Processors) -> dict[str, int]:
    """`processors` of FORMAT.md's loop.json."""
    ours = max(after.ours_ns - before.ours_ns, 0)
    return {
        "count": os.cpu_count() or 1,
        "wall_ns": after.now_ns - before.now_ns,
        "ours_ns": ours,
        "others_ns": max(after.used_ns - before.used_ns - ours, 0),
    }
