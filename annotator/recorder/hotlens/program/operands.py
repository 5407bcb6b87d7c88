"""What an operator is given and what it returns, as the program has it: a tensor by its number, everything else as JSON."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Callable

from .program import INPUT, Operator
from .tensors import Known, Tensors, Unreplayable, contents, dtype_name, facts, own_class, why_not, zeros

UNFILLED = ("aten::empty", "aten::to")  # of `torch.tensor(…)`, before `aten::lift_fresh`


class Operands:
    """A tensor that is seen for the first time becomes known here. `special` adds an operator of ours to the program; `own` is around work
    on tensors that is not the script's."""

    def __init__(self, tensors: Tensors, special: Callable[..., Operator], own: Callable[[], AbstractContextManager[None]]) -> None:
        self._tensors = tensors
        self._special = special
        self._own = own

    def written(self, value: Any) -> Any:
        """Raises Unreplayable for what has no form in the program."""
        import torch

        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return _number(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return [self.written(each) for each in value]
        if isinstance(value, complex):
            return {"complex": [_number(value.real), _number(value.imag)]}
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        for kind in (torch.device, torch.layout, torch.memory_format):
            if isinstance(value, kind):
                return {kind.__name__: str(value).replace("torch.", "")}
        if isinstance(value, torch.Generator):
            return {"generator": None}
        raise Unreplayable(f"an operator gets a {type(value).__name__}, which cannot be written down")

    def _tensor(self, tensor: Any) -> dict[str, int]:
        known = self._tensors.of(tensor)
        if known is None:
            known = self._newcomer(tensor)
        if known.base is not None and not known.used:
            known.used = True
            with self._own():
                _use_base(known, tensor)
        if known.gradient_of is not None:
            known.gradient_of.used = known.used = True
            return {"gradient": known.gradient_of.number}
        if not known.used and not known.made:
            known.used = True
            if known.role is None or known.role.kind == "buffer" or tensor.numel() == 1:
                with self._own():
                    known.facts.update(contents(tensor))
            elif known.role.kind == "state":
                with self._own():
                    known.facts.update(zeros(tensor))
        if known.requires_grad != tensor.requires_grad:  # a switch that is no operator
            known.requires_grad = tensor.requires_grad
            self._special("hotlens::requires_grad", [known.number], value=known.requires_grad)
        if known.storage != tensor.untyped_storage()._cdata:
            raise Unreplayable("the data of a tensor was replaced within the step (.data = …, set_)")
        return {"t": known.number}

    def _newcomer(self, tensor: Any) -> Known:
        """A tensor that none of the operators has made and that did not exist when they began."""
        import torch

        reason = why_not(tensor)
        if reason is not None:
            raise Unreplayable(reason)
        if tensor.grad_fn is not None:
            if type(tensor) is not torch.Tensor:  # each operator's result is made into one, unseen
                raise Unreplayable(own_class(tensor))
            raise Unreplayable("gradients flow through code that is no list of operators (torch.func, a function of another language)")
        same = self._tensors.sharing(tensor)
        if same is not None:
            return self._alias(tensor, same)
        known = self._tensors.adopt(tensor)
        if self._tensors.whole:
            self._special(INPUT, [known.number])
        return known

    def _alias(self, tensor: Any, same: Known) -> Known:
        """`x.data`, or a view that was made unseen."""
        made = self._tensors.add(tensor)
        known: Any = {"gradient": same.gradient_of.number} if same.gradient_of is not None else {"t": same.number}
        same.used = True
        note_view(self._special, known, tensor, made)
        return made

    def filled(self, tensor: Any, operators: list[Operator]) -> None:
        """`torch.tensor([0, 2])`: its memory was filled without an operator. What may be an index comes to be here, with its values."""
        known = self._tensors.of(tensor)
        if known is None or not known.made or tensor.is_floating_point() or not tensor.numel():
            return
        makers = list(itertools.takewhile(lambda o: o.op in UNFILLED and o.out == known.number, reversed(operators)))
        if not makers:
            return
        del operators[-len(makers) :]
        known.made, known.used = False, True
        with self._own():
            known.facts = {**facts(tensor), **contents(tensor)}
        self._special(INPUT, [known.number])

    def returned(self, result: Any) -> Any:
        """The number of each tensor; None for what is no tensor."""
        import torch

        if isinstance(result, torch.Tensor):
            known = self._tensors.of(result)
            if known is None:
                reason = why_not(result)
                if reason is not None:
                    raise Unreplayable(reason)
                known = self._tensors.add(result)
            known.requires_grad = result.requires_grad  # an operator in place may have changed it
            return known.number
        if isinstance(result, (list, tuple)):
            return [self.returned(each) for each in result]
        return None


def note_view(special: Callable[..., Operator], base: dict[str, int], tensor: Any, known: Known) -> Operator:
    """To the program: `tensor` is a view of a tensor that is there."""
    operator = special("aten::as_strided", [base, list(tensor.shape), list(tensor.stride()), tensor.storage_offset()])
    operator.grad, operator.out, operator.shapes = False, known.number, list(tensor.shape)
    return operator


def _use_base(known: Known, tensor: Any) -> None:
    """A view that was noted (batch_making.py) is used: so is what it is a view of."""
    base = known.base
    while base is not None:
        if not base.used:
            base.used = True
            if not base.made:
                whole = base.reference() if base.reference is not None else None
                base.facts.update(contents(tensor if whole is None else whole))
        base = base.base


def tensors_in(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_in(each)


def shapes(result: Any) -> Any:
    import torch

    if isinstance(result, torch.Tensor):
        return list(result.shape)
    return [shapes(each) for each in result] if isinstance(result, (list, tuple)) else None


def _number(value: float) -> Any:
    if math.isnan(value):
        return {"nan": 1}
    return {"inf": 1 if value > 0 else -1} if math.isinf(value) else value
