"""Clocks for Python 3.9 to 3.11: the file is compiled again, in memory, with a mark before each statement that has a clock.

File name, lines and names are those of the file, so tracebacks, `inspect` and breakpoints are as before. A mark is `clock.count(n)` with
the clock as a constant of the code: no name is added to the script's. Nothing is written, no cached bytecode is touched.
"""

from __future__ import annotations

import ast
import warnings
from types import CodeType
from typing import Any, Callable

from ..source.leading import FUNCTIONS, LOOPS, WORDS, Function, Leading, own_nodes
from ..source.statements import below
from .plan import Marker, Plan

PLACE = "\0hotlens clock {}\0"  # a constant that no source text holds, until the clock takes its place


def plans_of(text: bytes, filename: str, whole: bool) -> tuple[ast.Module, list[Plan]] | None:
    """The file's tree with marks, and a plan for each function that has them; `whole`: the top level has them in any case. None: nothing to
    mark, or nothing that can be parsed."""
    if not whole and not WORDS.search(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the text: they are given as it is compiled for the script
            tree = ast.parse(text, filename)
    except (SyntaxError, ValueError, RecursionError):
        return None
    plans: list[Plan] = []
    leading = Leading(tree)
    # Before marks are put in: two classes may have a method of one name.
    functions, names = leading.functions(), {f: prefix + f.name for f, prefix in below(tree) if isinstance(f, FUNCTIONS)}
    top = whole or any(isinstance(n, LOOPS) and leading.leads(n) for n in tree.body)
    for function in functions:
        line = function.decorator_list[0].lineno if function.decorator_list else function.lineno
        _mark_function(function, _marker(plans, leading, names[function], line))
    if top:
        tree.body = _marker(plans, leading, "<module>").body(tree.body)
    return (tree, plans) if plans else None


def marked(text: bytes, filename: str, whole: bool, new_clock: Callable[[Plan], Any]) -> CodeType | None:
    """The file's code with clocks in it; None where there is nothing to mark."""
    found = plans_of(text, filename, whole)
    if found is None:
        return None
    tree, plans = found
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = compile(tree, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _with_clocks(code, {PLACE.format(i): new_clock(plan) for i, plan in enumerate(plans)})


def _marker(plans: list[Plan], leading: Leading, function: str, line: int = 1) -> Marker:
    place = PLACE.format(len(plans))
    plans.append(Plan(function, line))

    def mark(number: int) -> ast.expr:
        return ast.Call(ast.Attribute(ast.Constant(place), "count", ast.Load()), [ast.Constant(number)], [])

    return Marker(plans[-1], mark, leading.leads, leading.trains)


def _mark_function(function: Function, marker: Marker) -> None:
    docstring = [n for n in function.body[:1] if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    body = function.body[len(docstring) :]
    marker.plan.suspends = any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes(function))
    if body:
        function.body = [*docstring, marker.until_left(body)]


def _with_clocks(code: CodeType, clocks: dict[str, Any]) -> CodeType:
    def changed(constant: Any) -> Any:
        if isinstance(constant, CodeType):
            return _with_clocks(constant, clocks)
        return clocks.get(constant, constant) if isinstance(constant, str) else constant

    return code.replace(co_consts=tuple(changed(c) for c in code.co_consts))
