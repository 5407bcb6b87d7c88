"""Exact clocks of a loop's statements, running in all steps outside the profiler.

A clock belongs to one function, or to a file's top level. `count(n)` says that statement `n` begins: the time since the last call is that
of the statement before it. So a function's statements add up to the time spent in it, callees included; what a callee's own clock counts is
a part of the statement that called it. Who calls `count` is decided elsewhere (marked_code.py, monitored.py).
"""

from __future__ import annotations

import time
from _thread import get_ident
from dataclasses import dataclass, field
from typing import Any, Callable

from .loop_plan import NOTHING, Plan
from .machine import Processors, between, read_processors

MOST_UPDATES_LISTED = 10_000
# Of a loop that is a package's own no statement is known: that many updates show what comes now and then.
ENOUGH_OF_A_PACKAGE = 50
# Watched on until there are so many updates or they took so long: the first ones are slow.
FEW_UPDATES = 20
LONG_NS = 1_000_000_000
# To stop as soon as rare work has come once more would count it too often: its share may be too large by so much.
TOO_OFTEN = 1.1
TELLING = 30  # and work of less than one part in so many of the time is let be
# Short updates are watched for so long whatever their number: one pause of the machine would weigh more than all of them.
SHORT_NS = 400_000_000


class Counts:
    """Of one clock over one stretch of the run; a list entry for each number of the plan."""

    def __init__(self, size: int) -> None:
        self.total_ns = [0] * size
        self.calls = [0] * size


class Clock:
    """Stands as a constant in the code of the user's function. Where that code is copied to another process, an empty tuple stands for it,
    which can `count`, too."""

    __slots__ = ("count", "filename", "junk", "plan", "startup", "switch", "watch")

    def __init__(self, filename: str, plan: Plan, owner: list[int]) -> None:
        size = len(plan.statements)
        self.filename = filename
        self.plan = plan
        self.startup, self.watch, self.junk = Counts(size), Counts(size), Counts(size)
        self.count, self.switch = _running(owner, self.startup)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return tuple, ()


def _running(owner: list[int], first: Counts) -> tuple[Callable[[int], None], Callable[[Counts, int], int]]:
    """`count`, and `switch`, which closes what is open at a time, counts into other lists from then on, and returns the open statement."""
    total, calls = first.total_ns, first.calls
    current, since = NOTHING, 0
    now_ns, thread = time.perf_counter_ns, get_ident

    def count(number: int) -> None:
        nonlocal current, since
        if thread() == owner[0]:
            now = now_ns()
            total[current] += now - since
            calls[number] += 1
            current, since = number, now

    def switch(counts: Counts, now: int) -> int:
        nonlocal total, calls, since
        total[current] += now - since
        total, calls, since = counts.total_ns, counts.calls, now
        return current

    return count, switch


@dataclass
class Seen:
    """In which updates something was at work, the first watched one being 0."""

    updates: int = 0
    first: int = -1
    last: int = -1
    # Between two in a row, of which nothing was left unwatched in between: it may have come there, too.
    gaps: int = 0
    gaps_updates: int = 0
    _unwatched: int = 0

    def note(self, update: int, unwatched: int) -> None:
        """`unwatched`: updates until now that were not watched."""
        if update == self.last:
            return
        if self.updates and unwatched == self._unwatched:
            self.gaps += 1
            self.gaps_updates += update - self.last
        self.updates += 1
        self.first = update if self.first < 0 else self.first
        self.last, self._unwatched = update, unwatched

    def rhythm(self) -> float | None:
        """Updates from one to the next."""
        if self.gaps:
            return self.gaps_updates / self.gaps
        return (self.last - self.first) / (self.updates - 1) if self.updates > 1 else None


@dataclass
class _Watched:
    """A clock, and what is known of it from the updates watched so far."""

    clock: Clock
    statements: list[Seen]
    loops: list[int]  # updates that ended while the loop ran
    total_before: list[int] = field(default_factory=list)


