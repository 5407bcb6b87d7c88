"""One exact clock of statements.

A clock belongs to one function, or to a file's top level. `count(n)` says that statement `n` begins: the time since the last call is that
of the statement before it. So a function's statements add up to the time spent in it, callees included; what a callee's own clock counts is
a part of the statement that called it. Who calls `count` is decided elsewhere (marked_code.py, monitored.py).
"""

from __future__ import annotations

import time
from _thread import get_ident
from typing import Callable

from .plan import NOTHING, Plan


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
