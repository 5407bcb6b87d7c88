"""Custom autograd functions (`torch.autograd.Function`): one operator of ours for each application of one.

It has the operators of its forward pass, which autograd does not see, and those of its backward pass, which run in the step's. While the
step is recorded, a function is applied as a subclass of itself that tells when they begin and end. What only running Python can tell is
refused.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from .blocks import remaining
from .operands import Operands, note_view, shapes, tensors_in
from .program import INPUT, Operator, numbers_in
from .tensors import Known, Tensors, Unreplayable

FUNCTION, RECEIVED, SAVE, SAVED, RETURNED = (f"hotlens::{name}" for name in ("function", "received", "save", "saved", "returned"))
WITHIN = (RECEIVED, SAVE, SAVED, RETURNED, "hotlens::free", "hotlens::clear_autocast_cache")  # of ours, what may happen in a pass
# They give Python what is in a tensor.
READ_VALUES = frozenset(f"aten::{name}" for name in ("item", "_local_scalar_dense", "is_nonzero", "equal", "allclose"))
# They give memory that holds nothing yet.
EMPTY = ("aten::empty", "aten::new_empty")
APPLICATION = "_hotlens_application"  # of a context


class Step(Protocol):
    """Who records the step."""

    recording: bool

    def guarded(self) -> AbstractContextManager[None]:
        """Around everything of ours that runs inside the script's calls."""

    def special(self, name: str, args: list[Any], **kwargs: Any) -> Operator:
        """Adds an operator of ours."""

    def flush(self) -> None:
        """Notes what the script has let go of."""

    def refuse(self, why: str) -> None:
        """The step cannot be replayed."""

    def seeing(self) -> AbstractContextManager[None]:
        """Within the backward pass: operators are recorded again."""

    def unseeing(self) -> AbstractContextManager[None]:
        """Operators are not recorded."""


@dataclass
class Application:
    name: str
    operator: Operator
    inputs: int  # arguments
    made: range = range(0)  # numbers of what its forward pass makes
    made_backward: range = range(0)
    to_save: tuple[Any, ...] = ()  # only until the forward pass is over


@dataclass
class Pass:
    """One that runs."""

    application: Application
    operators: list[Operator]
    first: int  # what has this number or a later one is made in it
    backward: bool = False
    thread: int = field(default_factory=threading.get_ident)
    unwritten: set[int] = field(default_factory=set)  # storages that nothing is written into yet


