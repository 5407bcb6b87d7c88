"""Blocks that the script checkpoints (`torch.utils.checkpoint`, `use_reentrant=False`): their operators stand between two of ours."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..listening.patches import Method
from .program import Operator, Program, numbers_in
from .tensors import Unreplayable

MODULE, FORWARD = "torch.utils.checkpoint", "_checkpoint_without_reentrant_generator"
SELECTIVE = "a checkpointed block keeps a part of what the backward pass needs (context_fn), or does not stop early"
NOTHING = "a checkpointed block makes no tensor"


class Blocks:
    """`special` adds an operator of ours to the program."""

    def __init__(self, program: Program, special: Callable[..., Operator]) -> None:
        self._program = program
        self._special = special
        self._count = 0
        self._begins: list[int] = []  # where those that are open begin, the innermost last

    def begin(self, inputs: list[Any]) -> None:
        """`inputs`: the tensors among its arguments, as operands."""
        self._special("hotlens::block", [self._count], checkpointed=True, inputs=inputs)
        self._count += 1
        self._begins.append(len(self._program.operators))

    def end(self) -> None:
        made = remaining(self._program.operators[self._begins.pop() :])
        if not made:
            raise Unreplayable(NOTHING)
        self._special("hotlens::block_end", [made[-1]])


def remaining(operators: list[Operator]) -> list[int]:
    """Tensors that these make and do not let go, in order."""
    made: dict[int, None] = {}
    for operator in operators:
        if operator.op == "hotlens::free":
            for number in operator.args:
                made.pop(number, None)
        made.update(dict.fromkeys(numbers_in(operator.out)))
    return list(made)


def inputs_of(forward: Method, args: Any, kwargs: Any) -> list[Any]:
    """Tensors that autograd keeps of a block; what its function holds beside them is held by Python."""
    import torch

    told = inspect.signature(forward).bind(*args, **kwargs).arguments
    return [each for each in told.get("args", ()) if isinstance(each, torch.Tensor)]


def keeps_its_inputs_alone(forward: Method, args: Any, kwargs: Any) -> bool:
    """Whether a block that is checkpointed with these arguments is one as a replay makes it."""
    import torch.utils.checkpoint as module

    told = inspect.signature(forward).bind(*args, **kwargs).arguments
    stops = getattr(module, "_enable_checkpoint_early_stop", None)
    return told.get("context_fn", module.noop_context_fn) is module.noop_context_fn and (
        told.get("early_stop", True) if stops is None else stops
    )
