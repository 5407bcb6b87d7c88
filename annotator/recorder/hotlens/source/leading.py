"""Which loops and functions of a file may lead to an update, as far as their text tells.

A guess that may be too wide: what is taken in by mistake costs some clock readings. What the run shows (loop/clocks.py) decides.
Names are followed within the file; a function of another file is known by a name that says so (`train_epoch`, `fit`).
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A file without any of these words has no loop of interest; most files are passed over without being parsed.
WORDS = re.compile(rb"step|backward|fit|train|learn|optimi[sz]e|minimi[sz]e|epoch|no_grad|inference_mode|generate|autograd|CUDAGraph")
SPEAKING = re.compile(r"(^|_)(train|training|fit|learn|optimi[sz]e|epoch|step|backward|minimi[sz]e|generate)($|_)")
# The same, of what trains beyond doubt where it is called: not `plot_training`, not `generate`.
TRAINS = re.compile(r"(train|pretrain|fit|learn|finetune|fine_tune|optimi[sz]e|minimi[sz]e)($|_)")
# Names that speak of training and are none: a switch of mode, a split of data.
MISLEADING = ("train", "step", "train_test_split")
GRAPH = re.compile(r"graph$|Graph$|^g$")
WITHOUT_GRADIENTS = ("no_grad", "inference_mode", "set_grad_enabled")
# What makes a function into one that gives gradients: of torch.func, and of the same names elsewhere.
GRADIENTS_OF = ("grad", "grad_and_value", "value_and_grad", "vjp")
# What a package's loop calls of the script: methods of these classes, and functions handed over by these names. They run once a batch or
# more rarely, so that a clock in them costs nothing; a step of an environment, which runs more often, does much more than a clock.
CALLED_BY_LOOPS = re.compile(r"(Trainer|Callbacks?|LightningModule|Learner|Env|EnvBase|Wrapper)$")
HANDED_TO_LOOPS = re.compile(r"collat|^compute_|callback|hook|metric")
COMPILERS = re.compile(r"compile|script|jit|trace|export|make_graphed_callables|checkpoint|vmap|njit")


class Leading:
    """Of one parsed file."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions = list(_functions(tree))
        self._names: set[str] = set()
        self._compiled = _compiled_names(tree)
        # Called by name alone: `update` of an average of weights is also what a dictionary has.
        self._runs_models = {f.name for f in tree.body if isinstance(f, FUNCTIONS) and _has_no_gradients(f)}
        classes = [c for c in ast.walk(tree) if isinstance(c, ast.ClassDef)]
        self._called_by_loops = _called_by_loops(tree, classes)
        self._models = {id(f) for c in classes for f in _methods_of_model(c)}
        self._without_gradients = {id(loop) for node in ast.walk(tree) for loop in _loops_without_gradients(node)}
        self._without_gradients |= {id(loop) for f in self._run_without_gradients(tree) for loop in _outermost_loops_of(f)}
        self._made = [n for n in ast.walk(tree) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
        self._spread()

    def functions(self) -> list[Function]:
        """Those whose statements are worth a clock."""
        return [f for f in self._functions if id(f) in self._called_by_loops or (self._may_be_marked(f) and self.leads(f))]

    def leads(self, node: ast.AST) -> bool:
        """A loop or a function: something in it may lead to an update, or it runs models without gradients."""
        if isinstance(node, FUNCTIONS) and _decorated_without_gradients(node):
            return any(isinstance(n, (*LOOPS, ast.comprehension)) for n in own_nodes(node))
        if isinstance(node, FUNCTIONS) and any(id(loop) in self._without_gradients for loop in _outermost_loops_of(node)):
            return True
        return id(node) in self._without_gradients or self._updates(node) or _enters_without_gradients(node)

    def trains(self, node: ast.stmt) -> bool:
        """A statement that makes updates, as far as its text tells: none that only computes without gradients."""
        return any(isinstance(n, ast.Call) and self._trains(n) for n in own_nodes(node))

    def _trains(self, call: ast.Call) -> bool:
        name = _last_name(call)
        if _is_update_itself(call, name) or (name in self._names and name not in self._runs_models):
            return True
        if name == "train":
            return isinstance(call.func, ast.Name) or _receiver_name(call).endswith("trainer")
        return name not in MISLEADING and TRAINS.match(name) is not None

    def _run_without_gradients(self, tree: ast.Module) -> list[Function]:
        """Functions that such loops call by name, or each other, with a loop of their own that calls a model: `decode(prompt)`."""
        known = {n.name for n in ast.walk(tree) if isinstance(n, (*FUNCTIONS, ast.ClassDef))} | set(dir(builtins))
        known |= {
            (a.asname or a.name).partition(".")[0] for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names
        }
        models = {f.name: f for f in self._functions if any(_calls_a_variable(loop, known) for loop in _outermost_loops_of(f))}
        found: dict[str, Function] = {}
        callers = [loop for loop in ast.walk(tree) if id(loop) in self._without_gradients]
        while callers:
            called = {n.func.id for loop in callers for n in own_nodes(loop) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
            new = {name: models[name] for name in called & models.keys() - found.keys()}
            found.update(new)
            callers = list(new.values())
        return list(found.values())

    def _spread(self) -> None:
        """Whoever calls a leading function of this file by name leads, too."""
        found = True
        while found:
            made = {_last_name(n.targets[0]) for n in self._made if self._makes_leading(n.value)} - self._names - {""}
            self._names |= made
            found = bool(made)
            for function in self._functions:
                if (
                    function.name not in self._names
                    and function.name not in ("forward", "__init__", "__call__")
                    and self._updates(function)
                ):
                    self._names.add(function.name)
                    found = True

    def _makes_leading(self, made: ast.expr) -> bool:
        """`vmap(grad_and_value(loss_of))`, `partial(train_step, model)`: a function that leads, made from another."""
        if not isinstance(made, ast.Call):
            return _last_name(made) in self._names
        if _last_name(made) in self._names:
            return False  # its result is no function
        return _last_name(made) in GRADIENTS_OF or any(self._makes_leading(a) for a in made.args)

    def _updates(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Call) and self._is_update(n) for n in own_nodes(node))

    def _is_update(self, call: ast.Call) -> bool:
        name = _last_name(call)
        if _is_update_itself(call, name) or name in self._names:
            return True
        if isinstance(call.func, ast.Name) and name in self._runs_models:
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
        return any(isinstance(n, ast.Call) and _is_update_of_model(n) for n in own_nodes(function))


def _called_by_loops(tree: ast.Module, classes: list[ast.ClassDef]) -> set[int]:
    """Functions of the script that a package's loop calls between updates. Not where a compiler may take them up."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    if any(_last_name(call) == "compile" for call in calls):
        return set()
    names = {_last_name(k.value) for call in calls for k in call.keywords if k.arg is not None and HANDED_TO_LOOPS.search(k.arg)}
    handed = {id(n) for n in tree.body if isinstance(n, FUNCTIONS) and n.name in names}
    methods = (m for c in classes if any(CALLED_BY_LOOPS.search(_last_name(b)) for b in c.bases) for m in c.body)
    return handed | {id(m) for m in methods if isinstance(m, FUNCTIONS) and m.name != "forward" and not m.name.startswith("__")}


def _loops_without_gradients(node: ast.AST) -> Iterator[ast.AST]:
    """The outermost loops in `with torch.no_grad():`, or in a function that is decorated so; an inner one may run a million times."""
    headers: list[ast.AST] = []
    if isinstance(node, (ast.With, ast.AsyncWith)):
        headers = [item.context_expr for item in node.items]
    elif isinstance(node, FUNCTIONS):
        headers = list(node.decorator_list)
    if any(_last_name(header) in WITHOUT_GRADIENTS for header in headers):
        yield from (inner for statement in getattr(node, "body", ()) for inner in _outermost_loops(statement))


def _has_no_gradients(function: Function) -> bool:
    return _decorated_without_gradients(function) or _enters_without_gradients(function)


def _decorated_without_gradients(function: Function) -> bool:
    return any(_last_name(d) in WITHOUT_GRADIENTS for d in function.decorator_list)


def _enters_without_gradients(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) and _last_name(n) in WITHOUT_GRADIENTS for n in own_nodes(node))


def _outermost_loops_of(function: Function) -> Iterator[ast.AST]:
    return (loop for statement in function.body for loop in _outermost_loops(statement))


def _calls_a_variable(loop: ast.AST, known: set[str]) -> bool:
    """`net(x)`, `self.model(x)`: neither a function or class of the file, nor what it imports, nor Python's own."""
    for node in own_nodes(loop):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Name) and function.id not in known:
            return True
        if isinstance(function, ast.Attribute) and _last_name(function.value) == "self" and function.attr not in known:
            return True
    return False


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
    if name == "replay":  # of a CUDA graph, which may hold a step; not of a buffer of experience, `agent.replay(batch_size)`
        return not call.args and not call.keywords and GRAPH.search(_receiver_name(call)) is not None
    return name in ("backward", "grad_and_value", "value_and_grad") or name.endswith("_backward")


def _is_update_of_model(call: ast.Call) -> bool:
    """In a method of a model, which a compiler may take with the model: `self.step(x)` is a part of the network there."""
    name = _last_name(call)
    return name.endswith("backward") or (name == "step" and re.search("opt|scaler", _receiver_name(call)) is not None)


def _functions(node: ast.AST) -> Iterator[Function]:
    for child in ast.walk(node):
        if isinstance(child, FUNCTIONS):
            yield child


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Of what runs with the node: functions and classes that are only defined in it run elsewhere."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from own_nodes(child)


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
