"""What torch.compile did during the run, as its own books tell it: compilations, graph breaks, what they took.

All of it is read when the run is over, and from nothing that the run depends on. The books are torch's own and change from version to
version: what one lacks is left out, and what fails is noted in `missing` and nothing else.

Sources: `torch._dynamo.utils.get_compilation_metrics()` (2.1 and newer; the last 64), `compilation_time_metrics` (all of them, seconds
only), `graph_break_reasons` (each attempt at a graph, with the stack of the user's code).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

MOST = 200  # rows of each list; a script that compiles more often has a problem that the first ones show
LONGEST_REASON = 300  # characters


@dataclass(frozen=True)
class Compilation:
    """One graph, or one attempt at it. `region`: the number of the code object and how often it was compiled before ("1/0")."""

    region: str
    function: str
    file: str
    line: int  # 1-based; 0: not known
    start_us: int | None  # since the epoch
    took_ns: int
    again: str  # why the code that was there did not do; empty for the first
    backward: bool
    failed: str


@dataclass
class Break:
    file: str
    line: int  # 1-based
    function: str
    reason: str
    count: int = 1  # attempts that met it


@dataclass
class Compiled:
    compilations: list[Compilation] = field(default_factory=list)
    count: int = 0  # of all graphs, also those whose row is lost
    took_ns: int = 0
    breaks: list[Break] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "took_ns": self.took_ns,
            "compilations": [
                {
                    "region": c.region,
                    "function": c.function,
                    "file": c.file,
                    "line": max(0, c.line - 1),
                    "start_us": c.start_us,
                    "took_ns": c.took_ns,
                    "again": c.again or None,
                    "backward": c.backward,
                    "failed": c.failed or None,
                }
                for c in self.compilations[:MOST]
            ],
            "breaks": [
                {"file": b.file, "line": max(0, b.line - 1), "function": b.function, "reason": b.reason, "count": b.count}
                for b in self.breaks[:MOST]
            ],
            "missing": self.missing,
        }


def look() -> Compiled | None:
    """What has been compiled so far; None where that is nothing, as by a package that compiles functions which nobody calls. Never raises,
    imports nothing."""
    found = Compiled()
    books = sys.modules.get("torch._dynamo.utils")
    if books is None:
        return None
    for what, read in (("compilations", _compilations), ("graph breaks", _breaks)):
        try:
            read(books, found)
        except Exception as fault:
            found.missing.append(f"{what}: this torch keeps other books ({type(fault).__name__}: {fault})"[:LONGEST_REASON])
    return found if found.count > 0 or found.breaks or found.missing else None


def _compilations(books: Any, found: Compiled) -> None:
    rows = [_compilation(row) for row in books.get_compilation_metrics()]
    # A graph's name is told with its forward only.
    named = {row.region: row for row in rows if row.function}
    found.compilations = [
        Compilation(row.region, of.function, of.file, of.line, row.start_us, row.took_ns, row.again, row.backward, row.failed)
        for row in rows
        for of in [named.get(row.region, row)]
    ]
    found.count = sum(not row.backward for row in rows)
    found.took_ns = sum(row.took_ns for row in rows)
    seconds = getattr(books, "compilation_time_metrics", None) or {}
    frames = seconds.get("_compile.compile_inner") or []
    if len(frames) > found.count:  # the metrics are the last 64
        found.count = len(frames)
        found.took_ns = max(found.took_ns, round(1e9 * (sum(frames) + sum(seconds.get("backward._backward_impl") or []))))


def _compilation(row: Any) -> Compilation:
    def of(name: str) -> Any:
        return getattr(row, name, None)

    start, seconds, us = of("start_time_us"), of("entire_frame_compile_time_s"), of("duration_us")
    if start is None and of("start_time"):
        start = round(of("start_time") * 1e6)
    took = round(seconds * 1e9) if seconds else (us or 0) * 1000
    backward = of("is_forward") is False
    region = str(of("compile_id") or of("frame_key") or "")
    failed = _first_lines(of("fail_reason") or of("fail_type") or "")
    again = "" if backward else _first_lines(of("recompile_reason") or "").partition(": ")[2]
    return Compilation(
        region, of("co_name") or "", of("co_filename") or "", of("co_firstlineno") or 0, start, took, again, backward, failed
    )


def _breaks(books: Any, found: Compiled) -> None:
    known: dict[tuple[str, int, str], Break] = {}
    for row in books.graph_break_reasons:
        if not getattr(row, "graph_break", True) or not row.user_stack:
            continue
        at = row.user_stack[-1]  # the innermost
        key = (at.filename, at.lineno or 0, _first_lines(row.reason))
        if key in known:
            known[key].count += 1
        else:
            known[key] = Break(key[0], key[1], at.name, key[2])
    found.breaks = list(known.values())


def _first_lines(text: str) -> str:
    """The sentence that says what; of what follows, the hints of newer versions."""
    lines = [line.strip() for line in str(text).splitlines()]
    hints = [line.removeprefix("Hint: ") for line in lines if line.startswith("Hint: ")]
    said = next((line for line in lines if line), "")
    return (f"{said}. {hints[0]}" if hints and said else said)[:LONGEST_REASON]
