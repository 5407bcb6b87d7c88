"""The statements of a function, or of a file's top level, with the numbers under which a clock counts them.

Statements do not overlap: a compound one has its header alone (the test of an `if`, the fetch of a `for`, what a `with` enters and leaves),
its inner ones have their own numbers. A loop that leads to no update is one statement, whole. `mark_body` puts marks between statements as
it numbers them; who needs only the numbers leaves its result.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from typing import Any, Callable

from ..source.leading import FUNCTIONS, LOOPS

NOTHING = 0  # the number under which time is counted that belongs to no statement
# A mark here is for a clock only: no debugger and no coverage shall see a line. Python 3.9 has no way to say so.
NOWHERE = -1
CAN_BE_NOWHERE = sys.version_info >= (3, 10)


Branches = tuple[tuple[int, str], ...]  # of each `if` around a statement: its line, and which of its two bodies


@dataclass(frozen=True)
class Statement:
    loop: int  # the innermost loop that leads to an update, by number; -1: none in this function
    kind: str  # for, while, if, with, statement; loop: one that leads to no update
    line: int  # 1-based
    end_line: int  # of the header where the statement is compound
    column: int  # UTF-8 bytes
    last_line: int  # that counts for it: of a `loop` the end of its body
    expected: bool  # work that a long training does now and then: not what handles an error, not what begins or ends a loop
    trains: bool = False  # it makes updates, as far as its text tells
    branches: Branches = ()
    every: int = 0  # an `if` around it has it run every so many steps, as far as its text tells; 0: it does not tell


@dataclass(frozen=True)
class Loop:
    parent: int
    kind: str  # for, while
    line: int
    end_line: int  # of the whole loop


@dataclass
class Plan:
    """Statement 0 is none; `same` has the statement of a number that stands for a later part of one."""

    function: str  # its qualified name
    line: int = 0  # where its code begins, with its decorators
    statements: list[Statement | None] = field(default_factory=lambda: [None])
    loops: list[Loop] = field(default_factory=list)
    same: dict[int, int] = field(default_factory=dict)
    suspends: bool = False  # a generator or a coroutine: it is left and entered again within one call

    def add(self, statement: Statement) -> int:
        self.statements.append(statement)
        return len(self.statements) - 1

    def follows(self, number: int, running: Statement) -> bool:
        """The statement, in no loop but its own, runs after `running` and not instead of it."""
        statement = self.statements[number]
        if statement is None or statement.line <= running.last_line:
            return False
        alone = statement.loop < 0 or (statement.kind in ("for", "while") and self.loops[statement.loop].parent < 0)
        return alone and all(dict(running.branches).get(line, body) == body for line, body in statement.branches)

    def again(self, number: int) -> int:
        """A number for the rest of a statement, which is no further execution of it."""
        self.statements.append(None)
        self.same[len(self.statements) - 1] = number
        return len(self.statements) - 1


Mark = Callable[[int], ast.expr]  # the call of the clock for a number


class Marker:
    """Marks the statements of one function."""

    def __init__(self, plan: Plan, mark: Mark, leads: Callable[[ast.AST], bool], trains: Callable[[ast.stmt], bool]) -> None:
        self.plan = plan
        self._mark = mark
        self._leads = leads
        self._trains = trains
        self._branches: Branches = ()
        self._every = 0
        self._loops = [-1]
        self._headers: list[int] = []
        self._expected = True

    def body(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        return [marked for node in nodes for marked in self._statement(node)]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.Pass)) or _stays_first(node):
            return [node]
        if isinstance(node, LOOPS) and self._leads(node):
            return self._loop(node)
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self._bodies(node)
            return [node]
        number = self._number(node, "loop" if isinstance(node, LOOPS) else _kind(node))
        before = self._at(number, node)
        if isinstance(node, ast.Continue):
            return [before, self._at(self._headers[-1], node), node] if self._headers else [before, node]
        if not isinstance(node, (*LOOPS, *FUNCTIONS, ast.ClassDef)):
            self._bodies(node)
            if isinstance(node, (ast.With, ast.AsyncWith)):
                node.body.append(self._at(self.plan.again(number), node))
        return [before, _without_consumer(node, self._mark(NOTHING))]

    def _loop(self, node: Any) -> list[ast.stmt]:
        self.plan.loops.append(Loop(self._loops[-1], _kind(node), node.lineno, node.end_lineno))
        self._loops.append(len(self.plan.loops) - 1)
        number = self._number(node, _kind(node))
        self._headers.append(number)
        node.body = [*self.body(node.body), self._at(number, node)]
        self._headers.pop()
        self._loops.pop()
        node.orelse = self.body(node.orelse)
        return [self._at(number, node), _without_consumer(node, self._mark(NOTHING))]

    def _number(self, node: Any, kind: str) -> int:
        end = _header_end(node)
        last = int(node.end_lineno) if kind == "loop" else end
        turns = (ast.Raise, ast.Break, ast.Return, ast.Continue)
        expected = self._expected and kind not in ("for", "while") and not isinstance(node, turns)
        whole = isinstance(node, LOOPS) or not isinstance(getattr(node, "body", None), list)  # its inner statements have no numbers
        trains = whole and self._trains(node)
        statement = Statement(self._loops[-1], kind, node.lineno, end, node.col_offset, last, expected, trains, self._branches, self._every)
        return self.plan.add(statement)

    def _bodies(self, node: Any) -> None:
        branches, every = self._branches, self._every
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, name, None), list):
                if isinstance(node, ast.If):
                    self._branches = (*branches, (node.lineno, name))
                    self._every = max(every, _rhythm(node.test)) if name == "body" else every
                setattr(node, name, self.body(getattr(node, name)))
        self._branches, self._every = branches, every
        for case in getattr(node, "cases", ()):
            case.body = self.body(case.body)
        expected, self._expected = self._expected, False
        for handler in getattr(node, "handlers", ()):
            handler.body = self.body(handler.body)
        self._expected = expected

    def until_left(self, nodes: list[ast.stmt]) -> ast.stmt:
        """The body of a function: its clock is off when it is left, however that is."""
        last = self._at(NOTHING, nodes[-1])
        first = next((n for n in nodes if not isinstance(n, (ast.Global, ast.Nonlocal))), nodes[-1])
        return ast.copy_location(ast.Try(self.body(nodes), [], [], [last]), first)

    def _at(self, number: int, node: ast.stmt) -> ast.stmt:
        return _placed(self._mark(number), node)


def _placed(call: ast.expr, node: ast.stmt) -> ast.stmt:
    statement = ast.Expr(call)
    line, column = (NOWHERE, NOWHERE) if CAN_BE_NOWHERE else (node.lineno, node.col_offset)
    for inner in ast.walk(statement):
        if isinstance(inner, (ast.expr, ast.stmt)):
            inner.lineno = inner.end_lineno = line
            inner.col_offset = inner.end_col_offset = column
    return statement


def _stays_first(node: ast.stmt) -> bool:
    """A docstring and `from __future__` come before everything else; other constants by themselves take no time."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _rhythm(test: ast.expr) -> int:
    """12 of `step % 12 == 0`, `not step % 12`, `step and step % 12 == 0`; 0 of anything else."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return max(_rhythm(part) for part in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        rest = test.operand
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        rest = test.left
    else:
        return 0
    if not isinstance(rest, ast.BinOp) or not isinstance(rest.op, ast.Mod) or not isinstance(rest.right, ast.Constant):
        return 0
    return rest.right.value if type(rest.right.value) is int and rest.right.value > 1 else 0


def _kind(node: ast.stmt) -> str:
    if isinstance(node, LOOPS):
        return "while" if isinstance(node, ast.While) else "for"
    if isinstance(node, ast.If):
        return "if"
    return "with" if isinstance(node, (ast.With, ast.AsyncWith)) else "statement"


def _header_end(node: Any) -> int:
    """The last line of what a statement's own number counts; of a loop without inner numbers its header, too: that is where it is shown."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter.end_lineno or node.lineno
    if isinstance(node, (ast.While, ast.If)):
        return node.test.end_lineno or node.lineno
    if isinstance(node, (ast.With, ast.AsyncWith)):
        last = node.items[-1]
        return (last.optional_vars or last.context_expr).end_lineno or node.lineno
    if type(node).__name__ == "Match":
        return int(node.subject.end_lineno)
    return int(node.lineno if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else node.end_lineno)


class _Yields(ast.NodeTransformer):
    """While a generator waits for its consumer the clock is off: `yield v` becomes `yield (v, off)[0]`."""

    def __init__(self, off: ast.expr) -> None:
        self._off = off

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        self.generic_visit(node)
        node.value = self._then_off(node.value or ast.Constant(None), node)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        node.value = self._then_off(node.value, node)
        return node

    def _then_off(self, value: ast.expr, node: ast.expr) -> ast.expr:
        pair = ast.Tuple([value, self._off], ast.Load())
        return _located(ast.Subscript(pair, ast.Constant(0), ast.Load()), node)

    def _skip(self, node: ast.AST) -> ast.AST:
        return node

    visit_Lambda = visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _skip


def _located(node: ast.expr, like: ast.expr) -> ast.expr:
    for inner in ast.walk(node):
        if isinstance(inner, ast.expr) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, like)
    return node


def _without_consumer(node: ast.stmt, off: ast.expr) -> ast.stmt:
    """Yields in the statement's own expressions; its inner statements have had their turn."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            setattr(node, name, _Yields(off).visit(value))
    return node