class Functions:
    def __init__(self, step: Step, tensors: Tensors, operands: Operands) -> None:
        self._step = step
        self._tensors = tensors
        self._operands = operands
        self._applications: list[Application] = []
        self._observed: dict[type, type] = {}
        self._inner: set[int] = set()  # made in backward passes
        self.open: Pass | None = None

    def forget(self) -> None:
        self._observed.clear()
        self._applications.clear()

    # -- what is recorded while a pass is open

    def check(self, operator: Operator) -> None:
        """Before it is added to the pass that is open. Raises Unreplayable."""
        assert self.open is not None
        if self.open.thread != threading.get_ident():
            raise self._reason("runs beside others in the backward pass")
        if operator.op == INPUT:
            raise self._reason("does something that is no list of operators")
        if operator.grad or (operator.op.startswith("hotlens::") and operator.op not in WITHIN):
            raise self._reason("runs autograd within")
        if self.open.backward and operator.op in READ_VALUES:
            raise self._reason("reads values in its backward pass")
        if any("gradient" in value for value in _objects((operator.args, list(operator.kwargs.values())))):
            raise self._reason("works on gradients of parameters")

    def check_memory(self, operator: Any, args: Any, kwargs: Any) -> None:
        """What reads memory that no operator has written to gets what other code wrote: a kernel of its own."""
        assert self.open is not None
        if operator._schema.name.startswith(EMPTY):
            return
        for at, argument in enumerate(operator._schema.arguments):
            given = args[at] if at < len(args) else kwargs.get(argument.name)
            for tensor in tensors_in(given):
                storage = tensor.untyped_storage()._cdata
                alias = argument.alias_info
                if alias is None and storage in self.open.unwritten:
                    raise self._reason("computes with code that is no operator")
                if alias is not None and alias.is_write:
                    self.open.unwritten.discard(storage)

    def note_memory(self, operator: Any, result: Any) -> None:
        assert self.open is not None
        if operator._schema.name.startswith(EMPTY):
            self.open.unwritten.update(t.untyped_storage()._cdata for t in tensors_in(result) if t.numel())

    def divided(self, dead: list[Known]) -> tuple[list[Known], list[Known]]:
        """What is gone: that which is noted now, and that which is later. An open pass lets go of what it has made."""
        if self.open is None:
            return self.outside(dead), []
        first = self.open.first
        return [k for k in dead if k.number >= first], [k for k in dead if k.number < first]

    def outside(self, dead: list[Known]) -> list[Known]:
        """Without what backward passes have made."""
        return [known for known in dead if known.number not in self._inner]

    def come_out(self, out: Any) -> None:
        """What a backward pass has made is the script's now."""
        self._inner.difference_update(numbers_in(out))

    def _reason(self, what: str) -> Unreplayable:
        assert self.open is not None
        return Unreplayable(f"the custom autograd function {self.open.application.name} {what}")

    # -- the forward pass

    def apply(self, cls: Any, run: Any, args: Any, kwargs: Any) -> Any:
        """Runs an application that autograd makes a node for."""
        observed: Any = None
        with self._step.guarded():
            self._begin(cls.__name__, args)
            observed = self._observed.get(cls)
            if observed is None:
                observed = self._observed[cls] = _observed(cls, self)
        try:
            result = run(cls if observed is None else observed, *args, **kwargs)
        except BaseException:
            self._step.refuse(f"the custom autograd function {cls.__name__} fails")
            self.open = None
            raise
        if self._step.recording:
            with self._step.guarded():
                self._end(result)
        self.open = None
        return result

    def _begin(self, name: str, args: Any) -> None:
        import torch

        self._step.flush()
        if self.open is not None:
            raise self._reason("runs autograd within")
        given = [self._operands.written(a) if isinstance(a, torch.Tensor) else None for a in args]
        operator = self._step.special(FUNCTION, given)
        operator.kwargs, operator.forward = {"name": name}, []
        application = Application(name, operator, len(args))
        self._applications.append(application)
        self.open = Pass(application, operator.forward, len(self._tensors.rows))

    def forward_ran(self, context: Any) -> None:
        """What it leaves for the backward pass is told."""
        if self.open is None or not self._step.recording:
            return
        with self._step.guarded():
            if context.dirty_tensors:
                raise self._reason("changes its input (mark_dirty)")
            if context.non_differentiable:
                raise self._reason("gives something without a gradient (mark_non_differentiable)")
            saved = context.to_save
            self.open.application.to_save = () if saved is None else tuple(saved)
            setattr(context, APPLICATION, self.open.application)

    def _end(self, result: Any) -> None:
        assert self.open is not None
        application, operator = self.open.application, self.open.application.operator
        results = result if isinstance(result, tuple) else (result,)
        saved, application.to_save = application.to_save, ()
        self._check_results(results, saved)
        given = [self._result(each) for each in results]
        operator.out, operator.shapes = self._operands.returned(list(results)), shapes(list(results))
        kept = [None if each is None else self._operands.written(each) for each in saved]
        del saved
        self._step.flush()
        self._step.special(RETURNED, given)
        self._step.special(SAVE, kept)
        application.made = range(self.open.first, len(self._tensors.rows))

    def _check_results(self, results: Any, saved: Any) -> None:
        assert self.open is not None
        for tensor in tensors_in(results):
            if not (tensor.is_floating_point() or tensor.is_complex()):
                raise self._reason("gives something without a gradient")
        if any(t.untyped_storage()._cdata in self.open.unwritten for t in tensors_in((results, saved))):
            raise self._reason("computes with code that is no operator")

    def _result(self, value: Any) -> Any:
        import torch

        if not isinstance(value, torch.Tensor):
            return None
        known = self._tensors.of(value)
        if known is None:  # an input that it returns as it is: torch makes a view of it
            base = self._tensors.sharing(value)
            if base is None:
                raise self._reason("computes with code that is no operator")
            known = self._tensors.add(value)
            note_view(self._step.special, {"t": base.number}, value, known)
        return {"t": known.number}

    # -- the backward pass

    def backward(self, run: Any, context: Any, gradients: Any) -> Any:
        application = getattr(context, APPLICATION, None)
        if application is None or not self._step.recording:
            return run(context, *gradients)
        with self._step.guarded():
            self._begin_backward(application, gradients)
        try:
            with self._step.seeing():
                result = run(context, *gradients)
        except BaseException:
            self._step.refuse(f"the custom autograd function {application.name} fails")
            self.open = None
            raise
        if self._step.recording:
            with self._step.guarded():
                self._end_backward(result)
        self.open = None
        return result

    def _begin_backward(self, application: Application, gradients: Any) -> None:
        import torch

        if self.open is not None:
            raise self._reason("runs beside others in the backward pass")
        self.open = Pass(application, [], len(self._tensors.rows), backward=True)
        if torch.is_grad_enabled():
            raise self._reason("runs in a backward pass that has a gradient itself")
        if application.operator.backward is not None:
            raise self._reason("runs its backward pass more than once")
        if any(gradient is None for gradient in gradients):
            raise self._reason("gets no gradient for one of its results (set_materialize_grads)")
        application.operator.backward = self.open.operators
        self._step.special(RECEIVED, []).out = self._operands.returned(list(gradients))

    def saved(self, read: Any, context: Any) -> Any:
        """Of `ctx.saved_tensors`: each time autograd makes new ones."""
        if self.open is None or not self.open.backward or not self._step.recording:
            return read(context)
        with self._step.unseeing():
            found = read(context)
        with self._step.guarded():
            if getattr(context, APPLICATION, None) is not self.open.application:
                raise self._reason("reads what another application has saved")
            self._step.flush()
            self._step.special(SAVED, []).out = self._operands.returned(list(found))
        return found

    def _end_backward(self, result: Any) -> None:
        assert self.open is not None
        application = self.open.application
        results = list(result if isinstance(result, tuple) else (result,))[: application.inputs]
        if any(t.untyped_storage()._cdata in self.open.unwritten for t in tensors_in(results)):
            raise self._reason("computes with code that is no operator")
        given = [self._operands.written(each) for each in results]
        self._step.flush()
        self._step.special(RETURNED, given + [None] * (application.inputs - len(given)))
        application.made_backward = range(self.open.first, len(self._tensors.rows))
        self._inner.update(application.made_backward)

    # -- the end of the step

    def finish(self) -> None:
        """Each operator of ours names what it takes from outside and what it leaves. Raises Unreplayable."""
        for application in self._applications:
            operator = application.operator
            forward, backward = operator.forward or [], operator.backward or []
            taken, taken_backward = _taken(forward), _taken(backward)
            given = set(_named(operator.args))
            results = set(numbers_in(operator.out))
            made_before = application.made.stop
            for number in taken_backward:
                if number >= made_before or number in results:
                    why = (
                        "keeps its own result for the backward pass (save_for_backward)" if number in results else "works on later tensors"
                    )
                    raise Unreplayable(f"the custom autograd function {application.name} {why}")
            outside = [n for n in dict.fromkeys([*taken, *taken_backward]) if n not in application.made and n not in given]
            if outside:
                operator.kwargs["held"] = [{"t": number} for number in outside]
            left = [number for number in remaining(forward) if number not in results and number in application.made]
            operator.out = [*operator.out, *left]
            operator.shapes = [*operator.shapes, *([None] * len(left))]


