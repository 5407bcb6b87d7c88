"""Which nodes of a graph each kernel of compiled code computes.

A graph is lowered once more, when no step is timed, as far as Inductor's text: nothing is compiled, run, or taken from or put into a cache.
While it does so, Inductor says of each kernel which nodes it is made from (2.9 and newer). That a loaded file is what this graph makes is
known when both texts are equal but for comments; then their calls of kernels are the same, one by one.

An operator of torch's counts for the node that it computes. A fused kernel counts for its nodes by an estimate: of each of its loops, so
many elements times what their operations cost, and a unit for every element that is read or written.
"""

from __future__ import annotations

import contextlib
import re
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .generated import bare, kernel_calls
from .graphs import Graph, Stack, stack_of

SECONDS = 60.0  # for all graphs together; whoever compiles for longer waits no longer for us
MOST_SHARES = 32  # of one kernel
# What an element of an operation costs, where reading or writing one costs 1 and simple arithmetic as much: from compiled loops over
# 200,000 elements on one core with AVX2 (python tests/bench/compiled.py --costs). The first that is found in the name counts.
COSTS = [
    (re.compile(r"rand|bernoulli|dropout(?!_backward)"), 190.0),  # one number after the other
    (re.compile(r"pow"), 48.0),
    (re.compile(r"tanh"), 28.0),
    (re.compile(r"gelu"), 16.0),
    (re.compile(r"erf|log(?!ical)"), 10.0),
    (re.compile(r"gather|index|embedding"), 10.0),
    (re.compile(r"exp(?!and)|sigmoid|silu|softmax"), 6.0),
    (re.compile(r"sqrt|sin|cos"), 4.0),
]
FREE = re.compile(
    r"getitem|view|permute|transpose|expand|squeeze|slice|select|alias|clone|full|empty|convert_element_type|_to_copy|\.t\.|\.t$"
)
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (.+)')

Line = tuple[str, int, str]  # file, 1-based line, function
Key = tuple[Stack, tuple[Line, ...]]


@dataclass
class Kernel:
    name: str  # "extern_kernels.mm", "cpp_fused_add_0"
    shares: dict[Key, float] = field(default_factory=dict)  # weights add up to 1; empty where its nodes are of nobody


@dataclass
class Lowered:
    """One text that Inductor makes of a graph: its forward, or its backward."""

    text: list[str]
    kernels: list[Kernel]  # in the order of the calls
    of: Graph


class Cannot(Exception):
    """Why it is not known; a sentence for people."""


class _Done(BaseException):
    """The text is there: Inductor need not go on. No Exception, so that nobody takes it for a fault."""


def lowered(graphs: list[Graph]) -> Iterator[Lowered]:
    """Raises Cannot where this torch does not tell, or the time is over."""
    end = time.monotonic() + SECONDS
    for graph in graphs:
        if time.monotonic() > end:
            raise Cannot(f"finding it out took longer than {SECONDS:.0f} seconds")
        yield from _lower(graph)


def _lower(graph: Graph) -> list[Lowered]:
    import torch

    try:
        from torch._functorch import config as functorch_config
        from torch._inductor import compile_fx, config, debug
        from torch._inductor.codegen import cpp
        from torch._inductor.graph import GraphLowering

        tell = "set_kernel_post_grad_provenance_tracing"
        places = [place for place in (debug, cpp) if hasattr(place, tell)]
        lowering_class: Any = GraphLowering
        codegen = lowering_class.codegen
    except (ImportError, AttributeError) as fault:
        raise Cannot(f"this torch's compiler has other names ({fault})") from None
    if not places:
        raise Cannot(f"torch {torch.__version__} does not tell of which nodes a kernel is made; 2.9 and newer do")
    results: list[Lowered] = []
    kernels: list[Kernel] = []

    def note(nodes: Any, name: str, is_extern: bool = False) -> None:
        with contextlib.suppress(Exception):  # no share of it: the kernel is of nobody
            kernels.append(Kernel(name))
            kernels[-1].shares = _extern_shares(nodes) if is_extern else _fused_shares(nodes)

    strides: list[Any] = []

    def stop_at_text(lowering: Any) -> Any:
        made = codegen(lowering)[0]
        text = made if isinstance(made, str) else made.value
        results.append(Lowered(bare(text), _in_call_order(text, kernels), graph))
        strides[:] = _strides(lowering.graph_outputs, getattr(compile_fx, "SymExprPrinter", None))
        raise _Done

    def inner(module: Any, inputs: Any, **options: Any) -> Any:
        kernels.clear()
        strides.clear()
        with contextlib.suppress(_Done):
            compile_fx.compile_fx_inner(module, inputs, **options)
        _tell_strides(inputs, strides)
        return _never

    def settings(of: Any, **wanted: Any) -> Any:
        return of.patch({name: value for name, value in wanted.items() if hasattr(of, name)})

    before = [(place, getattr(place, tell)) for place in places]
    autocast = torch.autocast("cpu", dtype=graph.autocast) if graph.autocast is not None else contextlib.nullcontext()
    try:
        for place in places:
            setattr(place, tell, note)
        lowering_class.codegen = stop_at_text
        with contextlib.ExitStack() as around:
            around.enter_context(settings(config, fx_graph_cache=False, fx_graph_remote_cache=False))
            around.enter_context(settings(functorch_config, enable_autograd_cache=False, force_non_lazy_backward_lowering=True))
            around.enter_context(torch.set_grad_enabled(graph.gradients))
            around.enter_context(autocast)
            compile_fx.compile_fx(graph.module, graph.inputs, inner_compile=inner, **graph.options)
    except Exception as fault:
        raise Cannot(f"a graph could not be lowered once more ({type(fault).__name__}: {fault})"[:300]) from None
    finally:
        lowering_class.codegen = codegen
        for place, original in before:
            setattr(place, tell, original)
    return results


