"""In which line of a module's `forward` an operator is called: where an edit of that method stands beside it."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from .surroundings import Call


class Lines:
    def __init__(self) -> None:
        self._codes: dict[type, CodeType | None] = {}

    def of_call(self, call: Call | None) -> int | None:
        """Of the module that is being called, counted from 1; nothing where its `forward` is torch's own, or does not run."""
        code = self._code(type(call.module)) if call is not None else None
        frame = sys._getframe(1) if code is not None else None
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        return frame.f_lineno if frame is not None else None

    def _code(self, cls: type) -> CodeType | None:
        if cls not in self._codes:
            method: Any = getattr(cls, "forward", None)
            module = getattr(method, "__module__", None)  # none where torch.fx wrote it
            own = isinstance(module, str) and not module.startswith("torch.")
            code = getattr(method, "__code__", None) if own else None
            self._codes[cls] = code if isinstance(code, CodeType) else None
        return self._codes[cls]
