"""The first step of a script, for `--warmup 0`: measured before it is known what a step is.

It goes from the first batch, or the first call of a model with gradients, to the update that all optimizers have made. It serves where the
script ends before a later step was measured.
"""

from __future__ import annotations

import contextlib

from ..process.interrupts import held_back
from ..storage.store import Draft
from .finder import LONG_PATIENCE, Boundary
from .phases import Measured, Phase

FIRST = "first"  # the name of its trace
BOUNDARY = Boundary("optimizer", 0, "--warmup 0: the script's first step, from its first batch or call of a model to its update", 0)


class FirstStep:
    """At most one measured step, none unless `wanted`. Told about the events before the step is known."""

    def __init__(self, draft: Draft, wanted: bool) -> None:
        self._phase = Measured(1)
        self._phase.trace_name = FIRST
        self._draft = draft
        self._wanted = wanted
        self._calls = 0

    def begin(self) -> None:
        """Before an event that may belong to a step. Raises RecorderError while a profiler of the script's is on."""
        if self._wanted and self._phase.clock is None:
            with held_back():
                self._phase.start()
                self._phase.begin_step()

    def call(self, gradients: bool, trains: bool) -> None:
        """A model is called. So many calls before any training are an evaluation, and a profiler must not run on through that."""
        self._calls += 1
        if gradients:
            self.begin()
        if not trains and self._calls > LONG_PATIENCE:
            self.drop()

    def update(self, optimizers_left: int) -> None:
        """An update has been made; that many optimizers are still to make theirs."""
        if self._phase.open and not optimizers_left:
            with held_back():
                self._phase.end_step()
                self._phase.finish(self._draft)

    def drop(self) -> None:
        """What is not complete will not be a step."""
        self._wanted = False
        if self._phase.open:
            with held_back(), contextlib.suppress(Exception):
                self._phase.drop_step()
                self._phase.finish(self._draft)

    def measured(self) -> list[Phase]:
        """The step, where it is complete."""
        return [self._phase] if self._phase.done else []
