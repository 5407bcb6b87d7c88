"""The phases of a run after warm-up: plain steps, measured steps, the map step, the program. Each treats its steps alike."""

from __future__ import annotations

import threading
import time
from typing import Callable

from ..map_step.mapping import MapStep
from ..process.page_faults import minor_faults
from ..program.step import ProgramStep
from ..storage.store import EXPORTED, Draft
from .measure import ExportedTrace, ProfiledSteps, StepClock, cudnn_benchmark


class Phase:
    """A number of steps treated alike. Subclasses say what happens around a step."""

    name = ""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.done = 0
        self.open = False
        self.clock: StepClock | None = None
        self.durations: list[int] = []

    @property
    def over(self) -> bool:
        return self.done >= self.steps

    def start(self) -> None:
        self.clock = StepClock()

    def begin_step(self) -> None:
        assert self.clock is not None
        self.open = True
        self.clock.begin(self.clock.mark())

    def fetched(self, ns: int) -> None:
        """Within a step a DataLoader without workers has made a batch, which took so long."""

    def end_step(self) -> None:
        assert self.clock is not None
        self.clock.end(self.clock.mark())
        self.open = False
        self.done += 1

    def drop_step(self) -> None:
        assert self.clock is not None
        self.clock.drop()
        self.open = False

    def finish(self, draft: Draft) -> None:
        """The phase is over, whole or cut short."""
        if self.clock is not None:
            self.durations = self.clock.durations_ns()


class Plain(Phase):
    name = "plain"

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.faults: list[int | None] = []  # minor page faults of each step
        self._faults_before: int | None = None
        self.fetching: list[int] = []  # ns of each step in which a DataLoader without workers made batches
        self._fetching = self._thread = 0

    def begin_step(self) -> None:
        self._faults_before = minor_faults()
        self._fetching, self._thread = 0, threading.get_ident()
        super().begin_step()

    def fetched(self, ns: int) -> None:
        if threading.get_ident() == self._thread:  # the step does not wait for a thread that fetches ahead
            self._fetching += ns

    def end_step(self) -> None:
        super().end_step()
        self.fetching.append(self._fetching)
        now = minor_faults()
        self.faults.append(now - self._faults_before if now is not None and self._faults_before is not None else None)


class Untouched(Plain):
    """Plain steps from before anything of a profiler is in the process: as many as show what a step of the loop takes, `most` at most."""

    def __init__(self, most: int, shows_enough: Callable[[], bool]) -> None:
        super().__init__(most)
        self._shows_enough = shows_enough

    @property
    def over(self) -> bool:
        return super().over or (self.done > 0 and self._shows_enough())


class Farewell(Plain):
    """One more plain step, in which the other ranks learn that the leader stops after it."""


# Watching on for work that comes now and then takes no more than this share of the time since the first step, or so many seconds.
WATCH_SHARE = 0.5
WATCH_SECONDS = 2.0


class Watch(Phase):
    """Steps without a profiler, until the clocks of the loop have seen each of its statements, or until that has taken long enough.

    An evaluation or the end of an epoch is what is waited for here, so such steps count as well.
    """

    name = "watch"

    def __init__(self, unseen: Callable[[], bool]) -> None:
        super().__init__(0)
        self._unseen = unseen
        self._since = time.monotonic()
        self._until = 0.0

    @property
    def over(self) -> bool:
        return not self._unseen() or (self.clock is not None and time.monotonic() >= self._until)

    def start(self) -> None:
        super().start()
        now = time.monotonic()
        self._until = now + max(WATCH_SECONDS, WATCH_SHARE * (now - self._since))

    def drop_step(self) -> None:
        super().drop_step()
        self.done += 1