def _strides(outputs: Any, printer: Any) -> list[tuple[str, ...] | None]:
    """As Inductor notes them of what it compiled; None of what is no tensor."""
    text = printer().doprint if printer is not None else str
    noted: list[tuple[str, ...] | None] = []
    for output in outputs or []:
        noted.append(None)
        with contextlib.suppress(Exception):
            noted[-1] = tuple(text(stride) for stride in output.get_layout().stride)
    return noted


def _tell_strides(inputs: Any, strides: list[Any]) -> None:
    """The backward pass is lowered for what the forward pass gives: Inductor tells it once it has compiled, which is later than we stop."""
    with contextlib.suppress(ImportError, AttributeError):  # elsewhere in this torch: it is lowered for other strides, and left out
        from torch._inductor.utils import set_tracing_context_output_strides

        compiled: Any = types.SimpleNamespace(output_strides=strides)
        set_tracing_context_output_strides(inputs, compiled)


def _never(inputs: Any) -> Any:
    raise AssertionError("a graph that was only looked at does not run")


_never._boxed_call = True  # type: ignore[attr-defined]


def _in_call_order(text: str, noted: list[Kernel]) -> list[Kernel]:
    """By call in the text: what was noted of it. Both are in the same order, and a call that nothing was noted of is of nobody."""
    left = list(noted)
    found = []
    for call in kernel_calls(text):
        at = next((i for i, kernel in enumerate(left) if kernel.name == call.name), None)
        found.append(left[at] if at is not None else Kernel(call.name))
        if at is not None:
            del left[: at + 1]
    return found


# -- what a kernel is made from


def _key(node: Any) -> Key | None:
    stack = stack_of(node)
    if stack is None:
        return None
    frames = _FRAME.findall(str(node.meta.get("stack_trace") or ""))
    return stack, tuple((file, int(line), function.strip()) for file, line, function in frames)


def _operation(node: Any) -> str:
    """ "mm" of aten.mm.default."""
    schema = getattr(node.target, "_schema", None)
    return str(schema.name if schema is not None else node.target).rpartition("::")[2]


def _extern_shares(kernel: Any) -> dict[Key, float]:
    """The node that the operator computes; its other origins only prepared the arguments."""
    node = getattr(kernel, "origin_node", None)
    if node is None:
        named = [origin for origin in kernel.origins if _operation(origin) in str(kernel.get_kernel_name() or kernel.python_kernel_name)]
        node = named[-1] if named else next(iter(kernel.origins), None)
    key = _key(node) if node is not None else None
    return {key: 1.0} if key is not None else {}


def _fused_shares(loops: Any) -> dict[Key, float]:
    weights: dict[Key, float] = {}
    for loop in loops:
        if getattr(loop, "node", None) is None:
            continue
        elements = _elements(loop)
        known = [(key, _operation(node), node) for node in loop.node.origins if (key := _key(node)) is not None]
        if not known:
            continue
        working = [(key, name) for key, name, _ in known if not FREE.search(name)] or [(key, name) for key, name, _ in known]
        for key, name in _with_neighbours(working, known):
            weights[key] = weights.get(key, 0.0) + elements * _cost(name)
        moved = _last(known)
        weights[moved] = weights.get(moved, 0.0) + elements * (len(loop.read_writes.reads) + len(loop.read_writes.writes))
    return _as_shares(weights)


def _with_neighbours(working: list[tuple[Key, str]], known: list[tuple[Key, str, Any]]) -> list[tuple[Key, str]]:
    """Where gradients from several users of a value are added, no module says that it does so: it is a neighbour's, by the line."""
    adds = {key for key, name, node in known if not key[0] and name == "add" and node.meta.get("partitioner_tag") == "is_backward"}
    moved = {}
    for key in adds:
        beside = [other for other, _, _ in known if other[0] and other[1] == key[1]]
        if beside:
            moved[key] = min(beside, key=lambda other: len(other[0]))
    return [(moved.get(key, key) if name == "add" else key, name) for key, name in working]


def _last(known: list[tuple[Key, str, Any]]) -> Key:
    """The node that the others lead to: the loop writes its result."""
    nodes = {node for _, _, node in known}
    ends = [key for key, _, node in known if not any(user in nodes for user in node.users)]
    return ends[-1] if ends else known[-1][0]


def _cost(operation: str) -> float:
    return next((cost for name, cost in COSTS if name.search(operation)), 1.0)


def _elements(loop: Any) -> float:
    """How often its body runs; 1 where that is not known in numbers."""
    product = 1.0
    with contextlib.suppress(Exception):
        from torch._inductor.virtualized import V

        sizes: Any = V.graph.sizevars
        hint = getattr(sizes, "optimization_hint", None) or sizes.size_hint  # the second up to torch 2.10
        for ranges in loop.get_ranges():
            for size in ranges:
                product *= float(hint(size, fallback=64))
    return product


def _as_shares(weights: dict[Key, float]) -> dict[Key, float]:
    largest = dict(sorted(weights.items(), key=lambda item: -item[1])[:MOST_SHARES])
    whole = sum(largest.values())
    return {key: weight / whole for key, weight in weights.items() if key in largest} if whole > 0 else {}
