"""Whether a call of Python asks a training loop's iterator for its next item: the `for` around the steps, or a `next(...)` beside them.

What is asked is a generator, an iterator of the user's own, or what `zip`, `enumerate`, `map` and progress bars put around one. A
DataLoader has a stage without this.
"""

from __future__ import annotations

import ast
import dis
from types import CodeType, FrameType

from .classify import LINES, Classifier
from .frames import HAS_POSITIONS, columns, is_ours, point
from .leading import Leading
from .statements import Span, Statements

FOR_ITER = dis.opmap["FOR_ITER"]


class Fetching:
    """Answers are kept by instruction: the map step asks at every call."""

    def __init__(self, statements: Statements, kinds: Classifier) -> None:
        self._statements = statements
        self._kinds = kinds
        self._fetches: dict[tuple[CodeType, int], bool] = {}
        self._leading: dict[str, set[int]] = {}  # by file: first lines of loops that may lead to an update
        self._running: dict[CodeType, set[int]] = {}  # first lines of loops in which the step began

    def began_in(self, frame: FrameType, line: int) -> None:
        """A frame runs already when the step begins, and stands at this line."""
        loops = self._statements.source(frame.f_code.co_filename).loops_around(line)
        self._running.setdefault(frame.f_code, set()).update(first for first, _ in loops)

    def asks(self, frame: FrameType) -> bool:
        """This frame begins, or goes on, because the loop wants an item."""
        caller = frame.f_back
        if caller is None or not self._kinds.of(caller.f_code) & LINES or is_ours(frame.f_code.co_filename):
            return False
        key = (caller.f_code, caller.f_lasti)
        known = self._fetches.get(key)
        if known is None:
            known = self._fetches[key] = self._is_fetch(caller)
        return known and not self._kinds.is_of_modules(frame.f_code)

    def _is_fetch(self, caller: FrameType) -> bool:
        if caller.f_code.co_code[caller.f_lasti] != FOR_ITER:
            return self._calls_next(caller)
        first = self._statements.first_line(caller.f_code.co_filename, caller.f_lineno)
        return first in self._running.get(caller.f_code, ()) or first in self._loops(caller.f_code.co_filename)

    def _loops(self, filename: str) -> set[int]:
        if filename not in self._leading:
            tree = self._statements.source(filename).tree
            loops = [n for n in ast.walk(tree) if isinstance(n, (ast.For, ast.AsyncFor))] if tree is not None else []
            leading = Leading(tree) if tree is not None and loops else None
            self._leading[filename] = {loop.lineno for loop in loops if leading is not None and leading.leads(loop)}
        return self._leading[filename]

    def _calls_next(self, caller: FrameType) -> bool:
        spans = self._statements.source(caller.f_code.co_filename).calls_of_next()
        if not HAS_POSITIONS:
            return any(span.line <= caller.f_lineno <= span.end_line for span in spans)
        return Span(*(part or 0 for part in columns(point(caller)))) in spans
