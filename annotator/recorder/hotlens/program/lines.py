"""In which line of a module's methods an operator is called: where an edit of them stands beside it."""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import NamedTuple

from .surroundings import Call


class Methods(NamedTuple):
    forward: CodeType
    all: frozenset[CodeType]  # of the class and what it derives from, in the file of `forward`


class Lines:
    def __init__(self) -> None:
        self._methods: dict[type, Methods | None] = {}

    def of_call(self, call: Call | None) -> int | None:
        """
        Of the innermost method of the module that is being called, counted from 1. Nothing where its `forward` is torch's own, or does not
        run.
        """
        methods = self._of(type(call.module)) if call is not None else None
        frame = sys._getframe(1) if methods is not None else None
        line = None
        while frame is not None and methods is not None:
            if line is None and frame.f_code in methods.all:
                line = frame.f_lineno
            if frame.f_code is methods.forward:
                return line
            frame = frame.f_back
        return None

    def _of(self, cls: type) -> Methods | None:
        if cls not in self._methods:
            self._methods[cls] = _methods(cls)
        return self._methods[cls]


def _methods(cls: type) -> Methods | None:
    method = getattr(cls, "forward", None)
    module = getattr(method, "__module__", None)  # none where torch.fx wrote it
    own = isinstance(module, str) and not module.startswith("torch.")
    forward = getattr(method, "__code__", None) if own else None
    if not isinstance(forward, CodeType):
        return None
    functions = (value for base in cls.__mro__ for value in vars(base).values() if isinstance(value, FunctionType))
    codes = {function.__code__ for function in functions if function.__code__.co_filename == forward.co_filename}
    return Methods(forward, frozenset(codes | {forward}))
