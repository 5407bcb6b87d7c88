"""Tracebacks and warnings of a notebook name its cells: `train.ipynb cell 3`, line 5 of it.

The cells run as one script under the notebook's own name. Where Python writes a place of it for a person, it
writes the cell and the line in it.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback
import warnings
from types import CodeType, TracebackType
from typing import Any

from .magics import lines_of
from .notebook import CELL, Notebook
from .statements import keep_text

_running: Notebook | None = None


def running() -> Notebook | None:
    """The notebook that is the process's `__main__`."""
    return _running


def install(notebook: Notebook) -> None:
    """In the process that runs it, before it runs; stays until it ends."""
    global _running
    _running = notebook
    keep_text(notebook.path, notebook.text)
    _cache(notebook.path, lines_of(notebook.text.decode()))
    for cell, lines in notebook.cells():
        _cache(notebook.file_of(cell), lines)
    _name_cells_in_tracebacks(notebook)
    _name_cells_in_warnings(notebook)
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_exception  # Python's own reads the source's line from the file


def _cache(filename: str, lines: list[str]) -> None:
    """Without a time, so that nobody compares it with the file."""
    linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)


def _print_exception(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
    traceback.print_exception(kind, error, tb)


def compiled(text: bytes, notebook: Notebook) -> CodeType:
    """Raises SyntaxError with the cell's name and the line in the cell."""
    try:
        return compile(text, notebook.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        for cell, lines in notebook.cells():  # a cell's own fault is told as its own
            compile("".join(lines), notebook.file_of(cell), "exec", dont_inherit=True)
        place = notebook.place((error.lineno or 1) - 1)
        if place is not None:
            error.filename, error.lineno = notebook.file_of(place.cell), place.line + 1
        raise


def where(filename: str, line: int) -> dict[str, Any]:
    """`file` and `line` of a failure, `cell` of a notebook's; `line` from 0."""
    place = _running.place(line) if _running is not None and filename == _running.path else None
    if place is not None:
        return {"file": filename, "cell": place.cell, "line": place.line}
    name, _, cell = filename.rpartition(CELL)
    if _running is not None and name == _running.path and cell.isdigit():
        return {"file": name, "cell": int(cell), "line": line}
    return {"file": os.path.abspath(filename), "line": line}


def place_of(filename: str, line: int) -> str:
    """For a person: `train.py:31`, `train.ipynb cell 3, line 5`; `line` from 0."""
    place = _running.place(line) if _running is not None and filename == _running.path else None
    return f"{os.path.basename(filename)} {place}" if place is not None else f"{os.path.basename(filename)}:{line + 1}"


def _placed(notebook: Notebook, filename: str, line: int | None) -> tuple[str, int | None, int]:
    """The name and the line that a person knows, and by how much the line has changed."""
    place = notebook.place(line - 1) if filename == notebook.path and line else None
    if place is None or line is None:
        return filename, line, 0
    return notebook.file_of(place.cell), place.line + 1, line - place.line - 1


def _name_cells_in_tracebacks(notebook: Notebook) -> None:
    original = traceback.FrameSummary.__init__

    def __init__(summary: Any, filename: str, lineno: int | None, name: str, **more: Any) -> None:
        filename, lineno, back = _placed(notebook, filename, lineno)
        if back and more.get("end_lineno") is not None:
            more["end_lineno"] -= back
        original(summary, filename, lineno, name, **more)

    traceback.FrameSummary.__init__ = __init__  # type: ignore[assignment, method-assign]


def _name_cells_in_warnings(notebook: Notebook) -> None:
    original = warnings.formatwarning

    def formatwarning(message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
        named, at, _ = _placed(notebook, filename, lineno)
        return original(message, category, named, at or lineno, line)

    warnings.formatwarning = formatwarning
