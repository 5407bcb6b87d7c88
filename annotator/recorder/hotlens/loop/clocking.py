"""Gives the script's loops their clocks: as its file is compiled, and as a file of its project is imported."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, Callable

from ..source.frames import Files
from ..source.statements import text_of
from .clocks import LoopClocks
from .marked_code import marked, plans_of
from .monitored import Monitor, code_of

GetCode = Callable[[Any, str], Any]


class Clocking:
    """`install` before the script runs, `remove` when nothing is to be counted any more: code that has marks keeps them."""

    def __init__(self, files: Files, module: str | None) -> None:
        """`module`: the one that runs as `python -m` would run it; its code comes through an import."""
        self.clocks = LoopClocks()
        self._files = files
        self._module = module
        self._monitor = Monitor()
        self._watches_lines = False
        self._get_code: GetCode | None = None

    def install(self) -> None:
        self._watches_lines = self._monitor.start()
        self._get_code = get_code = SourceFileLoader.get_code

        def clocked(loader: Any, name: str) -> Any:
            code = get_code(loader, name)
            return self._imported(loader, name, code) if isinstance(code, CodeType) else code

        # Python leaves the frames of its own importing out of tracebacks. This is one of them.
        clocked.__code__ = clocked.__code__.replace(co_filename=get_code.__code__.co_filename)
        SourceFileLoader.get_code = clocked  # type: ignore[method-assign, assignment]

    def remove(self) -> None:
        if self._get_code is not None:
            SourceFileLoader.get_code = self._get_code  # type: ignore[method-assign, assignment]
            self._get_code = None
        self._monitor.stop()

    def script(self, code: CodeType, text: bytes, path: str) -> CodeType:
        """The script's own code: every line of its top level has a clock."""
        return self._with_clocks(code, text, path, True)

    def _imported(self, loader: Any, name: str, code: CodeType) -> CodeType:
        path = loader.get_filename(name)
        if not self._files.in_workspace(path):
            return code
        text = text_of(path)
        whole = self._module is not None and name in (self._module, f"{self._module}.__main__")
        return code if text is None else self._with_clocks(code, text, path, whole)

    def _with_clocks(self, code: CodeType, text: bytes, path: str, whole: bool) -> CodeType:
        if self._watches_lines:
            self._watch(code, text, path, whole)
            return code
        if sys.gettrace() is not None or hasattr(sys, "monitoring"):
            return code  # a debugger or a measure of coverage is to see the code as it is
        return marked(text, path, whole, lambda plan: self.clocks.new(path, plan)) or code

    def _watch(self, code: CodeType, text: bytes, path: str, whole: bool) -> None:
        found = plans_of(text, path, whole)
        for plan in found[1] if found is not None else ():
            inner = code_of(plan, code)
            if inner is not None:
                self._monitor.watch(inner, self.clocks.new(path, plan))
