"""Source text as it was executed: statements by line, and the syntax node behind a position.

Texts are read when a file is first seen, close to its import, and kept: the copy in the bundle is what ran even when the
file is saved meanwhile.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

# A file larger than this is generated; it is not parsed and not copied.
MAX_SOURCE_BYTES = 4 << 20

_texts: dict[str, bytes | None] = {}


def below(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """All nodes that are not inside an expression, outer ones first, each with what stands before a name in its `__qualname__`."""
    waiting = [(child, "") for child in reversed(list(ast.iter_child_nodes(tree)))]
    while waiting:
        node, prefix = waiting.pop()
        yield node, prefix
        if isinstance(node, ast.ClassDef):
            prefix += f"{node.name}."
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            prefix += f"{node.name}.<locals>."
        if not isinstance(node, ast.expr):
            waiting += [(child, prefix) for child in reversed(list(ast.iter_child_nodes(node)))]


def text_of(filename: str) -> bytes | None:
    """The bytes of a source file at first sight; None where there is no such file or it is too large."""
    if filename not in _texts:
        try:
            if os.path.getsize(filename) > MAX_SOURCE_BYTES:
                raise OSError("too large")
            with open(filename, "rb") as file:
                _texts[filename] = file.read()
        except OSError:
            _texts[filename] = None
    return _texts[filename]


def keep_text(filename: str, text: bytes) -> None:
    """Of a script that is not the file's own bytes: a notebook's."""
    _texts[filename] = text


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Span(NamedTuple):
    """A range of source: lines 1-based, columns in UTF-8 bytes, both ends as `ast` has them."""

    line: int
    end_line: int
    column: int
    end_column: int


def _span(node: ast.AST, end: ast.AST | None = None) -> Span:
    last = end or node
    return Span(
        getattr(node, "lineno", 0), getattr(last, "end_lineno", 0), getattr(node, "col_offset", 0), getattr(last, "end_col_offset", 0)
    )


def _header(node: ast.stmt) -> Span:
    """The first line or lines of a compound statement, without its body; a simple statement whole."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return _span(node, node.iter)
    if isinstance(node, (ast.While, ast.If)):
        return _span(node, node.test)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        item = node.items[-1]
        return _span(node, item.optional_vars or item.context_expr)
    if isinstance(node, ast.ClassDef):
        ends: list[ast.AST] = [*node.bases, *(k.value for k in node.keywords)]
        if ends:
            span = _span(node, ends[-1])
            return span._replace(end_column=span.end_column + 1)  # the closing parenthesis
        return Span(node.lineno, node.lineno, node.col_offset, node.col_offset + len(f"class {node.name}".encode()))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Try)):
        return Span(node.lineno, node.lineno, node.col_offset, node.col_offset + 1)
    return _span(node)


class Source:
    """One parsed file."""

    def __init__(self, filename: str) -> None:
        self.text = text_of(filename)
        self._statements: list[tuple[Span, ast.stmt]] = []
        self._first: dict[int, int] = {}
        self._classes: dict[str, list[ast.ClassDef]] = {}
        self._loops: list[tuple[int, int]] = []  # first line, last line; outer ones before inner ones
        self._functions: list[tuple[int, int, str]] = []  # first line, last line, qualified name; outer ones before inner ones
        self._nexts: set[Span] | None = None
        self.tree: ast.Module | None = None
        try:
            self.tree = ast.parse(self.text) if self.text is not None else None
        except (SyntaxError, ValueError, RecursionError):
            return
        for node, prefix in below(self.tree) if self.tree is not None else ():
            if isinstance(node, ast.stmt):
                self._add_statement(node)
            if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                self._loops.append((node.lineno, node.end_lineno or node.lineno))
            if isinstance(node, ast.ClassDef):
                self._classes.setdefault(prefix + node.name, []).append(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._functions.append((node.lineno, node.end_lineno or node.lineno, prefix + node.name))

    def _add_statement(self, node: ast.stmt) -> None:
        span = _header(node)
        self._statements.append((span, node))
        for line in range(span.line, span.end_line + 1):
            self._first.setdefault(line, span.line)

    def first_line(self, line: int) -> int:
        """The first line of the statement (or of the header) a line belongs to."""
        return self._first.get(line, line)

    def statement(self, line: int, column: int | None) -> Span | None:
        """The smallest statement, or header of a compound one, around a place."""
        best: Span | None = None
        for span, _ in self._statements:
            inside = span.line <= line <= span.end_line
            if inside and column is not None:
                inside = (span.line, span.column) <= (line, column) < (span.end_line, span.end_column)
            if inside and (best is None or (span.line, span.column) >= (best.line, best.column)):
                best = span
        return best

    def function_at(self, line: int) -> str | None:
        """The qualified name of the innermost function around a line."""
        return next((name for first, last, name in reversed(self._functions) if first <= line <= last), None)

    def calls_of_next(self) -> set[Span]:
        """Where `next(...)` is called, Python's own by its name."""
        if self._nexts is None:
            calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call)] if self.tree is not None else []
            self._nexts = {_span(n) for n in calls if isinstance(n.func, ast.Name) and n.func.id == "next"}
        return self._nexts

    def loops_around(self, line: int) -> list[tuple[int, int]]:
        """First and last lines of the loops around a line that belong to its function, the innermost first."""
        function = max((first for first, last, _ in self._functions if first <= line <= last), default=0)
        return [loop for loop in reversed(self._loops) if function <= loop[0] <= line <= loop[1]]

    def header_of(self, span: Span, fetches: bool) -> Span:
        """Python gives a loop that `fetches` its next item the place of the whole statement, or from 3.13 on that of what it goes through:
        its header is what is meant."""
        for header, node in self._statements:
            if _span(node) == span and header != span:
                return header
            if fetches and isinstance(node, (ast.For, ast.AsyncFor)) and _span(node.iter) == span:
                return header
        return span

    def class_header(self, qualified: str, inside: int | None) -> Span | None:
        """The header of a class; of several with the name the one around the line `inside`, none where that does not tell."""
        nodes = self._classes.get(qualified, [])
        if len(nodes) > 1:
            nodes = [n for n in nodes if inside is not None and n.lineno <= inside <= (n.end_lineno or n.lineno)]
        return _header(nodes[0]) if len(nodes) == 1 else None


class Statements:
    """Parsed files by name."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}

    def source(self, filename: str) -> Source:
        known = self._sources.get(filename)
        if known is None:
            known = self._sources[filename] = Source(filename)
        return known

    def first_line(self, filename: str, line: int) -> int:
        return self.source(filename).first_line(line)
