"""The course of a run once its step is known: which phase has the open step, when a step is none, what is past.

Where the number of steps left is not known, one measured step and the map step come first, so that a short script still leaves a bundle; a
later, longer window replaces that one step.

What CUPTI needs to see launches stays attached to the process once a profiler has been on, and each launch takes longer from then on. So on
a GPU the loop is watched before that; later, only for work that has not come yet.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Callable

from ..map_step.mapping import MapStep
from ..process.interrupts import held_back
from ..process.report import Reporter, Warnings
from ..program.step import ProgramStep
from ..storage.store import Draft
from .finder import Boundary
from .phases import Farewell, Mapped, Measured, Phase, Plain, Recorded, Untouched, Watch

# So many steps in a row with something unusual in them are the loop's own way.
UNUSUAL_IN_A_ROW = 12
# So many steps after a profiler find what it has left behind.
NEXT_FEW = 4
# Where layers are dropped at random, so many more map steps are tried for one that runs at least half of them.
MAP_TRIES = 4
# Where nobody knows how many steps there are, so many times the measured steps are watched before them at most.
UNTOUCHED = 2
LEFT_OUT = "steps with an evaluation or the end of an epoch in them are not steps of training; left out"


def plan(
    steps: int,
    left: int | None,
    boundary: Boundary,
    map_step: Callable[[], MapStep] | None,
    farewell: bool,
    unseen: Callable[[], bool] = lambda: False,
    program: Callable[[], ProgramStep] | None = None,
    has_rare_work: Callable[[], bool] = lambda: False,
    settled: Callable[[], bool] | None = None,
) -> list[Phase]:
    """The phases for `steps` measured steps. `left`: steps the script is known to have; without `map_step` a plain step stands for it, and
    nothing is watched further; `unseen`: whether work of the loop has not come yet; `program`: where one is to be recorded, last;
    `has_rare_work`: whether the update that ends has much work that comes now and then.
    `settled`: whether the loop has been watched long enough, where that has to come before the first profiler."""
    mapped: Phase = Mapped(map_step, boundary.by, MAP_TRIES) if map_step is not None else Plain(1)
    # A range of the script's that was opened under one profiler must not be closed under the next one (torch writes to freed memory
    # then): a step without a profiler lies between two.
    later = 1 if program is not None and steps > 1 else 0  # plain steps that come before the program
    if left is not None and left >= 2 * steps + 1:
        order = [Plain(steps - 1 - later), Measured(steps), Plain(1), mapped]
    else:
        order = [Measured(1), Plain(1), mapped, Plain(max(1, steps - 1 - later)), Measured(steps)]
    if program is not None:
        order += [Plain(1), Recorded(program, has_rare_work)]
    if settled is not None:
        spare = UNTOUCHED * steps if left is None else left - sum(phase.steps for phase in order)
        order = [Untouched(max(spare, 0), settled), *order]
    watch: list[Phase] = [Watch(unseen)] if map_step is not None else []
    return [phase for phase in order if phase.steps] + watch + ([Farewell(1)] if farewell else [])


class Course:
    """Phases to come and past. Boundaries and side events come in the order in which the loop has them."""

    def __init__(
        self,
        boundary: Boundary,
        phases: Sequence[Phase],
        draft: Draft,
        reporter: Reporter,
        warnings: Warnings,
        past: Sequence[Phase] = (),
    ) -> None:
        self.boundary = boundary
        self.phases = list(phases)
        self.past = list(past)
        self.draft = draft
        self.reporter = reporter
        self.warnings = warnings
        self.boundaries = 0  # of the chosen kind, from the start of the script
        self._unusual: set[tuple[str, int]] = set()  # what the open step has had and steps of this loop do not have
        self._trained = False  # the open step has had a backward pass
        self._left_out = 0  # steps in a row
        self._profiled_until: int | None = None  # when the last profiler was done, ns
        self._since_profiler = 0  # steps begun since then

    @property
    def over(self) -> bool:
        return not self.phases

    @property
    def without_profiler(self) -> bool:
        """The open step runs as it would without us."""
        return bool(self.phases) and self.phases[0].open and not isinstance(self.phases[0], Measured)

    @property
    def after_profiler_ns(self) -> int | None:
        """How long ago the last profiler was done; None where the open step is not one of the next few."""
        if self._profiled_until is None or self._since_profiler > NEXT_FEW:
            return None
        return time.perf_counter_ns() - self._profiled_until

    @property
    def watches_on(self) -> bool:
        """Everything is measured; what comes now and then is waited for."""
        return bool(self.phases) and isinstance(self.phases[0], Watch)

    @property
    def delicate(self) -> bool:
        """The next boundary ends a phase or begins one, or works on a profiler."""
        ahead = self.phases[:1]
        return any(
            phase.done + phase.open >= phase.steps or phase.clock is None or isinstance(phase, (Measured, Untouched)) for phase in ahead
        )

    def side_event(self, kind: str, key: int) -> None:
        """Within a step: an epoch that ends, an evaluation, another loader. Where steps of this loop have none, this is not one."""
        if (kind, key) not in self.boundary.usual:
            self._unusual.add((kind, key))

    def fetched(self, ns: int) -> None:
        """Within a step a DataLoader without workers has made a batch."""
        if self.phases and self.phases[0].open:
            self.phases[0].fetched(ns)

    def renumber(self, loader: int, number: int) -> None:
        """A loader turns out to have the part of another."""
        if ("fetch", loader) in self._unusual and ("fetch", number) in self.boundary.usual:
            self._unusual.remove(("fetch", loader))

    def backward(self) -> None:
        self._trained = True

    def next_step(self, starts: Callable[[Phase], None], between: Callable[[], None]) -> None:
        """At a boundary: the step that was open ends, the next begins. `starts` is told of each phase as it starts, `between` runs when no
        step is open."""
        if self.phases and self.phases[0].open:
            self._close_step(self.phases[0])
        between()
        self._unusual.clear()
        self._trained = False
        while self.phases and self.phases[0].over:
            phase = self.phases.pop(0)
            self._finish(phase)
            if isinstance(phase, (Mapped, Recorded)):
                self._take_another(phase)
        if self.phases:
            phase = self.phases[0]
            if phase.clock is None:
                phase.start()
                starts(phase)
            phase.begin_step()
            self._since_profiler += 1

    def _take_another(self, phase: Mapped | Recorded) -> None:
        """Another step, where this one says too little: last."""
        last = len(self.phases) - sum(isinstance(each, (Farewell, Watch)) for each in self.phases)
        self.phases[last:last] = phase.another()

    def _close_step(self, phase: Phase) -> None:
        if isinstance(phase, Watch):
            phase.end_step()
        elif self._is_step() or isinstance(phase, Farewell):
            self._left_out = 0
            phase.end_step()
            if not isinstance(phase, Untouched):  # nobody knows how many these will be
                self.reporter.step(phase.name, phase.done, phase.steps)
        else:
            self._left_out += 1
            self.warnings.add("steps_left_out", LEFT_OUT)
            phase.drop_step()

    def _is_step(self) -> bool:
        if self.boundary.by == "forward" and not self.boundary.inference and not self._trained:
            return False  # the model was called in an evaluation
        return not self._unusual or self._left_out >= UNUSUAL_IN_A_ROW

    def no_step(self) -> None:
        """What was begun turns out not to be a step: the loader was at its end."""
        if self.phases and self.phases[0].open:
            with held_back():
                self.phases[0].drop_step()

    def take_back(self) -> None:
        """The last boundary turns out to have been none."""
        self.no_step()
        self.boundaries -= 1

    def finish(self) -> None:
        """Ends the phases as they are."""
        self.no_step()
        while self.phases:
            self._finish(self.phases.pop(0))

    def _finish(self, phase: Phase) -> None:
        self.past.append(phase)
        phase.finish(self.draft)
        if isinstance(phase, Measured):
            self._profiled_until, self._since_profiler = time.perf_counter_ns(), 0

    def abandon(self) -> None:
        """Drops everything; nothing of a profiler stays on."""
        for phase in self.phases:
            with contextlib.suppress(Exception):
                if phase.open:
                    phase.drop_step()
                if isinstance(phase, Measured) and phase.profile is not None:
                    phase.profile.stop()
        self.phases, self.past = [], []

    def forked(self) -> None:
        """In a forked process: what belongs to the parent's profiler is left alone."""
        for phase in self.phases:
            if isinstance(phase, Mapped) and phase.map is not None:
                phase.map.abandon()
            if isinstance(phase, Recorded) and phase.program is not None:
                phase.program.abandon()
        self.phases, self.past = [], []
