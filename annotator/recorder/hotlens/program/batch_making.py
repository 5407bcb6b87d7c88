"""What makes a batch within the step: a prefetch behind the forward pass, the next of several whose gradients are accumulated.

What makes the first batch comes before the model is called and is not in the program. Nor is this: of `torch.stack([data[i : i + n] for i
in ix])` even the number of operators follows the batch size. The tensors that the model gets of it are inputs, from when they are made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

from .operands import note_view, tensors_in
from .program import INPUT, Operator, Program
from .tensors import Tensors, why_not

# Of a tensor that was there before and is nobody's, these take a part: it is a set of data.
TAKES = frozenset(f"aten::{name}" for name in ("slice", "select", "index", "index_select", "narrow", "gather", "take", "unbind", "split"))
STAGES = ("loss", "other", "data")  # of what the loop itself does


class BatchMaking:
    """`special` adds an operator of ours to the program."""

    def __init__(self, tensors: Tensors, special: Callable[..., Operator]) -> None:
        self._tensors = tensors
        self._special = special
        self._made: dict[int, int] = {}  # by identity of an operator that was noted: the tensor that it stands for

    def takes(self, operator: Any, args: Any, kwargs: Any) -> bool:
        """Called by the loop, outside of a model: it works on a batch to come and on nothing else."""
        name = operator._schema.name
        origins = [self._origin(t, name) for t in tensors_in((list(args), list(kwargs.values())))]
        if not origins or None in origins:
            return False
        return "data" in origins or name == "aten::unbind"

    def _origin(self, tensor: Any, name: str) -> str | None:
        """`data`; `numbers` of nothing (`torch.randint`); None of anything else."""
        known = self._tensors.of(tensor)
        if tensor.requires_grad or tensor.grad_fn is not None:
            return None
        if known is None:
            return "data" if why_not(tensor) is None else None
        if known.role is not None or known.gradient_of is not None:
            return None
        if known.origin is None and not known.made and name in TAKES:
            return "data"
        return known.origin

    def note_numbers(self, args: Any, kwargs: Any, result: Any) -> None:
        """An operator of the program has been called by the loop."""
        given = [self._tensors.of(t) for t in tensors_in((list(args), list(kwargs.values())))]
        if all(known is not None and known.origin == "numbers" for known in given):
            for known in map(self._tensors.of, tensors_in(result)):
                if known is not None and known.made:
                    known.origin = "numbers"

    def note(self, result: Any) -> None:
        """Of an operator that is left out. What of it the model does not get is left out in the end, too."""
        for tensor in tensors_in(result):
            if self._tensors.of(tensor) is not None or why_not(tensor) is not None or tensor.requires_grad:
                continue
            base = self._tensors.sharing(tensor)
            if base is None:
                known = self._tensors.adopt(tensor)
                noted = self._special(INPUT, [known.number])
            else:
                known = self._tensors.add(tensor)
                known.base = base
                noted = note_view(self._special, {"t": base.number}, tensor, known)
            known.origin = "data"
            self._made[id(noted)] = known.number

    def leave_out_unused(self, program: Program) -> None:
        """Of what was noted all that the rest of the program does not get, and that is gone."""
        needed: set[int] = set()
        gone: set[int] = set()
        kept: list[Operator] = []
        for operator in reversed(program.operators):
            number = self._made.get(id(operator))
            if number is not None and number not in needed:
                known = self._tensors.rows[number]
                if known.base is not None or known.died:
                    known.left_out = True
                    gone.add(number)
                    continue
                known.used = True  # the next step's: it is held
            needed.update(_numbers((operator.args, operator.kwargs)))
            kept.append(operator)
        for operator in kept:
            if operator.op == "hotlens::free":
                operator.args = [number for number in operator.args if number not in gone]
        program.operators[:] = [o for o in reversed(kept) if o.op != "hotlens::free" or o.args]


def _numbers(value: Any) -> Iterable[int]:
    if isinstance(value, dict):
        if isinstance(value.get("t"), int):
            yield value["t"]
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _numbers(each)
