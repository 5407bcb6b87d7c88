"""The graph of one backward pass, read without running anything: which node has saved which tensor.

Nothing is hooked, copied or kept. Tensors that hooks of the script's own have taken (checkpointing, `save_on_cpu`) are not looked at,
because looking at one runs the hook.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

DEEPEST = 4  # containers of tensors in arguments and results
MOST_NODES = 300_000  # of one graph; a larger one is not walked
SAVE_NOTHING = ("AccumulateGrad", "CopyBackwards", "GraphRoot", "UndefinedGrad", "Error")  # of the nodes that are written by hand
TOO_LARGE = f"the graph of its backward pass has more than {MOST_NODES} nodes"


class TooLarge(Exception):
    """The message is the sentence."""


@dataclass(frozen=True)
class Saver:
    """Nodes of one name that one place has made: a call of the map step and one of its lines, -1 where there is none."""

    node: str
    call: int
    line: int


@dataclass
class Kept:
    """One storage. `by`: which saver keeps it as what, and the most elements that a tensor saved so has."""

    bytes: int
    device: str
    kind: str = "activation"  # parameter, buffer, input
    computed: bool = False  # a tensor in it has a history
    by: dict[tuple[Saver, str], int] = field(default_factory=dict)


@dataclass
class Graph:
    """Of one backward pass."""

    storages: dict[int, Kept] = field(default_factory=dict)  # by identity of the storage, which lives while it is saved
    hooked: dict[Saver, int] = field(default_factory=dict)  # nodes made under hooks of the script's
    opaque: dict[str, int] = field(default_factory=dict)  # nodes by name that do not show what they save
    unreadable: int = 0  # saved tensors that were written to since

    def bytes(self) -> int:
        return sum(kept.bytes for kept in self.storages.values())


class Reader:
    """Walks a graph. `place`: the call and line that has made a node, by its sequence number; `hooked`: whether hooks of the script's were
    on then; `inputs`: identities of the storages that the loop hands over."""

    def __init__(
        self, modules: list[Any], place: Callable[[int], tuple[int, int]], hooked: Callable[[int], bool], inputs: Iterable[int]
    ) -> None:
        self._modules = modules
        self._place = place
        self._hooked = hooked
        self._inputs = frozenset(inputs)
        self._names: dict[type, list[str]] = {}

    def walk(self, roots: list[Any]) -> Graph:
        graph, seen, ahead = Graph(), set(), list(roots)
        while ahead:
            node = ahead.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if len(seen) > MOST_NODES:
                raise TooLarge(TOO_LARGE)
            self._read(node, graph)
            ahead.extend(following for following, _ in node.next_functions)
        self._say_kinds(graph)
        return graph

    def _read(self, node: Any, graph: Graph) -> None:
        names = self._saved_by(type(node))
        if not names and (not _hides(node.name())):
            return
        number = node._sequence_nr()
        saver = Saver(_short(node.name()), *self._place(number))
        if not names:
            graph.opaque[saver.node] = graph.opaque.get(saver.node, 0) + 1
        elif self._hooked(number):
            graph.hooked[saver] = graph.hooked.get(saver, 0) + 1
        else:
            for name in names:
                self._note(node, name, saver, graph)

    def _note(self, node: Any, name: str, saver: Saver, graph: Graph) -> None:
        try:
            value = getattr(node, name)
        except RuntimeError as error:
            graph.unreadable += "freed" not in str(error)  # an earlier backward pass has had it
            return
        what = name[len("_saved_") :] if name.startswith("_saved_") else name
        for tensor in tensors_in(value, 1):
            if is_number(tensor):
                continue
            storage = storage_of(tensor)
            if storage is None:
                graph.unreadable += 1
                continue
            kept = graph.storages.setdefault(storage._cdata, Kept(storage.nbytes(), str(tensor.device)))
            kept.computed |= tensor.grad_fn is not None
            if tensor.is_leaf and tensor.requires_grad:
                kept.kind = "parameter"
            kept.by[saver, what] = max(kept.by.get((saver, what), 0), tensor.numel())

    def _saved_by(self, kind: type) -> list[str]:
        """The attributes of a node that may hold tensors; `_raw_saved_X` beside `_saved_X` tells them from numbers."""
        names = self._names.get(kind)
        if names is None:
            raw = [name for name in dir(kind) if name.startswith("_raw_saved_")]
            names = self._names[kind] = ["saved_tensors"] if hasattr(kind, "saved_tensors") else [name[len("_raw") :] for name in raw]
        return names

    def _say_kinds(self, graph: Graph) -> None:
        parameters, buffers = (self._storages(kind) for kind in ("parameters", "buffers"))
        for identity, kept in graph.storages.items():
            if identity in parameters:
                kept.kind = "parameter"
            elif identity in buffers:
                kept.kind = "buffer"
            elif kept.kind == "activation" and not kept.computed and identity in self._inputs:
                kept.kind = "input"

    def _storages(self, kind: str) -> set[int]:
        tensors = (tensor for module in self._modules for tensor in getattr(module, f"_{kind}").values() if tensor is not None)
        return {storage._cdata for tensor in tensors if (storage := storage_of(tensor)) is not None}


def nodes(outputs: Any, results: Iterable[Any]) -> list[Any]:
    """Where the graph begins. An output is a tensor or an edge of the graph."""
    return [getattr(each, "grad_fn", None) or getattr(each, "node", None) for each in (*outputs, *results) if each is not None]


def _hides(name: str) -> bool:
    """Whether a node without attributes may have saved something: those of C++ extensions, and of writing into a view."""
    return "::" in name and _short(name) not in SAVE_NOTHING


def _short(name: str) -> str:
    return name.rpartition("::")[2] if "<" not in name else name


def storage_of(tensor: Any) -> Any:
    """None for a tensor that has no memory of its own kind: sparse, of a device without any, of a class that only wraps others."""
    try:
        storage = tensor.untyped_storage()
        return storage if tensor.device.type != "meta" and (storage.nbytes() == 0 or storage.data_ptr() != 0) else None
    except (RuntimeError, NotImplementedError):
        return None


def is_number(tensor: Any) -> bool:
    """Whether PyTorch has made the tensor of a Python number: hooks on saved tensors do not see these either.

    Nothing tells but the type that it gives to a result: a number leaves that of the other operand as it is.
    """
    import torch

    narrower = {torch.float64: torch.float16, torch.int64: torch.int8, torch.complex128: torch.complex64}.get(tensor.dtype)
    if tensor.dim() != 0 or narrower is None or tensor.requires_grad or tensor.device.type != "cpu":
        return False
    with unrecorded():
        return torch.result_type(tensor, torch.empty((), dtype=narrower, device="meta")) == narrower


@contextlib.contextmanager
def unrecorded() -> Iterator[None]:
    """No operator within is in a trace."""
    import torch

    torch._C._autograd._enable_record_function(False)
    try:
        yield
    finally:
        torch._C._autograd._enable_record_function(True)


def tensors_in(value: Any, depth: int) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif depth > 0 and isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each, depth - 1)
