"""Which batches begin a step, once the step is chosen, and which loaders are only beside it.

A loader that is new may have the part of the one that ended the steps so far, as in the next fold. Its first step is on trial: it is one if
an update follows before the next batch.
"""

from __future__ import annotations

from typing import Callable

from .course import Course
from .hooks import Hooks


class LoaderSteps:
    """Of one course. Loaders are numbers (listening/loaders.py), 0 is none."""

    def __init__(self, course: Course, hooks: Hooks, by_optimizers: bool, refused: Callable[[], None]) -> None:
        """`refused` is told when what was begun turns out to be no step."""
        self._course = course
        self._refused = refused
        self._hooks = hooks
        self._by_optimizers = by_optimizers  # updates are told by steps of optimizers, else by backward passes
        self._trial = 0  # the loader whose first step is on trial
        self._watches = False  # for updates

    def fetched(self, loader: int) -> bool:
        """Before a batch is fetched: whether a step begins with it."""
        if self._watches:
            self._look_at_trial(loader)
        if self._ends_steps(loader):
            return True
        if self._course.boundary.by != "loader" or not self._hooks.loaders.tries(self._course.boundary.key):
            self._course.side_event("fetch", loader)
            return False
        if self._course.boundary.inference:
            self._hooks.loaders.served()
        else:
            self._trial, self._watches = loader, True
            self._hooks.watch_updates(self._by_optimizers)
        return True

    def exhausted(self, loader: int) -> bool:
        """Whether it takes back what was begun as a step."""
        if loader == self._trial:
            self._refuse()
        elif self._ends_steps(loader):
            self._course.no_step()
        else:
            self._course.side_event("end", loader)
            return False
        return True

    def renumber(self, loader: int, number: int) -> None:
        """An update has shown that a loader has the part of another."""
        self._course.renumber(loader, number)
        if loader == self._trial:
            self._trial = 0

    def _ends_steps(self, loader: int) -> bool:
        return (self._course.boundary.by, self._course.boundary.key) == ("loader", loader)

    def _look_at_trial(self, loader: int) -> None:
        """A batch of another loader may belong to the step that is on trial."""
        if self._trial and (loader == self._trial or self._ends_steps(loader)):
            self._refuse()
        if not self._trial:
            self._watches = False
            self._hooks.keep_only(self._course.boundary)

    def _refuse(self) -> None:
        """No update has come."""
        self._course.take_back()
        self._refused()
        self._trial = 0
