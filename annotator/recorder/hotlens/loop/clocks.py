"""The clocks of a loop's statements over a run: start-up, then all steps outside the profiler (clock.py has one clock).

Every update is counted, also those that nothing is timed in, so that what comes now and then is known to come as often as it does.
"""

from __future__ import annotations

import contextlib
import time
from _thread import get_ident
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any, Callable

from ..listening.evaluations import UnusedGraph
from ..process.machine import Processors, between, read_processors
from .clock import Clock, Counts
from .kinds import Kinds, Statement
from .plan import NOTHING, Plan
from .watched import Watched

MOST_UPDATES_LISTED = 10_000
# Of a loop that is a package's own no statement is known: that many updates show what comes now and then.
ENOUGH_OF_A_PACKAGE = 50
# Watched on until there are so many updates or they took so long: the first ones are slow.
FEW_UPDATES = 20
LONG_NS = 1_000_000_000
# Short updates are watched for so long whatever their number: one pause of the machine would weigh more than all of them.
SHORT_NS = 400_000_000
# Of fewer updates nobody knows what is rare in them; what takes less of an update does not make it another one.
FEW_KNOWN, RARE_PART = 4, 0.05
# Of what comes after the last update less than one part in so many is not worth dividing.
A_TRACE = 20
# The first of at least so many watched updates is left out where it took more than so many times as long as each of the others and did
# nothing that they did not: on a device, kernels are loaded as they are first used.
FIRST_OF, SLOW = 20, 5
# What a package's loop does between updates has no statement: that its model was turned to evaluation there is a statement of no clock.
EVALUATION: Statement = (-1, 0)
# Of a loop or a statement: its clock, its number there, and which of its executions.
Execution = tuple[int, int, int]
# So many updates from before a profiler are enough to leave usual ones after it out.
ENOUGH_BEFORE = 8
# An update that begins so soon after a profiler has cold caches and a heap that the profiler left behind: 12 ms became 15 to 19. Of longer
# updates that is a small part.
SHAKEN_NS, NOT_SHAKEN_NS = 50_000_000, 250_000_000


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
        self._first: dict[Statement, int] = {}  # at work in the first watched update, ns
        self._first_ns, self._longest_ns = 0, 0  # what it took, and the longest of the others
        self._slow_first_ns = 0  # the first one, where it is left out
        self._carried_ns = 0  # of what was begun and is no update
        self.startup_ns = 0
        self._began = time.perf_counter_ns()
        self._clocks: list[Watched] = []
        self._watching_since: int | None = None
        self._shaken = False  # the update that is being made began soon after a profiler
        self._paused_at: int | None = None
        self._no_update = False
        self._processors: Processors | None = None  # as the first watched update began
        self._undisturbed: bool | None = None  # what counts is from before a profiler, or in proportion to it; None: none was on
        self._longer_ns: list[int] = []  # disturbed updates without rare work
        self._evaluates = False  # in the update that is being made
        self._evaluated = False  # in an update, or with a model that was called before the first one
        self._watched_evaluations = 0  # watched updates with one
        self._trains = True
        # What all updates were made in: the outermost loops, and statements outside of loops.
        self._training: frozenset[Execution] = frozenset()
        self._outside: frozenset[Execution] = frozenset()
        self._other_model = False  # the update that is being made is the first of another model
        self.unused_graphs: Callable[[], list[UnusedGraph]] = list
        self._left_for: tuple[str, int] | None = None  # file and line, from 1, of the next training's loop

    def new(self, filename: str, plan: Plan) -> Clock:
        clock = Clock(filename, plan, self.owner)
        if self.startup_ns:
            clock.switch(clock.junk if self._watching_since is None else clock.watch, time.perf_counter_ns())
        self._clocks.append(Watched(clock))
        return clock

    def first_update(self) -> None:
        """The first update is made: start-up is over."""
        if not self.startup_ns:
            now = time.perf_counter_ns()
            self.startup_ns = now - self._began
            for watched in self._clocks:
                watched.clock.switch(watched.clock.junk, now)

    def evaluation(self) -> None:
        """A model is turned to evaluation, for a rollout or a validation."""
        self._evaluated |= self._begun
        self._evaluates = True

    def inference(self) -> None:
        """One is called without gradients: before the first update it was not only loaded so."""
        self._evaluated |= self._evaluates and not self._begun

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """What runs within is ours, and no time of the script's."""
        began, watching = time.perf_counter_ns(), self._watching_since is not None
        for each in self._clocks:
            each.clock.switch(each.clock.junk, began)
        try:
            yield
        finally:
            ended = time.perf_counter_ns()
            if self._watching_since is not None:
                self._watching_since += ended - began
            if not self.startup_ns:
                self._began += ended - began
            for each in self._clocks:
                clock = each.clock
                clock.switch(clock.watch if watching else clock.junk if self.startup_ns else clock.startup, ended)

    def begins_at(self, update: int, trains: bool = True) -> None:
        """So many updates are made as the first boundary comes; `trains`: no inference, which is over as a training begins."""
        self._kinds.before = max(update, 1)
        self._trains = trains

    def watch(self, after_profiler_ns: int | None = None) -> None:
        """As a step begins that runs without a profiler, so long after one."""
        self.settle()
        self._shaken = after_profiler_ns is not None and after_profiler_ns < SHAKEN_NS
        self.owner[0] = get_ident()
        if not self.watched_ns:
            self._processors = read_processors()
        self._watching_since = now = time.perf_counter_ns()
        self._no_update = False
        for watched in self._clocks:
            watched.clock.switch(watched.clock.watch, now)

    def disturbed(self) -> None:
        """From here on updates take longer than they would without us. Where enough were watched before, of later ones only those count
        that have work which has not come yet; of a package's own loop, no statement of which is known, each does."""
        if self._undisturbed is None:  # later on, updates that were watched are disturbed ones too
            self._undisturbed = self.updates >= ENOUGH_BEFORE or self.watched_ns >= LONG_NS

    def no_update(self) -> None:
        """What was begun is no step: the end of an epoch. Its time counts, but the next boundary ends no update."""
        self._no_update = True

    def end(self) -> None:
        """The script is at its end. Of what its loop did after the last update, only what no update did has its time; what came after the
        loop is of no update."""
        self._no_update = True
        self.pause()
        self.settle()
        self._leave_out_what_follows()

    def _leave_out_what_follows(self) -> None:
        leading, tail = self._leading(), self._carried_ns
        if not tail:
            return
        self._kinds.again(self._by_statement([each.worked(True) for each in self._clocks]))
        holding = max(leading, key=Watched.new_in_loops_ns, default=None)
        if holding is not None:
            kept = holding.new_in_loops_ns()
        elif self._evaluates and self._watched_evaluations:
            kept = 0
        else:  # a package's own loop is one statement, that of the function which calls it
            kept = min((each.held_ns() for each in self._clocks if each.running != NOTHING), default=tail)
        if kept >= tail:
            return
        if kept * A_TRACE < tail:
            self._take_back()
            self._carried_ns = 0
            return
        for each in self._clocks:
            if each is holding:
                each.keep_new_in_loops()
            elif each.running != NOTHING and each not in leading:
                each.keep_held(kept)
            else:
                each.shorten(kept / tail)
        self.watched_ns -= tail - kept
        self._carried_ns = kept

    def _by_statement(self, worked: list[dict[int, int]]) -> dict[Statement, int]:
        """What was at work by each clock, ns; with the evaluation of a package's loop."""
        found = {(index, statement): ns for index, each in enumerate(worked) for statement, ns in each.items()}
        return {**found, EVALUATION: 0} if self._evaluates and not self._leading() else found

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
        self._evaluates = False
        for each in self._clocks:
            each.settle(False)

    def _note_update(self, running: list[int], watched: bool) -> None:
        """`running`: the statement of each clock that was at work when the update was made."""
        if self._has_left(running):
            if watched:
                self._take_back()
                self._carried_ns = 0
            for each in self._clocks:
                each.settle(watched)
            return
        self.made += 1
        worked = [each.worked(watched) for each in self._clocks]
        began = [each.began(ns, watched) for each, ns in zip(self._clocks, worked)]
        usual = all(each.has_worked_twice(ns) for each, ns in zip(self._clocks, worked))
        left_out = usual and (self._leading() if self._undisturbed else self._is_shaken())
        counts = watched and not left_out
        if watched and self._undisturbed:
            if usual:
                self._longer_ns.append(self._carried_ns)
            if counts:
                worked = self._as_undisturbed()
        if watched and not counts:
            self._take_back()
        for each, ns, begun, number in zip(self._clocks, worked, began, running):
            each.note(self.made - 1, ns, begun, counts)
            each.running = number
            each.settle(watched)
            if counts:
                each.note_loops(number)
        by_statement = self._by_statement(worked)
        self._watched_evaluations += counts and EVALUATION in by_statement
        self._evaluates = False
        self._kinds.add(by_statement, self._carried_ns if counts else None)
        if counts:
            self.updates += 1
            if len(self.update_ns) < MOST_UPDATES_LISTED:
                self.update_ns.append(self._carried_ns)
            if self.updates > 1:
                self._longest_ns = max(self._longest_ns, self._carried_ns)
            else:
                self._first, self._first_ns = by_statement, self._carried_ns
                for each in self._clocks:
                    each.remember_first()
        if watched:
            self._carried_ns = 0

    def _is_shaken(self) -> bool:
        """It need not count: others have shown what an update does."""
        return self._shaken and self._carried_ns < NOT_SHAKEN_NS and self.updates > 1 and not self._evaluates

    def _slow_first(self) -> int:
        """What the first watched update took, where no other one took nearly as long; else 0."""
        return self._first_ns if self.updates > 1 and self._first_ns > SLOW * self._longest_ns else 0

    def _leave_out_slow_first(self) -> None:
        """As if it had not been watched."""
        took_ns = self._slow_first()
        first = [_of_clock(index, self._first) for index in range(len(self._clocks))]
        alike = EVALUATION not in self._first and all(each.has_worked_twice(ns) for each, ns in zip(self._clocks, first))
        if not took_ns or not alike or self.updates < FIRST_OF:
            return
        self._slow_first_ns = took_ns
        self.updates -= 1
        self.watched_ns -= took_ns
        del self.update_ns[0]
        for each, worked in zip(self._clocks, first):
            each.leave_out_first(worked)
        self._kinds.forget_time(self._first, took_ns)
        self._first_ns = 0

    def has_rare_work(self) -> bool:
        """At a boundary: whether much of the update that ends is work that comes now and then, as far as that is known."""
        if self.made < FEW_KNOWN:
            return False
        rare = self._kinds.rare()
        if self._evaluates and EVALUATION in rare:
            return True
        worked = [each.worked(self._watching_since is not None) for each in self._clocks]
        longest = max((sum(ns.values()) for ns in worked), default=0)
        return any(ns > RARE_PART * longest for i, each in enumerate(worked) for number, ns in each.items() if (i, number) in rare)

    def another_model(self) -> None:
        """The update that is being made is one of another model, whatever loop makes it."""
        self._other_model = True

    def leaves(self) -> bool:
        """Whether another training has begun, with the update that is being made."""
        now, watching = time.perf_counter_ns(), self._watching_since is not None
        return self._begun and self._has_left([each.clock.switch(_counts(each.clock, watching), now) for each in self._clocks])

    def _has_left(self, running: list[int]) -> bool:
        """The loop of the first updates is over, and another one trains: a search for the learning rate came first, or another model."""
        if self._left_for is None and self._trains:
            loops = _executions(each.call_of_loop(number) for each, number in zip(self._clocks, running))
            outside = _executions(each.call_outside_loops(number) for each, number in zip(self._clocks, running))
            if loops and self._training and not _places(loops) & _places(self._training):
                self._left_for = self._place_of_loop(loops)
            elif self.made >= FEW_KNOWN and not loops & self._training and not self._outside <= outside:
                self._left_for = self._place_after(outside) or self._place_of_loop(loops)
            elif self._other_model:
                self._left_for = self._place_within_loop(running)
            else:
                self._training = loops & self._training or loops or self._training
                self._outside = self._outside & outside if self.made else outside
        return self._left_for is not None

    def _place_of_loop(self, loops: frozenset[Execution]) -> tuple[str, int] | None:
        places = ((self._clocks[index].clock, loop) for index, loop, _ in sorted(loops))
        return next(((clock.filename, clock.plan.loops[loop].line) for clock, loop in places), None)

    def _place_within_loop(self, running: list[int]) -> tuple[str, int] | None:
        lines = ((each.clock, each.clock.plan.statements[n]) for each, n in zip(self._clocks, running) if each.outermost_loop(n) >= 0)
        return next(((clock.filename, statement.line) for clock, statement in lines if statement is not None), None)

    def _place_after(self, outside: frozenset[Execution]) -> tuple[str, int] | None:
        """Where a function went on to that made all updates in one statement so far."""
        before = dict(_places(self._outside))
        for index, number, _ in sorted(outside):
            clock = self._clocks[index].clock
            statement = clock.plan.statements[number]
            if statement is not None and before.get(index, number) != number:
                return clock.filename, statement.line
        return None

    def _leading(self) -> list[Watched]:
        """The clocks of loops that make updates; none where the loop is a package's own."""
        return [each for each in self._clocks if any(each.loops)]

    def _take_back(self) -> None:
        """As if the update that ends had not been watched."""
        self.watched_ns -= self._carried_ns
        for each in self._clocks:
            each.take_back()

    def _as_undisturbed(self) -> list[dict[int, int]]:
        """What was at work in the update that ends, with times in proportion to what usual updates took before a profiler and after it."""
        ratio = min(median(self.update_ns) / median(self._longer_ns), 1.0) if self._longer_ns else 1.0
        carried = round(self._carried_ns * ratio)
        self.watched_ns += carried - self._carried_ns
        self._carried_ns = carried
        for each in self._clocks:
            each.shorten(ratio)
        return [each.worked(True) for each in self._clocks]

    @property
    def undisturbed(self) -> bool:
        """What counts is from before a profiler, or in proportion to it."""
        return bool(self._undisturbed)

    def settled(self) -> bool:
        """What was watched is enough for a mean of usual updates."""
        return self.watched_ns - self._slow_first() >= (LONG_NS if self.updates < FEW_UPDATES else SHORT_NS)

    def unseen(self) -> bool:
        """A statement of a loop that makes updates has not run in two of the updates watched, or these are too few to be a mean of.
        What is not seen when the loop is over will not come."""
        if self._left_for is not None:
            return False
        leading = self._leading()
        if not leading and (self.updates < ENOUGH_OF_A_PACKAGE or (self._evaluated and self._watched_evaluations < 2)):
            return True
        if not self._undisturbed and not self.settled():
            return True
        return any(s.loop >= 0 and s.expected and w.loops[s.loop] and w.in_watched[n] < 2 for w in leading for n, s in w.statements())

    @property
    def updates_made(self) -> int:
        """Since the script began, with those of the warm-up."""
        return self.made + self._kinds.before

    def next_training(self) -> tuple[str, int, int] | None:
        """Where another training began: file and line, from 1, and the updates that were made before it."""
        return (*self._left_for, self.updates_made) if self._left_for is not None else None

    def not_reached(self) -> list[tuple[str, int]]:
        """Statements that may train, too, and come later than the updates so far: file and line, from 1."""
        return [(watched.clock.filename, line) for watched in self._clocks for line in watched.not_reached()]

    def to_come(self) -> list[tuple[str, int, int]]:
        """Work of the loop that was not seen since it comes more rarely: file, line from 1, and every how many steps."""
        return [(watched.clock.filename, *row) for watched in self._leading() for row in watched.to_come(self.updates_made)]

    def as_json(self, file_number: Callable[[str], int]) -> dict[str, Any]:
        """`loop.json` of FORMAT.md; of clocks that have counted something."""
        self._leave_out_slow_first()
        loops: list[dict[str, Any]] = []
        statements: list[dict[str, Any]] = []
        fair = self._kinds.fair()
        for index, watched in enumerate(self._clocks):
            if any(watched.clock.watch.calls) or any(watched.clock.startup.calls):
                more = _of_clock(index, fair.statements)
                watched.add_rows(file_number(watched.clock.filename), loops, statements, self.updates, more)
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
        if not self._leading() and fair.usual_ns:
            document["rare_ns"] = max(document["watched_ns"] - self.updates * fair.usual_ns, 0)
        if unused := self.unused_graphs():
            document["unused_graphs"] = [
                {"file": file_number(each.file), "line": each.line - 1, "function": each.function, "model": each.model, "bytes": each.bytes}
                for each in unused
            ]
        if self._slow_first_ns:
            document["slow_first_ns"] = self._slow_first_ns
        processors = read_processors()
        if self._processors is not None and processors is not None:
            document["processors"] = between(self._processors, processors)
        return document


def _of_clock(index: int, statements: dict[Statement, int]) -> dict[int, int]:
    """By number in its plan."""
    return {number: ns for (clock, number), ns in statements.items() if clock == index}


def _counts(clock: Clock, watching: bool) -> Counts:
    return clock.watch if watching else clock.junk


def _executions(of_clocks: Iterable[tuple[int, int] | None]) -> frozenset[Execution]:
    return frozenset((index, *execution) for index, execution in enumerate(of_clocks) if execution is not None)


def _places(executions: frozenset[Execution]) -> set[tuple[int, int]]:
    return {(index, number) for index, number, _ in executions}
