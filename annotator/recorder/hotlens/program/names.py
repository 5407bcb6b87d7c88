"""How long names of Python hold a tensor that autograd keeps longer: without the graph it would go when they do.

Before each operator the local variables of all frames are read. What one of them holds is alive while the operator runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from ..source.frames import is_ours
from .program import Operator
from .tensors import Tensors

# Such code may keep the dictionary that it shares with who reads its frame; it is not read.
ASKS_FOR_NAMES = frozenset(("locals", "vars", "dir", "eval", "exec"))
CO_OPTIMIZED = 0x01  # a function: its variables are no dictionary
IS_VIEW = sys.version_info >= (3, 13)  # PEP 667: reading them makes none
LONGEST = 64  # a longer list is data


class Names:
    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._last: dict[int, Operator] = {}  # by number of a tensor
        self._readable: dict[CodeType, bool] = {}

    def begin(self) -> None:
        """Before it is known what exists: a trace function has left copies of variables that are others now."""
        for frame in self._frames():
            _let_go(frame, frame.f_locals)

    def look(self, operator: Operator) -> None:
        """Before it runs."""
        for frame in self._frames():
            variables = frame.f_locals
            for number in self._tensors.numbers(_with_entries(variables.values())):
                self._last[number] = operator
            _let_go(frame, variables)

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            readable = self._readable.get(code)
            if readable is None:
                readable = self._readable[code] = not is_ours(code.co_filename) and ASKS_FOR_NAMES.isdisjoint(code.co_names)
            if readable:
                yield frame
            frame = frame.f_back

    def end(self, numbers: Iterable[int]) -> None:
        """Of tensors that the graph alone kept at last."""
        for number in numbers:
            operator = self._last.get(number)
            if operator is not None:
                operator.last_named.append(number)

    def forget(self) -> None:
        self._last.clear()
        self._readable.clear()


def _let_go(frame: FrameType, variables: dict[str, Any]) -> None:
    """A function's variables were copied: the copy would hold on to what the names let go of."""
    if frame.f_code.co_flags & CO_OPTIMIZED and not IS_VIEW:
        variables.clear()


def _with_entries(values: Iterable[Any]) -> list[Any]:
    found = list(values)
    for value in tuple(found):
        if type(value) in (list, tuple) and len(value) <= LONGEST:
            found += value
        elif type(value) is dict and len(value) <= LONGEST:
            found += value.values()
    return found