class LoopClocks:
    """All clocks of a run: start-up until the first update, then only what lies between `watch` and `pause`."""

    def __init__(self) -> None:
        self.owner = [get_ident()]  # the thread that trains
        self.updates = 0
        self._unwatched = 0  # updates made while a profiler ran
        self.watched_ns = 0
        self.update_ns: list[int] = []
        self._carried_ns = 0  # of what was begun and is no update
        self.startup_ns = 0
        self._began = time.perf_counter_ns()
        self._clocks: list[_Watched] = []
        self._watching_since: int | None = None
        self._paused_at: int | None = None
        self._no_update = False
        self._processors: Processors | None = None  # as the first watched update began

    def new(self, filename: str, plan: Plan) -> Clock:
        clock = Clock(filename, plan, self.owner)
        if self.startup_ns:
            clock.switch(clock.junk if self._watching_since is None else clock.watch, time.perf_counter_ns())
        self._clocks.append(_Watched(clock, [Seen() for _ in plan.statements], [0] * len(plan.loops), [0] * len(plan.statements)))
        return clock

    def first_update(self) -> None:
        """The first update is made: start-up is over."""
        if not self.startup_ns:
            now = time.perf_counter_ns()
            self.startup_ns = now - self._began
            for watched in self._clocks:
                watched.clock.switch(watched.clock.junk, now)

    def watch(self) -> None:
        """As a step begins that runs without a profiler."""
        self.settle()
        self.owner[0] = get_ident()
        if not self.watched_ns:
            self._processors = read_processors()
        self._watching_since = now = time.perf_counter_ns()
        self._no_update = False
        for watched in self._clocks:
            watched.clock.switch(watched.clock.watch, now)

    def no_update(self) -> None:
        """What was begun is no step: the end of an epoch. Its time counts, but the next boundary ends no update."""
        self._no_update = True

    def end(self) -> None:
        """The script is at its end: what came after the last update has its time, and is no update."""
        self._no_update = True
        self.pause()
        self.settle()

    def pause(self) -> None:
        """At a boundary, before anything of ours is done there: only the time is noted."""
        if self._watching_since is None:
            self._unwatched += 0 if self._no_update else 1
            self._no_update = False
        elif self._paused_at is None:
            self._paused_at = time.perf_counter_ns()

    def settle(self) -> None:
        """After `pause`, where no step is being timed: the update that ended there is counted."""
        if self._watching_since is None or self._paused_at is None:
            return
        now, passed = self._paused_at, self._paused_at - self._watching_since
        self._watching_since = self._paused_at = None
        self.watched_ns += passed
        for watched in self._clocks:
            number = watched.clock.switch(watched.clock.junk, now)
            if not self._no_update:
                _note_update(watched, number, self.updates, self._unwatched)
        self._carried_ns += passed
        if not self._no_update:
            self.updates += 1
            if len(self.update_ns) < MOST_UPDATES_LISTED:
                self.update_ns.append(self._carried_ns)
            self._carried_ns = 0

    def unseen(self) -> bool:
        """A statement of a loop that makes updates has not run in two of the updates watched, or these are too few to be a mean of: in all,
        or for what has just come and will not come for long."""
        leading = [w for w in self._clocks if any(w.loops)]
        if not leading and self.updates < ENOUGH_OF_A_PACKAGE:
            return True
        if self.watched_ns < (LONG_NS if self.updates < FEW_UPDATES else SHORT_NS):
            return True
        if any(self._has_just_come(w, n) for w in self._clocks for n, _ in _statements(w)):
            return True
        return any(
            s.loop >= 0 and s.expected and w.loops[s.loop] and w.statements[n].updates < 2 for w in leading for n, s in _statements(w)
        )

    def _has_just_come(self, watched: _Watched, number: int) -> bool:
        seen = watched.statements[number]
        rhythm = seen.rhythm()
        if rhythm is None or 2 * seen.updates >= self.updates or watched.clock.watch.total_ns[number] * TELLING < self.watched_ns:
            return False
        return seen.updates * rhythm > TOO_OFTEN * self.updates

    def as_json(self, file_number: Callable[[str], int]) -> dict[str, Any]:
        """`loop.json` of FORMAT.md; of clocks that have counted something."""
        loops: list[dict[str, Any]] = []
        statements: list[dict[str, Any]] = []
        for watched in self._clocks:
            if any(watched.clock.watch.calls) or any(watched.clock.startup.calls):
                _add_rows(watched, file_number(watched.clock.filename), loops, statements, self.updates)
        document: dict[str, Any] = {
            "schema": "hotlens.loop/1",
            "updates": self.updates,
            "watched_ns": self.watched_ns,
            "startup_ns": self.startup_ns,
            "update_ns": self.update_ns,
            "loops": loops,
            "statements": statements,
        }
        processors = read_processors()
        if self._processors is not None and processors is not None:
            document["processors"] = between(self._processors, processors)
        return document


def _statements(watched: _Watched) -> list[tuple[int, Any]]:
    return [(n, s) for n, s in enumerate(watched.clock.plan.statements) if s is not None]


def _note_update(watched: _Watched, running: int, updates: int, unwatched: int) -> None:
    """`running`: the statement that was at work when the update was made."""
    plan, total = watched.clock.plan, watched.clock.watch.total_ns
    if total != watched.total_before:
        for number, (now, before) in enumerate(zip(total, watched.total_before)):
            if now != before:
                watched.statements[plan.same.get(number, number)].note(updates + unwatched, unwatched)
        watched.total_before[:] = total
    statement = plan.statements[plan.same.get(running, running)]
    loop = statement.loop if statement is not None else -1
    while loop >= 0:
        watched.loops[loop] += 1
        loop = plan.loops[loop].parent


def _add_rows(watched: _Watched, file: int, loops: list[dict[str, Any]], statements: list[dict[str, Any]], updates: int) -> None:
    plan, first = watched.clock.plan, len(loops)
    startup, watch = watched.clock.startup, watched.clock.watch
    for loop, made in zip(plan.loops, watched.loops):
        loops.append(
            {
                "id": len(loops),
                "parent": loop.parent + first if loop.parent >= 0 else -1,
                "file": file,
                "line": loop.line - 1,
                "end_line": loop.end_line - 1,
                "kind": loop.kind,
                "function": plan.function,
                "updates": made,
            }
        )
    rest = {number: part for part, number in plan.same.items()}
    for number, statement in _statements(watched):
        parts = [number] if number not in rest else [number, rest[number]]
        total = sum(watch.total_ns[n] for n in parts)
        seen = watched.statements[number]
        statements.append(
            {
                "loop": statement.loop + first if statement.loop >= 0 else -1,
                "function": plan.function,
                "file": file,
                "line": statement.line - 1,
                "end_line": statement.end_line - 1,
                "column": statement.column,
                "kind": statement.kind,
                "calls": watch.calls[number],
                "total_ns": total,
                "per_update_ns": total // updates if updates else 0,
                "in_updates": seen.updates,
                "first_update": seen.first,
                "last_update": seen.last,
                "gaps": seen.gaps,
                "gaps_updates": seen.gaps_updates,
                "startup_calls": startup.calls[number],
                "startup_ns": sum(startup.total_ns[n] for n in parts),
            }
        )
