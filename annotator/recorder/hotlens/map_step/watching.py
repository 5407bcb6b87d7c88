"""What watching itself takes in the map step: a trace function is asked about every Python function that is entered.

A line that calls NumPy's `randint` enters four of them, which takes longer than the call. The time of the trace function is measured where
it runs; what the interpreter adds around it, once.
"""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any


class Watching:
    """By line, as the map step numbers them."""

    def __init__(self) -> None:
        self._executions: dict[int, int] = {}
        self._passed_ns: dict[int, int] = {}
        self._around_ns = 0

    def begin(self) -> None:
        """Before the trace function is set."""
        self._around_ns = _around_trace_function()

    def executes(self, line: int) -> None:
        self._executions[line] = self._executions.get(line, 0) + 1

    def passed(self, line: int, began: int) -> None:
        """A function was entered there that gets no mark; the trace function has run since `began`, ns."""
        took = time.perf_counter_ns() - began + self._around_ns
        self._passed_ns[line] = self._passed_ns.get(line, 0) + took

    def of(self, line: int) -> int:
        """What it adds to one execution, ns."""
        return self._passed_ns.get(line, 0) // max(self._executions.get(line, 0), 1)


def _small(value: int, default: int | None = None) -> int | None:
    """As long as functions of packages are that others call all the time: before Python 3.12 each instruction takes longer, too."""
    if value is None or value is default:
        return default
    both = (value, default)
    if isinstance(both, list) or len(both) < 2:
        return None
    first, second = both
    return first if second is None else second


def _does_nothing(frame: FrameType, event: str, arg: Any) -> None:
    """A trace function."""


def _around_trace_function() -> int:
    """What any trace function adds to the call of a function, ns."""
    calls, previous = 100, sys.gettrace()

    def took() -> int:
        began = time.perf_counter_ns()
        for _ in range(calls):
            _small(1)
        return time.perf_counter_ns() - began

    try:
        sys.settrace(None)
        bare = min(took() for _ in range(5))
        sys.settrace(_does_nothing)
        return max(min(took() for _ in range(5)) - bare, 0) // calls
    finally:
        sys.settrace(previous)
