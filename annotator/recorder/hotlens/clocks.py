"""The clocks of a loop's statements over a run: start-up, then all steps outside the profiler (clock.py has one clock).

Every update is counted, also those that nothing is timed in, so that what comes now and then is known to come as often as it does.
"""

from __future__ import annotations

import time
from _thread import get_ident
from dataclasses import dataclass, field
from typing import Any, Callable

from .clock import Clock
from .kinds import Kinds
from .loop_plan import Plan
from .machine import Processors, between, read_processors

MOST_UPDATES_LISTED = 10_000
# Of a loop that is a package's own no statement is known: that many updates show what comes now and then.
ENOUGH_OF_A_PACKAGE = 50
# Watched on until there are so many updates or they took so long: the first ones are slow.
FEW_UPDATES = 20
LONG_NS = 1_000_000_000
# Short updates are watched for so long whatever their number: one pause of the machine would weigh more than all of them.
SHORT_NS = 400_000_000


@dataclass
class Seen:
    """In which updates something was at work, watched or not."""

    updates: int = 0
    first: int = -1
    last: int = -1

    def note(self, update: int) -> None:
        self.updates += 1
        self.first = update if self.first < 0 else self.first
        self.last = update


@dataclass
class _Watched:
    """A clock, and what is known of it from the updates so far."""

    clock: Clock
    statements: list[Seen]
    in_watched: list[int]  # in how many watched updates each statement was at work
    loops: list[int]  # watched updates that ended while the loop ran
    watch_before: list[int] = field(default_factory=list)
    junk_before: list[int] = field(default_factory=list)


class LoopClocks:
    """All clocks of a run: start-up until the first update, then only what lies between `watch` and `pause`."""

    def __init__(self) -> None:
        self.owner = [get_ident()]  # the thread that trains
        self.updates = 0  # watched
        self.made = 0  # from the first boundary on, watched or not
        self._kinds = Kinds()
        self._begun = False  # a boundary has come: what lies before it is several updates
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
        size = len(plan.statements)
        seen = [Seen() for _ in plan.statements]
        self._clocks.append(_Watched(clock, seen, [0] * size, [0] * len(plan.loops), [0] * size, [0] * size))
        return clock

    def first_update(self) -> None:
        """The first update is made: start-up is over."""
        if not self.startup_ns:
            now = time.perf_counter_ns()
            self.startup_ns = now - self._began
            for watched in self._clocks:
                watched.clock.switch(watched.clock.junk, now)

    def begins_at(self, update: int) -> None:
        """So many updates are made as the first boundary comes."""
        self._kinds.before = max(update, 1)

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
        if self._paused_at is None:
            self._paused_at = time.perf_counter_ns()

    def settle(self) -> None:
        """After `pause`, where no step is being timed: the update that ended there is counted."""
        if self._paused_at is None:
            return
        now, watched = self._paused_at, self._watching_since is not None
        passed = now - self._watching_since if self._watching_since is not None else 0
        self._watching_since = self._paused_at = None
        self.watched_ns += passed
        self._carried_ns += passed
        running = [each.clock.switch(each.clock.junk, now if watched else time.perf_counter_ns()) for each in self._clocks]
        if not self._begun:
            self._begin()
        elif not self._no_update:
            self._note_update(running, watched)
        elif not watched:
            self._no_update = False

    def _begin(self) -> None:
        self._begun = True
        for each in self._clocks:
            _worked(each, False)

    def _note_update(self, running: list[int], watched: bool) -> None:
        """`running`: the statement of each clock that was at work when the update was made."""
        self.made += 1
        worked: dict[tuple[int, int], int] = {}
        for index, (each, number) in enumerate(zip(self._clocks, running)):
            for statement, ns in _worked(each, watched).items():
                each.statements[statement].note(self.made - 1)
                each.in_watched[statement] += watched
                worked[index, statement] = ns
            if watched:
                _note_loops(each, number)
        self._kinds.add(worked, self._carried_ns if watched else None)
        if watched:
            self.updates += 1
            if len(self.update_ns) < MOST_UPDATES_LISTED:
                self.update_ns.append(self._carried_ns)
            self._carried_ns = 0

    def unseen(self) -> bool:
        """A statement of a loop that makes updates has not run in two of the updates watched, or these are too few to be a mean of."""
        leading = [w for w in self._clocks if any(w.loops)]
        if not leading and self.updates < ENOUGH_OF_A_PACKAGE:
            return True
        if self.watched_ns < (LONG_NS if self.updates < FEW_UPDATES else SHORT_NS):
            return True
        return any(s.loop >= 0 and s.expected and w.loops[s.loop] and w.in_watched[n] < 2 for w in leading for n, s in _statements(w))

    def as_json(self, file_number: Callable[[str], int]) -> dict[str, Any]:
        """`loop.json` of FORMAT.md; of clocks that have counted something."""
        loops: list[dict[str, Any]] = []
        statements: list[dict[str, Any]] = []
        fair = self._kinds.fair()
        for index, watched in enumerate(self._clocks):
            if any(watched.clock.watch.calls) or any(watched.clock.startup.calls):
                more = {number: ns for (clock, number), ns in fair.statements.items() if clock == index}
                _add_rows(watched, file_number(watched.clock.filename), loops, statements, self.updates, more)
        document: dict[str, Any] = {
            "schema": "hotlens.loop/1",
            "updates": self.updates,
            "made": self.made,
            "watched_ns": self.watched_ns + fair.watched_ns,
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


def _worked(each: _Watched, watched: bool) -> dict[int, int]:
    """The statements that were at work since the last update that was watched, or was not, with their time."""
    clock = each.clock
    total, before = (clock.watch.total_ns, each.watch_before) if watched else (clock.junk.total_ns, each.junk_before)
    found: dict[int, int] = {}
    if total != before:
        for number, (now, then) in enumerate(zip(total, before)):
            if now != then:
                statement = clock.plan.same.get(number, number)
                found[statement] = found.get(statement, 0) + now - then
        before[:] = total
    return found


def _note_loops(each: _Watched, running: int) -> None:
    plan = each.clock.plan
    statement = plan.statements[plan.same.get(running, running)]
    loop = statement.loop if statement is not None else -1
    while loop >= 0:
        each.loops[loop] += 1
        loop = plan.loops[loop].parent


def _add_rows(
    watched: _Watched, file: int, loops: list[dict[str, Any]], statements: list[dict[str, Any]], updates: int, more: dict[int, int]
) -> None:
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
        timed = sum(watch.total_ns[n] for n in parts)
        total = max(timed + more.get(number, 0), 0)
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
                "timed_ns": timed,
                "total_ns": total,
                "per_update_ns": total // updates if updates else 0,
                "in_updates": seen.updates,
                "in_watched": watched.in_watched[number],
                "first_update": seen.first,
                "last_update": seen.last,
                "startup_calls": startup.calls[number],
                "startup_ns": sum(startup.total_ns[n] for n in parts),
            }
        )
