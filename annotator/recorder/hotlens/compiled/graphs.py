"""Copies of the graphs that torch.compile hands to Inductor: operators in order, each with the modules and the lines of source it is of.

A copy is taken as Inductor is called, cached code or not, and costs no more than the graph itself; tensors are not kept, only their shapes.
Which nodes a kernel computes is found out later, when no step is timed (`provenance`). Private to torch: where its names are others, there
are no graphs, and compiled code stays one piece.
"""

from __future__ import annotations

import contextlib
import copy
import re
import sys
import weakref
from dataclasses import dataclass, field
from typing import Any

from ..listening.patches import Method, Patches

COMPILE_FX = "torch._inductor.compile_fx"
MOST = 200  # graphs; whoever has more compiles again and again
Stack = tuple[tuple[str, str], ...]  # path and class of the modules around a node, the outermost first: ("self.blocks.0", "Block")
OWN = "self"  # how paths of the module begin that runs the graph

_STEP = re.compile(r"\._modules\['([^']*)'\]|\['([^']*)'\]|\[(\d+)\]")
_ROOT = re.compile(r"^([LG])\['([^']*)'\]")


@dataclass
class Graph:
    module: Any  # torch.fx.GraphModule
    inputs: list[Any]  # of Dynamo's fake tensors
    options: dict[str, Any]  # what compile_fx was called with beside
    gradients: bool
    autocast: Any = None  # the type of the CPU's autocast while it was compiled
    owners: dict[str, Any] = field(default_factory=dict)  # by path of a module: a weak reference to a parameter of it


def readable_path(path: str) -> str:
    """ "self.blocks.0" of "L['self']._modules['blocks']._modules['0']" and of "L['self'].blocks[0]"."""
    root = _ROOT.match(path)
    if root is None:
        return path
    kind, name = root.groups()
    start = name if kind == "L" else f"{kind}:{name}"  # a global is no argument of the same name
    return start + _STEP.sub(lambda step: "." + next(part for part in step.groups() if part is not None), path[root.end() :])


def stack_of(node: Any) -> Stack | None:
    """Of a node of forward, or of the forward whose backward it is; None where nobody knows."""
    meta = node.meta
    around = meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack")
    if around:
        return tuple((readable_path(str(path)), getattr(cls, "__name__", str(cls))) for path, cls in around.values())
    return () if meta.get("stack_trace") else None


class Graphs:
    """`watch` once torch.compile is used; `leave` when no graph is waited for any more."""

    def __init__(self) -> None:
        self.rows: list[Graph] = []
        self.fault: str | None = None
        self._patches = Patches()
        self._watching = False
        self._depth = 0  # compile_fx calls itself

    def watch(self) -> None:
        if self._watching or COMPILE_FX not in sys.modules:
            return
        with contextlib.suppress(AttributeError):
            self._patches.put(sys.modules[COMPILE_FX], "compile_fx", self._copying)
            self._watching = True

    def leave(self) -> None:
        self._patches.take_back()
        self._watching = False

    def _copying(self, compile_fx: Method) -> Method:
        def compiling(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            if self._depth == 0 and len(self.rows) < MOST:
                self._copy(model, inputs, kwargs)
            self._depth += 1
            try:
                return compile_fx(model, inputs, *args, **kwargs)
            finally:
                self._depth -= 1

        return compiling

    def _copy(self, model: Any, inputs: Any, options: dict[str, Any]) -> None:
        try:
            self.rows.append(copied(model, inputs, options))
        except Exception as fault:
            self.fault = self.fault or f"{type(fault).__name__}: {fault}"


def copied(model: Any, inputs: Any, options: dict[str, Any]) -> Graph:
    """Raises whatever torch does where its graphs are others."""
    import torch

    nodes = [node for node in model.graph.nodes if node.op == "placeholder"]
    graph = torch.fx.GraphModule(model, copy.deepcopy(model.graph))
    _copy_sources(model, graph)
    found = Graph(graph, [node.meta["example_value"] for node in nodes], dict(options), torch.is_grad_enabled(), _autocast())
    for node, value in zip(nodes, inputs):
        stack = stack_of(node)
        if stack and isinstance(value, torch.nn.Parameter):
            found.owners.setdefault(stack[-1][0], weakref.ref(value))
    return found


def _copy_sources(model: Any, graph: Any) -> None:
    """What Dynamo notes beside a graph: which inputs are weights, so that they are kept for backward and not what is made from them."""
    graph.meta = dict(model.meta)
    if hasattr(model, "_param_name_to_source"):
        graph._param_name_to_source = model._param_name_to_source
    for node, twin in zip(model.graph.nodes, graph.graph.nodes):
        if hasattr(node, "_dynamo_source"):
            twin._dynamo_source = node._dynamo_source


def _autocast() -> Any:
    import torch

    with contextlib.suppress(Exception):  # torch before 2.4 asks otherwise
        if torch.is_autocast_enabled("cpu"):
            return torch.get_autocast_dtype("cpu")
    return None
