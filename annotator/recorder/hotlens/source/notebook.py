"""A notebook as the script that its code cells make, from the top to the bottom.

Line 0 of the script is ours (an encoding, or the notebook's `from __future__` imports, which must come first); then come the code
cells, each from a line of its own. Cells count from 1, code cells only: after *Run All* Jupyter writes the same number beside a cell.
"""

from __future__ import annotations
import __future__

import bisect
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..process.report import RecorderError
from .magics import LeftOut, lines_of, without_magics

ENDING = ".ipynb"
CELL = " cell "  # between its name and a cell's number
HEADER = "# coding: utf-8\n"
MOST_BYTES = 256 << 20  # with the pictures of its outputs
MOST_TOLD = 3

# What is to be done where leaving it out is not all.
INSTEAD = {
    "%cd": "Use os.chdir",
    "%env": "Set it where you start hotlens, or with os.environ",
    "%set_env": "Set it where you start hotlens, or with os.environ",
    "%run": "Import the file",
    "%pip": "Packages are used as they are installed",
    "%conda": "Packages are used as they are installed",
    "%load": "Put the text into the cell",
    "%pylab": "Import numpy and matplotlib",
    "%%writefile": "The file is used as it is",
    "%%file": "The file is used as it is",
    "!": "The command is not run",
    "=": "What it gives is missing: the cell fails there",
}


@dataclass(frozen=True)
class Place:
    cell: int  # from 1
    line: int  # in the cell, from 0

    def __str__(self) -> str:
        return f"cell {self.cell}, line {self.line + 1}"


@dataclass
class Notebook:
    path: str
    text: bytes = b""
    starts: list[int] = field(default_factory=list)  # the script's line, from 0, at which each code cell begins
    left_out: list[tuple[int, LeftOut]] = field(default_factory=list)  # with the number of the cell

    def place(self, line: int) -> Place | None:
        """Of a line of the script, from 0; None for the one that is ours."""
        cell = bisect.bisect_right(self.starts, line)
        return Place(cell, line - self.starts[cell - 1]) if cell else None

    def file_of(self, cell: int) -> str:
        """What tracebacks call a cell."""
        return f"{self.path}{CELL}{cell}"

    def cells(self) -> Iterator[tuple[int, list[str]]]:
        """The number of each code cell, and its lines as they run."""
        lines = lines_of(self.text.decode())
        for cell, (start, end) in enumerate(zip(self.starts, [*self.starts[1:], len(lines)]), 1):
            yield cell, lines[start:end]

    def said(self) -> str | None:
        """A sentence about what was left out, with its places."""
        if not self.left_out:
            return None
        told = [f"`{_short(left.text)}` (cell {cell}, line {left.line + 1}){_instead(left)}" for cell, left in self.left_out[:MOST_TOLD]]
        more = len(self.left_out) - len(told)
        end = f"; and {more} more" if more else ""
        return f"what only IPython runs is left out of {os.path.basename(self.path)}: {'; '.join(told)}{end}"


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _instead(left: LeftOut) -> str:
    instead = INSTEAD.get(left.what)
    return f". {instead}" if instead else ""


def is_notebook(path: str) -> bool:
    return path.lower().endswith(ENDING)


def source_of(path: str) -> bytes:
    """The text of a script, or the script of a notebook. Raises OSError, RecorderError."""
    if is_notebook(path):
        return read(path).text
    with open(path, "rb") as file:
        return file.read()


def read(path: str) -> Notebook:
    """Raises RecorderError for a file that is no Python notebook with code, OSError where it cannot be read."""
    name = os.path.basename(path)
    if os.path.getsize(path) > MOST_BYTES:
        raise RecorderError(f"{name} has more than {MOST_BYTES >> 20} MB. Clear its outputs and save it")
    with open(path, "rb") as file:
        data = file.read()
    try:
        document = json.loads(data.decode("utf-8-sig")) if data.strip() else {"cells": []}
    except (ValueError, RecursionError) as error:
        raise RecorderError(f"{name} is no notebook: it is not JSON ({error}). Save it again from your editor") from error
    _check(name, document)
    sources = [_source(cell) for cell in _cells(document) if _is_code(cell)]
    if not sources:
        raise RecorderError(f"{name} has no code cell. Name a notebook that trains")
    return _joined(os.path.abspath(path), sources)


def _check(name: str, document: Any) -> None:
    if not isinstance(document, dict) or not isinstance(document.get("cells", document.get("worksheets")), list):
        raise RecorderError(f"{name} is no notebook: it has no list of cells. Name an .ipynb file that Jupyter or VS Code has saved")
    metadata = document.get("metadata")
    kernel = _text(metadata, "kernelspec", "language") or _text(metadata, "language_info", "name") or "python"
    if kernel.lower() not in ("python", "python3", "ipython"):
        raise RecorderError(f"{name} is a notebook for {kernel}. Hotlens runs Python notebooks only")


def _text(value: Any, *keys: str) -> str | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _cells(document: dict[str, Any]) -> list[Any]:
    """Up to version 3 of the format they lie in worksheets."""
    if isinstance(document.get("cells"), list):
        return list(document["cells"])
    sheets = [sheet for sheet in document["worksheets"] if isinstance(sheet, dict)]
    return [cell for sheet in sheets if isinstance(sheet.get("cells"), list) for cell in sheet["cells"]]


def _is_code(cell: Any) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") == "code"


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    parts = source if isinstance(source, list) else [source]
    return "".join(part for part in parts if isinstance(part, str))


def _joined(path: str, sources: list[str]) -> Notebook:
    notebook = Notebook(path)
    lines: list[str] = []
    futures: list[str] = []
    for number, source in enumerate(sources, 1):
        cell = without_magics(source)
        notebook.starts.append(1 + len(lines))
        notebook.left_out += [(number, left) for left in cell.left_out]
        lines += cell.lines
        futures += cell.futures
    known = [name for name in dict.fromkeys(futures) if name in __future__.all_feature_names]
    header = f"from __future__ import {', '.join(known)}\n" if known else HEADER
    notebook.text = (header + "".join(lines)).encode("utf-8", "replace")
    return notebook
