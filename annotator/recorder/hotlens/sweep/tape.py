"""The loss of a training loop as a list of calls: what the loop does from its first call of the model to the backward pass.

Each entry is a call of the model, or a function of torch that the loop called with something that depends on the model. So the loss can be
computed again, with other parameters and under `vmap`, without running the user's loop. Numbers that the loop read from tensors stay as
they were.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable

Call = Callable[..., Any]
Functions = dict[int, Any]


class NoTape(Exception):
    """The sentence says why the loss cannot be computed again."""


def tensors_of(value: Any) -> Iterator[Any]:
    """In a fixed order; what is no container is skipped."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from tensors_of(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_of(one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_of(getattr(value, field.name))


def replaced(value: Any, known: Functions) -> Any:
    """`value` with the tensors whose id is in `known` replaced."""
    import torch

    if isinstance(value, torch.Tensor):
        return known.get(id(value), value)
    if isinstance(value, tuple):
        items = [replaced(one, known) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value) is list:
        return [replaced(one, known) for one in value]
    if type(value) is dict:
        return {key: replaced(one, known) for key, one in value.items()}
    return value


@dataclasses.dataclass
class Entry:
    function: Call | None  # None: the model
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any
    fixed: bool = False  # no argument is computed by an entry before it

    def made(self) -> Iterator[Any]:
        """With what it wrote into: `x[0] = y` returns nothing."""
        yield from tensors_of(self.out)
        if getattr(self.function, "__name__", "") == "__setitem__":
            yield from tensors_of(self.args[:1])


@dataclasses.dataclass
class Tape:
    """`root`: the tensor that backward() was called on. The entries hold every tensor that they name, so ids stay theirs."""

    entries: list[Entry]
    root: Any

    def loss(self, model: Call, precise: Functions | None = None) -> Any:
        """The loss with this in place of the model. `precise`: other tensors for what the loop handed in, by id."""
        known: Functions = dict(precise or {})
        for entry in self.entries:
            args, kwargs = entry.args, entry.kwargs
            if not entry.fixed or precise:
                args, kwargs = replaced(args, known), replaced(kwargs, known)
            out = (entry.function or model)(*args, **kwargs)
            for before, now in zip(tensors_of(entry.out), tensors_of(out)):
                known[id(before)] = now
            if out is None and args:  # written into
                known[id(entry.args[0])] = args[0]
        return known[id(self.root)]

    def given(self) -> list[Any]:
        """The tensors that no entry makes."""
        made = {id(tensor) for entry in self.entries for tensor in entry.made()}
        given = {id(t): t for e in self.entries for t in (*tensors_of(e.args), *tensors_of(e.kwargs)) if id(t) not in made}
        return list(given.values())


def finished(entries: Sequence[Entry], root: Any) -> Tape:
    """What leads to the root alone. Raises NoTape where that is not the loss as the loop computes it."""
    if root.numel() != 1 or root.grad_fn is None:
        raise NoTape("backward() is not called on one number")
    wanted, kept = {id(root)}, []
    for entry in reversed(entries):
        if any(id(tensor) in wanted for tensor in entry.made()):
            kept.append(entry)
            wanted.update(id(tensor) for tensor in (*tensors_of(entry.args), *tensors_of(entry.kwargs)))
    kept.reverse()
    if not any(entry.function is None for entry in kept):
        raise NoTape("the loss is not computed from what the model returned by functions of torch")
    made: set[int] = set()
    for entry in kept:
        entry.fixed = not any(id(t) in made for t in (*tensors_of(entry.args), *tensors_of(entry.kwargs)))
        made.update(id(tensor) for tensor in entry.made())
    return Tape(kept, root)


def squares(entries: Sequence[Entry]) -> Tape:
    """Where the loss itself cannot be had: the sum of the squares of what the model's first call returned."""
    import torch

    first = next(entry for entry in entries if entry.function is None)
    real = [t for t in tensors_of(first.out) if t.is_floating_point() and t.grad_fn is not None]
    if not real:
        raise NoTape("the model returns nothing that can be trained")

    def sum_of_squares(*outputs: Any) -> Any:
        return sum(output.square().sum() for output in outputs)

    root = torch.zeros(())
    call = dataclasses.replace(first, fixed=True)
    return Tape([call, Entry(sum_of_squares, tuple(real), {}, root)], root)


def recorder() -> Any:
    """A mode that records calls of torch's functions while it is on; `entries` and `depends` are its to fill."""
    from torch.overrides import TorchFunctionMode

    class Recorder(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.entries: list[Entry] = []
            self.depends: set[int] = set()

        def add(self, entry: Entry) -> None:
            self.entries.append(entry)
            self.depends.update(id(tensor) for tensor in entry.made())

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            if any(id(tensor) in self.depends for tensor in (*tensors_of(args), *tensors_of(kwargs))):
                self.add(Entry(function, tuple(args), dict(kwargs or {}), out))
            return out

    return Recorder()
