"""Clocks for Python 3.12 and newer: `sys.monitoring` tells of the lines of the functions that have a clock, and of nothing else.

The script's code stays as it is. A line that repeats what is running (the fetch of a loop that leads to no update) is switched off after
its first event.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from .clock import Clock
from .plan import NOTHING, Plan

TOOL = 4  # of the numbers that Python leaves to tools without a name; 0, 1, 2 and 5 are a debugger's, coverage's and profilers'
NAME = "hotlens"


class Monitor:
    """The tool of this process. Nothing happens where another tool has the number already."""

    def __init__(self) -> None:
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._lines: dict[CodeType, tuple[Clock, dict[int, int]]] = {}
        self._current: dict[CodeType, int] = {}
        self._on = False

    def start(self) -> bool:
        if self._monitoring is None or self._monitoring.get_tool(TOOL) is not None:
            return False
        events = self._monitoring.events
        self._monitoring.use_tool_id(TOOL, NAME)
        self._monitoring.register_callback(TOOL, events.LINE, self._line)
        for event in (events.PY_RETURN, events.PY_YIELD):
            self._monitoring.register_callback(TOOL, event, self._left)
        self._on = True
        return True

    def watch(self, code: CodeType, clock: Clock) -> None:
        if not self._on or code in self._lines:
            return
        self._lines[code] = clock, numbers_of_lines(clock.plan)
        events = self._monitoring.events
        leaves = 0 if code.co_name == "<module>" else events.PY_RETURN | events.PY_YIELD
        self._monitoring.set_local_events(TOOL, code, events.LINE | leaves)

    def stop(self) -> None:
        if not self._on:
            return
        self._on = False
        for code in self._lines:
            self._monitoring.set_local_events(TOOL, code, 0)
        self._monitoring.free_tool_id(TOOL)
        self._lines.clear()

    def _line(self, code: CodeType, line: int) -> Any:
        clock, numbers = self._lines[code]
        number = numbers.get(line, NOTHING)
        current = self._current.get(code, NOTHING)
        statement = clock.plan.statements[number]
        if statement is None:
            return None
        if number == current:
            # A header that asks for the next item is counted each time, the inside of a statement never.
            repeats = statement.kind in ("for", "while") and line == statement.line
            return clock.count(number) if repeats else self._monitoring.DISABLE
        self._current[code] = number
        before = clock.plan.statements[clock.plan.same.get(current, current)]
        if statement.kind == "with" and before is not None and before.line > statement.line:
            number = next((again for again, first in clock.plan.same.items() if first == number), number)
        return clock.count(number)

    def _left(self, code: CodeType, offset: int, value: Any) -> None:
        self._current[code] = NOTHING
        self._lines[code][0].count(NOTHING)


def numbers_of_lines(plan: Plan) -> dict[int, int]:
    """The statement of each line; of several on one line the first, of an outer and an inner one the inner."""
    found: dict[int, int] = {}
    spans = [(s.line, s.last_line, n) for n, s in enumerate(plan.statements) if s is not None]
    for line, end, number in sorted(spans, key=lambda span: (span[0], -span[1], -span[2])):
        for inside in range(line, end + 1):
            found[inside] = number
    return found


def code_of(plan: Plan, code: CodeType) -> CodeType | None:
    """The code object of a plan's function within a file's code."""
    if plan.function == "<module>":
        return code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if (constant.co_name, constant.co_firstlineno) == (plan.function.rpartition(".")[2], plan.line):
                return constant
            inner = code_of(plan, constant)
            if inner is not None:
                return inner
    return None