class Measured(Phase):
    name = "measured"

    def __init__(self, steps: int, details: bool = False) -> None:
        super().__init__(steps)
        self.details = details
        self.memory = False  # alone is recorded beside the operators
        self.trace_name = f"{self.name}-{steps}"
        self.cudnn_benchmark: bool | None = None
        self.profile: ProfiledSteps | None = None

    def trace(self) -> ExportedTrace:
        """Of a phase that is finished and has a step."""
        assert self.profile is not None and self.profile.exported is not None
        return self.profile.exported

    def start(self) -> None:
        super().start()
        self.profile = ProfiledSteps(self.details, self.memory)
        self.profile.start()

    def begin_step(self) -> None:
        super().begin_step()
        assert self.profile is not None
        self.profile.begin()

    def end_step(self) -> None:
        assert self.profile is not None
        self.profile.end()
        super().end_step()

    def drop_step(self) -> None:
        assert self.profile is not None
        self.profile.drop()
        super().drop_step()

    def finish(self, draft: Draft) -> None:
        super().finish(draft)
        self.cudnn_benchmark = cudnn_benchmark()
        if self.profile is not None:
            self.profile.stop()
            if self.done:
                self.profile.export(draft.path(self.trace_name + EXPORTED))


class Mapped(Measured):
    """The map step. `tries`: how many more may follow where it left out most layers of a list."""

    name = "map"

    def __init__(self, make: Callable[[], MapStep], boundary: str, tries: int = 0, left_out_before: frozenset[int] = frozenset()) -> None:
        super().__init__(1, details=True)
        self.trace_name = f"map-{tries}"
        self.make = make
        self.boundary = boundary
        self.map: MapStep | None = None
        self._tries = tries
        self._left_out_before = left_out_before

    def another(self) -> list[Phase]:
        """What is to come as well. Layers that were left out before, too, are layers that nobody calls. A plain step lies between two
        profilers."""
        left_out = self.map.mostly_left_out() if self.map is not None and self.done and self._tries > 0 else frozenset()
        if not left_out or left_out == self._left_out_before:
            return []
        return [Plain(1), Mapped(self.make, self.boundary, self._tries - 1, left_out)]

    def reach(self) -> int:
        """How many modules it called."""
        return self.map.modules_called() if self.map is not None and self.map.fault is None else 0

    def begin_step(self) -> None:
        super().begin_step()
        self.map = self.make()
        self.map.start(self.boundary)

    def end_step(self) -> None:
        assert self.map is not None
        self.map.stop()
        super().end_step()

    def drop_step(self) -> None:
        if self.map is not None:
            self.map.stop()
        super().drop_step()


# Where the step of the program has work that comes now and then, so many more are tried for a usual one.
PROGRAM_TRIES = 3


class Recorded(Measured):
    """The program of one step, with the memory that it took. The step before it shows the blocks that this one frees."""

    name = "program"

    def __init__(self, make: Callable[[], ProgramStep], has_rare_work: Callable[[], bool], tried: int = 0) -> None:
        super().__init__(2)
        self.memory = True
        self.trace_name = f"{self.name}-{tried}"
        self.make = make
        self.program: ProgramStep | None = None
        self.usual = True  # no step with work that comes now and then
        self._has_rare_work = has_rare_work
        self._tried = tried

    def another(self) -> list[Phase]:
        """What is to come as well, where this was no usual step: after one more plain step each time, or work that comes every third step
        would be met again and again."""
        again = not self.usual and self._tried < PROGRAM_TRIES
        return [Plain(1 + self._tried), Recorded(self.make, self._has_rare_work, self._tried + 1)] if again else []

    def begin_step(self) -> None:
        super().begin_step()
        if self.done == self.steps - 1:
            self.program = self.make()
            self.program.start()

    def end_step(self) -> None:
        if self.program is not None:
            self.program.stop()
            self.usual = not self._has_rare_work()
        super().end_step()

    def drop_step(self) -> None:
        if self.program is not None:
            self.program.stop()
            self.program = None
        super().drop_step()

    def whole(self) -> ProgramStep | None:
        return self.program if self.over else None
