"""Which loops and functions of a file may lead to an update, as far as their text tells.

A guess that may be too wide: what is taken in by mistake costs some clock readings. What the run shows (clocks.py) decides what is said.
Names are followed within the file; a function of another file is known by a name that says so (`train_epoch`, `fit`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A file without any of these words has no loop of interest; most files are passed over without being parsed.
WORDS = re.compile(rb"step|backward|fit|train|learn|optimi[sz]e|minimi[sz]e|epoch|no_grad|inference_mode|generate|autograd")
SPEAKING = re.compile(r"(^|_)(train|training|fit|learn|optimi[sz]e|epoch|step|backward|minimi[sz]e|generate)($|_)")
# Names that speak of training and are none: a switch of mode, a split of data.
MISLEADING = ("train", "step", "train_test_split")
WITHOUT_GRADIENTS = ("no_grad", "inference_mode", "set_grad_enabled")
COMPILERS = re.compile(r"compile|script|jit|trace|export|make_graphed_callables|checkpoint|vmap|njit")


class Leading:
    """Of one parsed file."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions = list(_functions(tree))
        self._names: set[str] = set()
        self._compiled = _compiled_names(tree)
        self._models = {id(f) for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for f in _methods_of_model(c)}
        self._without_gradients = {id(loop) for node in ast.walk(tree) for loop in _loops_without_gradients(node)}
        self._spread()

    def functions(self) -> list[Function]:
        """Those whose statements are worth a clock."""
        return [f for f in self._functions if self._may_be_marked(f) and self.leads(f)]

    def leads(self, node: ast.AST) -> bool:
        """A loop or a function: something in it may lead to an update, or it runs models without gradients."""
        if isinstance(node, FUNCTIONS) and any(_last_name(d) in WITHOUT_GRADIENTS for d in node.decorator_list):
            return any(isinstance(n, LOOPS) for n in _own_nodes(node))
        if id(node) in self._without_gradients:
            return True
        return any(isinstance(n, ast.Call) and (self._is_update(n) or _last_name(n) in WITHOUT_GRADIENTS) for n in _own_nodes(node))

    def _spread(self) -> None:
        """Whoever calls a leading function of this file by name leads, too."""
        found = True
        while found:
            found = False
            for function in self._functions:
                if (
                    function.name not in self._names
                    and function.name not in ("forward", "__init__", "__call__")
                    and self._updates(function)
                ):
                    self._names.add(function.name)
                    found = True

    def _updates(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Call) and self._is_update(n) for n in _own_nodes(node))

    def _is_update(self, call: ast.Call) -> bool:
        name = _last_name(call)
        if _is_update_itself(call, name) or name in self._names:
            return True
        if name == "train":
            return _receiver_name(call).endswith("trainer")
        return name not in MISLEADING and SPEAKING.search(name) is not None

    def _may_be_marked(self, function: Function) -> bool:
        """A compiler takes up what it compiles as it is: a clock in there would be part of it, or stop it."""
        if function.name in self._compiled or any(COMPILERS.search(_dotted(d)) for d in function.decorator_list):
            return False
        if id(function) not in self._models:
            return True
        return any(isinstance(n, ast.Call) and _is_update_of_model(n) for n in _own_nodes(function))


def _loops_without_gradients(node: ast.AST) -> Iterator[ast.AST]:
    """The outermost loops in `with torch.no_grad():`; an inner one may run a million times."""
    if isinstance(node, (ast.With, ast.AsyncWith)) and any(_last_name(item.context_expr) in WITHOUT_GRADIENTS for item in node.items):
        yield from (inner for statement in node.body for inner in _outermost_loops(statement))


def _outermost_loops(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, LOOPS):
        yield node
    elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        for child in ast.iter_child_nodes(node):
            yield from _outermost_loops(child)


def _is_update_itself(call: ast.Call, name: str) -> bool:
    """`loss.backward()`, `optimizer.step()`, `scaler.step(optimizer)`; a scheduler of noise or a cell of a network has more arguments."""
    if name == "step":
        return isinstance(call.func, ast.Attribute) and len(call.args) + len(call.keywords) <= 1
    if name == "grad":
        return isinstance(call.func, ast.Name) or _receiver_name(call) in ("autograd", "func")
    return name == "backward" or name.endswith("_backward")


def _is_update_of_model(call: ast.Call) -> bool:
    """In a method of a model, which a compiler may take with the model: `self.step(x)` is a part of the network there."""
    name = _last_name(call)
    return name.endswith("backward") or (name == "step" and re.search("opt|scaler", _receiver_name(call)) is not None)


def _functions(node: ast.AST) -> Iterator[Function]:
    for child in ast.walk(node):
        if isinstance(child, FUNCTIONS):
            yield child


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Of what runs with the node: functions and classes that are only defined in it run elsewhere."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def _methods_of_model(node: ast.ClassDef) -> list[Function]:
    methods = [m for m in node.body if isinstance(m, FUNCTIONS)]
    return methods if any(m.name == "forward" for m in methods) else []


def _compiled_names(tree: ast.Module) -> set[str]:
    """Of what is handed to a compiler by name."""
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and COMPILERS.search(_last_name(n)))
    return {_last_name(a) for call in calls for a in call.args}


def _last_name(node: ast.AST) -> str:
    """`c` of `a.b.c` and of a call of it."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _receiver_name(call: ast.Call) -> str:
    return _last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _dotted(node: ast.AST) -> str:
    return ".".join(n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node) if isinstance(n, (ast.Attribute, ast.Name)))
