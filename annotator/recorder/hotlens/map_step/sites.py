"""Points of running code become sites: file numbers, 0-based lines, the exact expression or statement."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ..source.cell_names import running
from ..source.fetching import FOR_ITER
from ..source.frames import Files, Point, columns
from ..source.statements import Span, Statements, sha256, text_of
from ..storage.store import COPIES, write_copy

SCRIPT = ".py"  # behind the name of a notebook: its copy is the script that its cells make


@dataclass(frozen=True)
class Site:
    """`SITE` of FORMAT.md."""

    file: int
    line: int
    end_line: int
    column: int | None
    end_column: int | None
    function: str

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "end_line": self.end_line,
            "column": self.column,
            "end_column": self.end_column,
            "function": self.function,
        }


class Sites:
    """Numbers files in the order they are first named."""

    def __init__(self, files: Files, statements: Statements) -> None:
        self.files = files
        self.statements = statements
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def file(self, filename: str) -> int:
        number = self._numbers.get(filename)
        if number is None:
            number = self._numbers[filename] = len(self.names)
            self.names.append(filename)
        return number

    def add(self, names: list[str]) -> None:
        """Files in which no site needs to stand."""
        known = {os.path.abspath(name) for name in self.names}
        for name in names:
            if os.path.abspath(name) not in known:
                self.file(name)

    def expression(self, at: Point) -> Site:
        """The expression a frame stood at; the header of a loop where it was fetching the next item."""
        line, end_line, column, end_column = columns(at)
        if column is None or end_column is None:
            return Site(self.file(at.code.co_filename), line - 1, end_line - 1, None, None, at.function)
        fetches = at.code.co_code[at.lasti] == FOR_ITER
        span = self.statements.source(at.code.co_filename).header_of(Span(line, end_line, column, end_column), fetches)
        return self._site(at, span)

    def statement(self, at: Point) -> Site:
        """The whole statement around the expression."""
        line, _, column, _ = columns(at)
        span = self.statements.source(at.code.co_filename).statement(line, column)
        return self._site(at, span) if span is not None else self.expression(at)

    def class_header(self, filename: str, qualified: str, inside: int | None) -> Site | None:
        """The header of a class; `inside` is a line of one of its methods, for a file that has the name twice."""
        plain = qualified.replace(".<locals>", "")
        source = self.statements.source(filename)
        span = source.class_header(qualified, inside) or source.class_header(plain, inside)
        if span is None:
            return None
        return Site(self.file(filename), span.line - 1, span.end_line - 1, span.column, span.end_column, qualified)

    def _site(self, at: Point, span: Span) -> Site:
        return Site(self.file(at.code.co_filename), span.line - 1, span.end_line - 1, span.column, span.end_column, at.function)

    def rows(self, copy_to: str) -> list[dict[str, Any]]:
        """The `files` of model.json; writes the copies below `copy_to`."""
        return [self._row(i, name, copy_to) for i, name in enumerate(self.names)]

    def _row(self, number: int, filename: str, copy_to: str) -> dict[str, Any]:
        text = text_of(filename)
        notebook = running()
        cells = notebook.starts if notebook is not None and filename == notebook.path else None
        copy = None
        if text is not None:
            copy = f"{COPIES}/{number}-{_as_text(os.path.basename(filename))}{SCRIPT if cells is not None else ''}"
            write_copy(os.path.join(copy_to, copy), text, filename)
        row = {
            "path": os.path.abspath(filename),
            "sha256": sha256(text) if text is not None else None,
            "copy": copy,
            "workspace": self.files.in_workspace(filename),
        }
        return row if cells is None else {**row, "cells": cells}


def _as_text(name: str) -> str:
    """A name on the disk may be no text, and a bundle's files are named in JSON."""
    return name.encode("utf-8", "replace").decode()
