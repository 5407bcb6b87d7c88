"""The program of one step: the operators that Python called, in order, so that the step can be run again without the script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .tensors import Known, Role

PREFIX = "hotlens."
BEGIN, END, OWN = "hotlens.begin", "hotlens.end", "hotlens.own"  # ranges in the trace
# Around an operator that gets a number for a tensor: Python made a tensor of it before the interception, and one is made anew.
TWICE = "hotlens.twice#"  # and the bytes
INPUT = "hotlens::input"  # the operator that makes nothing: tensors come to be here
COMPILED = "torch.compile makes one piece of what it compiles. Profile once with TORCH_COMPILE_DISABLE=1"
SEVERAL = "several processes train together, and what they send each other cannot be replayed"


@dataclass
class Operator:
    op: str
    overload: str
    args: list[Any]
    kwargs: dict[str, Any]
    stage: str
    module: Any = None  # the innermost one that is being called
    call: int = -1
    grad: bool = True
    autocast: str | None = None
    line: int | None = None  # of the module's `forward`, where it is the script's or a package's own
    out: Any = None
    shapes: Any = None
    forward: list[Operator] | None = None  # of a custom autograd function
    backward: list[Operator] | None = None  # None: it did not run
    last_named: list[int] = field(default_factory=list)  # tensors that no name held after it, and that autograd kept


@dataclass
class Program:
    """What a step has left: no tensor, and modules only as objects to be named."""

    operators: list[Operator] = field(default_factory=list)
    tensors: list[Known] = field(default_factory=list)
    parameters: dict[int, Role] = field(default_factory=dict)  # by identity, for the names of states and gradients
    device: str = "cpu"
    threads: int = 1
    refused: str | None = None


def numbers_in(out: Any) -> Iterator[int]:
    """Of the tensors that an operator returned."""
    if isinstance(out, int):
        yield out
    elif isinstance(out, list):
        for each in out:
            yield from numbers_in(each)


def every(operators: list[Operator]) -> Iterator[Operator]:
    """These, each before its results, and what they have inside."""
    for operator in operators:
        yield from every(operator.forward or [])
        yield operator
        yield from every(operator.backward or [])
