"""Reading Python frames: whose code a frame runs, which object it runs for, and the exact expression it stands at.

A frame is *ours* (this package), *library* (torch, the standard library, generated code) or *user code* (the script, its modules, and any
installed package that is neither). Sites of modules and calls are always in user code.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Any, NamedTuple, Optional

from .statements import text_of

RECORDER_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
HAS_POSITIONS = sys.version_info >= (3, 11)
CO_VARARGS = 0x04
# Compilers give these names to code that is lexically part of a larger expression.
INLINE_CODE = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>")


def _folders(*names: str) -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    found = {p for n in names for p in (paths.get(n), os.path.realpath(paths.get(n) or "")) if p}
    return tuple(p.rstrip(os.sep) + os.sep for p in found)


STDLIB = _folders("stdlib", "platstdlib")
PACKAGES = _folders("purelib", "platlib")


class Point(NamedTuple):
    """Where a frame stood: enough to find the expression later, without holding the frame."""

    code: CodeType
    lasti: int
    line: int  # 1-based
    function: str


Stack = tuple[tuple[CodeType, tuple[int, int, Optional[int], Optional[int]]], ...]  # read when it runs: Python 3.9 has no `|` there


def is_ours(filename: str) -> bool:
    return filename.startswith(RECORDER_FOLDER)


class Files:
    """Sorts file names; remembers the answer, because every frame of a map step asks."""

    def __init__(self, workspace: list[str]) -> None:
        self.workspace = tuple(os.path.realpath(w).rstrip(os.sep) + os.sep for w in workspace)
        self.torch: tuple[str, ...] = ()
        self._library: dict[str, bool] = {}
        self._workspace: dict[str, bool] = {}

    def set_torch(self, folder: str) -> None:
        self.torch = tuple({folder.rstrip(os.sep) + os.sep, os.path.realpath(folder).rstrip(os.sep) + os.sep})
        self._library.clear()

    def is_library(self, filename: str) -> bool:
        """torch, the standard library, ourselves, or code without a file."""
        known = self._library.get(filename)
        if known is None:
            known = self._library[filename] = self._sort(filename)
            if not known:
                text_of(filename)  # keep the text that is about to run
        return known

    def _sort(self, filename: str) -> bool:
        if filename.startswith("<") or is_ours(filename) or filename.startswith(self.torch):
            return True
        return filename.startswith(STDLIB) and not filename.startswith(PACKAGES) and "site-packages" not in filename

    def in_workspace(self, filename: str) -> bool:
        """A file of the user's project: below its folders and not installed there as a package."""
        known = self._workspace.get(filename)
        if known is None:
            real = os.path.realpath(filename)
            known = not self.is_library(filename) and real.startswith(self.workspace) and not _installed(real, self.workspace)
            self._workspace[filename] = known
        return known


def _installed(path: str, workspace: tuple[str, ...]) -> bool:
    """Inside an environment's package folder (also one that lies in the workspace)."""
    if path.startswith(PACKAGES) and not any(w.startswith(PACKAGES) for w in workspace):
        return True
    return any(f"{os.sep}{name}{os.sep}" in path for name in ("site-packages", "dist-packages"))


def first_argument(frame: FrameType) -> Any:
    """The object a method's frame runs for: its first argument, also of `def wrapper(*args)`; None where there is none."""
    code = frame.f_code
    if code.co_argcount:
        return frame.f_locals.get(code.co_varnames[0])
    if code.co_flags & CO_VARARGS:
        packed = frame.f_locals.get(code.co_varnames[code.co_kwonlyargcount])
        return packed[0] if isinstance(packed, tuple) and packed else None
    return None


# What Dynamo makes of the rest of a function behind a graph break; it stands for the function.
RESUMED = re.compile(r"torch_dynamo_resume_in_(\w+)_at_\d+")


def qualified_name(frame: FrameType) -> str:
    """`co_qualname`; before Python 3.11 the class is taken from the first argument."""
    code = frame.f_code
    name = getattr(code, "co_qualname", None)
    if name is not None:
        return RESUMED.sub(r"\1", name)
    owner = first_argument(frame) if code.co_varnames[:1] in (("self",), ("cls",)) else None
    cls = owner if isinstance(owner, type) else type(owner)
    for base in cls.__mro__ if owner is not None else ():
        if getattr(vars(base).get(code.co_name), "__code__", None) is code:
            return f"{base.__qualname__}.{code.co_name}"
    return code.co_name


def line_of(frame: FrameType) -> int:
    """The line that runs; where an instruction has none (the jump back at the end of a loop) that of the one before it."""
    if frame.f_lineno is not None:
        return frame.f_lineno
    found = frame.f_code.co_firstlineno
    for begin, _, line in frame.f_code.co_lines():
        if begin > frame.f_lasti:
            break
        found = line or found
    return found


def point(frame: FrameType) -> Point:
    return Point(frame.f_code, frame.f_lasti, line_of(frame), qualified_name(frame))


def stack(frame: FrameType | None) -> Stack:
    """Where a frame and those around it stand. By expression: of a call that has run often, Python stands at another instruction."""
    places = []
    while frame is not None:
        places.append((frame.f_code, columns(Point(frame.f_code, frame.f_lasti, frame.f_lineno or 0, ""))))
        frame = frame.f_back
    return tuple(places)


_positions: dict[CodeType, list[tuple[int | None, int | None, int | None, int | None]]] = {}


def columns(p: Point) -> tuple[int, int, int | None, int | None]:
    """(line, end line, column, end column) of the expression at a point; lines 1-based, columns in UTF-8 bytes, None before Python 3.11."""
    if HAS_POSITIONS:
        table = _positions.get(p.code)
        if table is None:
            table = _positions[p.code] = list(p.code.co_positions())
        index = p.lasti // 2
        if 0 <= index < len(table):
            line, end_line, column, end_column = table[index]
            if line is not None and end_line is not None:
                return line, end_line, column, end_column
    return p.line, p.line, None, None