def _observed(cls: Any, functions: Functions) -> Any:
    """A subclass that tells when the passes of the function run."""
    from torch.autograd import Function

    takes_context = cls.setup_context is Function.setup_context
    name = "backward" if cls.vjp is Function.vjp else "vjp"
    run_backward = getattr(cls, name)

    @functools.wraps(cls.forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        result = cls.forward(*args, **kwargs)
        if takes_context:
            functions.forward_ran(args[0])
        return result

    @functools.wraps(cls.setup_context)
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        result = cls.setup_context(ctx, inputs, output)
        functions.forward_ran(ctx)
        return result

    @functools.wraps(run_backward)
    def backward(context: Any, *gradients: Any) -> Any:
        return functions.backward(run_backward, context, gradients)

    body: dict[str, Any] = {"forward": staticmethod(forward), name: staticmethod(backward), "__module__": cls.__module__}
    if not takes_context:
        body["setup_context"] = staticmethod(setup_context)
    observed: Any = type(cls)(cls.__name__, (cls,), body)
    read = observed._backward_cls.saved_tensors.__get__
    observed._backward_cls.saved_tensors = property(lambda context: functions.saved(read, context))
    return observed


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _objects(each)


def _named(value: Any) -> Iterator[int]:
    """Numbers of the tensors that arguments name."""
    return (each["t"] for each in _objects(value) if "t" in each)


def _taken(operators: list[Operator]) -> list[int]:
    """Tensors that these read and have not made."""
    made: set[int] = set()
    taken: dict[int, None] = {}
    for operator in operators:
        if operator.op != "hotlens::free":
            taken.update((n, None) for n in _named((operator.args, list(operator.kwargs.values()))) if n not in made)
        made.update(numbers_in(operator.out))
    return list(taken)
