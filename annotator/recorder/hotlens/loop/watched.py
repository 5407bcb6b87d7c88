"""One clock of a run with what is known of it: which statements were at work in which updates, and what was counted until the last one.

An update that is watched can be taken back, as if it had not been.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from .clock import Clock
from .plan import NOTHING, Statement

MOST_TIMES = 1000  # kept of a statement, one an update
FEWEST_USUAL = 3  # times that have a usual one


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


class Watched:
    def __init__(self, clock: Clock) -> None:
        size = len(clock.plan.statements)
        self.clock = clock
        self.seen = [Seen() for _ in range(size)]
        self.begun = [Seen() for _ in range(size)]  # the updates that it began in
        self.in_watched = [0] * size  # in how many watched updates each statement was at work
        self._begun_watched = [0] * size  # in how many of them it began
        self.times_ns: list[list[int]] = [[] for _ in range(size)]  # of these, in each
        self.loops = [0] * len(clock.plan.loops)  # watched updates that ended while the loop ran
        self._first_ns, self._first_calls = [0] * size, [0] * size  # counted in the first watched update
        self._first_loops = [0] * len(clock.plan.loops)  # that it ended in
        self.running = 0  # the statement that was at work when the last update was made
        self._watch_before, self._calls_before, self._junk_before = [0] * size, [0] * size, [0] * size  # as the last update ended
        self._junk_calls_before = [0] * size

    def statements(self) -> list[tuple[int, Statement]]:
        """By number; a part of one has none."""
        return [(n, s) for n, s in enumerate(self.clock.plan.statements) if s is not None]

    def worked(self, watched: bool) -> dict[int, int]:
        """The statements that were at work since the last update that was watched, or was not, with their time, ns."""
        clock = self.clock
        total, before = (clock.watch.total_ns, self._watch_before) if watched else (clock.junk.total_ns, self._junk_before)
        found: dict[int, int] = {}
        if total != before:
            for number, (now, then) in enumerate(zip(total, before)):
                if now != then:
                    statement = clock.plan.same.get(number, number)
                    found[statement] = found.get(statement, 0) + now - then
        return found

    def began(self, worked: dict[int, int], watched: bool) -> set[int]:
        """Of these, the statements that began since then; the others were at work already."""
        clock = self.clock
        calls, before = (clock.watch.calls, self._calls_before) if watched else (clock.junk.calls, self._junk_calls_before)
        return {statement for statement in worked if calls[statement] != before[statement]}

    def has_worked_twice(self, worked: dict[int, int]) -> bool:
        """Each of these statements of a loop has been at work in two watched updates."""
        statements = self.clock.plan.statements
        return all(self.in_watched[n] >= 2 for n in worked if (s := statements[n]) is not None and s.loop >= 0)

    def note(self, update: int, worked: dict[int, int], began: set[int], counts: bool) -> None:
        """An update is made; `counts`: as a watched one."""
        for statement, ns in worked.items():
            self.seen[statement].note(update)
            self.in_watched[statement] += counts
            if statement in began:
                self.begun[statement].note(update)
                self._begun_watched[statement] += counts
            if counts and len(self.times_ns[statement]) < MOST_TIMES:
                self.times_ns[statement].append(ns)

    def remember_first(self) -> None:
        """The first watched update is noted and settled, and nothing else was counted."""
        self._first_ns, self._first_calls, self._first_loops = list(self._watch_before), list(self._calls_before), list(self.loops)

    def leave_out_first(self, worked: dict[int, int]) -> None:
        """At a boundary: as if the first watched update, in which these were at work, had not been watched."""
        watch = self.clock.watch
        watch.total_ns[:] = [ns - first for ns, first in zip(watch.total_ns, self._first_ns)]
        watch.calls[:] = [calls - first for calls, first in zip(watch.calls, self._first_calls)]
        self.loops = [made - first for made, first in zip(self.loops, self._first_loops)]
        for statement in worked:
            self.in_watched[statement] -= 1
            self._begun_watched[statement] -= 1
            del self.times_ns[statement][:1]
        self.settle(True)

    def _occurrences(self, number: int) -> tuple[Seen, int]:
        """Of work that comes now and then and makes an update itself, each execution is at work in two updates, and counts once."""
        seen, begun = self.seen[number], self.begun[number]
        if begun.updates < seen.updates <= 2 * begun.updates and self._begun_watched[number] > 0:
            return begun, self._begun_watched[number]
        return seen, self.in_watched[number]

    def not_reached(self) -> list[int]:
        """The lines, from 1, of statements that may train, too, and have not begun."""
        plan, clock = self.clock.plan, self.clock
        running = plan.statements[plan.same.get(self.running, self.running)]
        if running is None:
            return []
        counts = (clock.startup.calls, clock.watch.calls, clock.junk.calls)
        return [s.line for n, s in self.statements() if s.trains and plan.follows(n, running) and not any(calls[n] for calls in counts)]

    def to_come(self, made: int) -> list[tuple[int, int]]:
        """The line, from 1, and the rhythm of statements that none of `made` updates had, because they come more rarely."""
        found = (s for n, s in self.statements() if s.every > made and self.loops[s.loop] and not self.seen[n].updates)
        return [(s.line, s.every) for s in found if s.loop >= 0 and s.expected]

    def note_loops(self, running: int) -> None:
        """A watched update was made while this statement was at work."""
        for loop in self._loops_around(running):
            self.loops[loop] += 1

    def _counted(self, number: int) -> int:
        """How often it began since the script did; of `NOTHING`, how often the function was left."""
        return self.clock.startup.calls[number] + self.clock.watch.calls[number] + self.clock.junk.calls[number]

    def call_of_loop(self, running: int) -> tuple[int, int] | None:
        """The outermost loop around the statement, and which call of its function it runs in."""
        loop = self.outermost_loop(running)
        return (loop, 0 if self.clock.plan.suspends else self._counted(NOTHING)) if loop >= 0 else None

    def call_outside_loops(self, running: int) -> tuple[int, int] | None:
        """The statement, where it is one in no loop, and which of its executions."""
        number = self.clock.plan.same.get(running, running)
        return (number, self._counted(number)) if number != NOTHING and self.outermost_loop(number) < 0 else None

    def outermost_loop(self, running: int) -> int:
        """By number; -1 where the statement is in none."""
        return next(reversed(self._loops_around(running)), -1)

    def _loops_around(self, running: int) -> list[int]:
        """That lead to updates, the innermost first."""
        plan, found = self.clock.plan, []
        statement = plan.statements[plan.same.get(running, running)]
        loop = statement.loop if statement is not None else -1
        while loop >= 0:
            found.append(loop)
            loop = plan.loops[loop].parent
        return found

    def settle(self, watched: bool) -> None:
        """What was counted so far belongs to updates that are noted."""
        if watched:
            self._watch_before[:], self._calls_before[:] = self.clock.watch.total_ns, self.clock.watch.calls
        else:
            self._junk_before[:], self._junk_calls_before[:] = self.clock.junk.total_ns, self.clock.junk.calls

    def take_back(self) -> None:
        """What was counted in the watched update that ends."""
        self.clock.watch.total_ns[:], self.clock.watch.calls[:] = self._watch_before, self._calls_before

    def shorten(self, ratio: float) -> None:
        """Times in the watched update that ends."""
        total = self.clock.watch.total_ns
        total[:] = [then + int((now - then) * ratio) for now, then in zip(total, self._watch_before)]

    def _since(self) -> list[int]:
        """By number, ns counted since the last watched update."""
        return [now - then for now, then in zip(self.clock.watch.total_ns, self._watch_before)]

    def new_in_loops_ns(self) -> int:
        """Counted since the last watched update, in loops that made updates, of statements that were at work in no watched one."""
        return sum(ns for number, ns in enumerate(self._since()) if self._is_new_in_loops(number))

    def held_ns(self) -> int:
        """The same of the statement that was at work when the last update was made."""
        return sum(ns for number, ns in enumerate(self._since()) if self._same(number, self.running))

    def keep_new_in_loops(self) -> None:
        """Takes back all else that was counted since the last watched update."""
        self._keep([ns if self._is_new_in_loops(number) else 0 for number, ns in enumerate(self._since())])

    def keep_held(self, most_ns: int) -> None:
        """The same of all but the statement that was at work when the last update was made, and of that what is more than `most_ns`."""
        self._keep([min(ns, most_ns) if self._same(number, self.running) else 0 for number, ns in enumerate(self._since())])

    def _keep(self, since: list[int]) -> None:
        watch = self.clock.watch
        watch.total_ns[:] = [then + ns for then, ns in zip(self._watch_before, since)]
        watch.calls[:] = [now if ns else then for now, then, ns in zip(watch.calls, self._calls_before, since)]

    def _is_new_in_loops(self, number: int) -> bool:
        return not self.in_watched[self.clock.plan.same.get(number, number)] and any(
            self.loops[loop] for loop in self._loops_around(number)
        )

    def _same(self, number: int, other: int) -> bool:
        same = self.clock.plan.same
        return same.get(number, number) == same.get(other, other)

    def add_rows(
        self, file: int, loops: list[dict[str, Any]], statements: list[dict[str, Any]], updates: int, more: dict[int, int]
    ) -> None:
        """To the lists of `loop.json`; `more`: what to add to a statement's time, ns."""
        plan, first = self.clock.plan, len(loops)
        startup, watch = self.clock.startup, self.clock.watch
        for loop, made in zip(plan.loops, self.loops):
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
        for number, statement in self.statements():
            parts = [number] if number not in rest else [number, rest[number]]
            timed = sum(watch.total_ns[n] for n in parts)
            total = max(timed + more.get(number, 0), 0)
            seen, in_watched = self._occurrences(number)
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
                    "in_watched": in_watched,
                    "first_update": seen.first,
                    "last_update": seen.last,
                    "usual_ns": usual(self.times_ns[number]) if in_watched >= FEWEST_USUAL else None,
                    "startup_calls": startup.calls[number],
                    "startup_ns": sum(startup.total_ns[n] for n in parts),
                }
            )


def usual(times: list[int]) -> list[int] | None:
    """10th percentile, median and 90th percentile; None of fewer than three times."""
    if len(times) < FEWEST_USUAL:
        return None
    tenths = quantiles(times, n=10, method="inclusive")
    return [int(tenths[0]), int(tenths[4]), int(tenths[8])]
