"""Records the program of one step while the script runs it.

It begins with the first call of a model, the first update, or the first operator that works on what is trained; what comes before has
made the batch, which is taken as given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..listening.patches import Method
from .batch_making import STAGES, BatchMaking
from .blocks import Blocks
from .functions import Functions
from .interception import Interception
from .lines import Lines
from .names import Names
from .operands import Operands, shapes, tensors_in
from .program import BEGIN, END, INPUT, OWN, TWICE, Operator, Program
from .surroundings import Surroundings
from .tensors import Known, Tensors, Unreplayable, dtype_name, why_not

# A step with more calls than this is many steps of something; its program would be too large to keep.
MOST_OPERATORS = 60_000
SCALAR_BYTES: dict[type, int] = {float: 8, int: 8, bool: 1, complex: 16}  # of the tensor that is made of a number


class ProgramStep:
    """Records between `start` and `stop`. A fault of its own ends the recording, never the step."""

    def __init__(self, modules: list[Any], optimizers: list[Any]) -> None:
        self.modules = modules
        self.optimizers = optimizers
        self.program = Program()
        self.fault: str | None = None
        self.recording = False
        self.begun = False
        self._tensors = Tensors()
        self._parameters: list[Any] = []
        self._interception = Interception(self._called)
        self._surroundings = Surroundings(self, self._interception)
        self._operands = Operands(self._tensors, self.special, self._own)
        self._batch_making = BatchMaking(self._tensors, self.special)
        self._blocks = Blocks(self.program, self.special)
        self._functions = Functions(self, self._tensors, self._operands)
        self._lines = Lines()
        self._names = Names(self._tensors)
        self._tensor_arguments: dict[Any, tuple[list[int], list[str]]] = {}  # by operator: places and names

    # -- start and stop

    def start(self) -> None:
        self.recording = True
        with self.guarded():
            self._listen()

    def _listen(self) -> None:
        import torch

        self._parameters = self._tensors.know_roles(self.modules, self.optimizers)
        self.program.device = next((str(p.device) for p in self._parameters if p.device.type != "cpu"), "cpu")
        self.program.threads = torch.get_num_threads()
        self.program.parameters = {id(p): role for p in self._parameters if (role := self._tensors.role(p)) is not None}
        self._surroundings.start(self._around_engine)
        self._interception.start()

    def stop(self) -> None:
        self._interception.stop()
        self._surroundings.stop()
        if self.recording and self.begun:
            with self.guarded():
                self.flush()
                self._mark(END)
                self._functions.finish()
                self._batch_making.leave_out_unused(self.program)
        if self.recording and not self.begun:
            self.refuse("no model was called and no operator worked on what is trained")
        self.recording = False
        self.program.tensors = self._tensors.listed()
        self._tensors.forget()
        self._parameters.clear()
        self.modules, self.optimizers = [], []  # the next fold's take the place of these in memory
        self._surroundings.forget()
        self._functions.forget()
        self._names.forget()

    def abandon(self) -> None:
        """In a forked child."""
        self.recording = False
        self._interception.stop()

    def begin_block(self, inputs: list[Any]) -> None:
        if self.recording:
            self._blocks.begin([self._operands.written(each) for each in inputs])

    def end_block(self) -> None:
        if self.recording:
            self._blocks.end()

    def apply_function(self, cls: Any, run: Any, args: Any, kwargs: Any) -> Any:
        if not self.begun:
            with self.guarded(), self._interception.paused():
                self.begin()
        return self._functions.apply(cls, run, args, kwargs)

    def seeing(self) -> AbstractContextManager[None]:
        return self._surroundings.seeing()

    def unseeing(self) -> AbstractContextManager[None]:
        return self._surroundings.without_seeing()

    def refuse(self, why: str) -> None:
        if self.recording:
            self.program.refused = why
            self.recording = False

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Around everything of ours: what goes wrong in here is told in the end and is nobody's exception."""
        try:
            yield
        except Unreplayable as reason:
            self.refuse(str(reason))
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"
            self.recording = False

    def _mark(self, name: str) -> None:
        from torch.autograd.profiler import record_function

        with self._interception.paused(), record_function(name):
            pass

    @contextlib.contextmanager
    def _own(self) -> Iterator[None]:
        """Work on tensors that is not the script's: its memory is not counted."""
        import torch
        from torch.autograd.profiler import record_function

        with self._interception.paused(), torch.no_grad(), record_function(OWN):
            yield

    def begin(self) -> None:
        """The model is about to be called for the first time, or something is done to what is trained."""
        self.begun = True
        self._names.begin()
        for parameter in self._parameters:
            if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
                raise Unreplayable("hooks on gradients run Python within the backward pass")
        with self._own():
            for parameter in self._parameters:
                reason = why_not(parameter)
                if reason is not None:
                    raise Unreplayable(reason)
                known = self._tensors.adopt(parameter)
                if parameter.grad is not None:
                    self._gradient(parameter.grad, known, made=False)
            self._tensors.take_stock()
        self._mark(BEGIN)

    def _gradient(self, gradient: Any, parameter: Known, made: bool) -> None:
        reason = why_not(gradient)
        if reason is not None:
            raise Unreplayable(f"gradients are sparse, or {reason}" if "layout" in reason else reason)
        known = self._tensors.adopt_gradient(gradient, parameter, made)
        known.used = parameter.used = True

    # -- operators

    def _called(self, operator: Any, args: Any, kwargs: Any) -> Any:
        from torch.autograd.profiler import record_function

        if not self.recording or not self._surroundings.seen or operator.namespace == "profiler" or _tells_allocator(operator):
            return operator(*args, **kwargs)
        note: Operator | None = None
        makes_batch = False
        with self.guarded():
            makes_batch = self._makes_batch(operator, args, kwargs)
            note = None if makes_batch else self._before(operator, args, kwargs)
        twice = self._numbers_for_tensors(operator, args, kwargs) if note is not None else 0
        if twice:
            with record_function(f"{TWICE}{twice}"):
                result = operator(*args, **kwargs)
        else:
            result = operator(*args, **kwargs)
        if self.recording and (makes_batch or note is not None):
            with self.guarded():
                if note is not None:
                    self._after(note, operator, result)
                    if note.module is None and self._functions.open is None:
                        self._batch_making.note_numbers(args, kwargs, result)
                else:
                    self._batch_making.note(result)
        return result

    def _makes_batch(self, operator: Any, args: Any, kwargs: Any) -> bool:
        if (
            not self.begun
            or self._functions.open is not None
            or self._surroundings.call is not None
            or self._surroundings.stage() not in STAGES
        ):
            return False
        if not self._batch_making.takes(operator, args, kwargs):
            return False
        self.flush()
        return True

    def _numbers_for_tensors(self, operator: Any, args: Any, kwargs: Any) -> int:
        """Bytes of the tensors that are made of numbers."""
        wanted = self._tensor_arguments.get(operator)
        if wanted is None:
            arguments = operator._schema.arguments
            found = [i for i, argument in enumerate(arguments) if str(argument.type) in ("Tensor", "Optional[Tensor]")]
            wanted = self._tensor_arguments[operator] = (found, [arguments[i].name for i in found])
        given = [args[i] for i in wanted[0] if i < len(args)] + [kwargs[name] for name in wanted[1] if name in kwargs]
        return sum(SCALAR_BYTES.get(type(value), 0) for value in given)

    def _before(self, operator: Any, args: Any, kwargs: Any) -> Operator | None:
        if not self.begun:
            if not any(t.requires_grad and t.is_leaf for t in tensors_in((args, tuple(kwargs.values())))):
                return None
            self.begin()
        self.flush()
        if len(self.program.operators) >= MOST_OPERATORS:
            raise Unreplayable(f"the step calls more than {MOST_OPERATORS} operators")
        reason = sizes_by_values(operator, args)
        if reason is not None:
            if self._functions.open is not None or not self._can_be_given(operator, args, kwargs):
                raise Unreplayable(reason)
            return Operator(INPUT, "", [], {}, stage=self._surroundings.stage())
        name, overload = operator._schema.name, operator._schema.overload_name
        if self._functions.open is not None:
            self._functions.check_memory(operator, args, kwargs)
        elif name == "aten::lift_fresh":
            self._operands.filled(args[0], self.program.operators)
        given = [self._operands.written(a) for a in args], {k: self._operands.written(v) for k, v in kwargs.items()}
        line = self._lines.of_call(self._surroundings.call)
        note = self._note(Operator(name, overload, *given, stage=self._surroundings.stage(), line=line))
        if self._functions.open is None:
            self._names.look(note)
        return note

    def _can_be_given(self, operator: Any, args: Any, kwargs: Any) -> bool:
        """Whether what it returns may come to be here as a batch does: without it no gradient is lost."""
        changes = operator._schema.is_mutable
        return self._tensors.whole and not changes and not any(t.requires_grad for t in tensors_in((args, tuple(kwargs.values()))))

    def _give(self, result: Any) -> None:
        """With its sizes as text: steps with other ones are other steps, not the same at another batch size."""
        for tensor in tensors_in((result,)):
            reason = why_not(tensor)
            if reason is not None:
                raise Unreplayable(reason)
            self.special(INPUT, [self._tensors.adopt(tensor).number], sizes=str(list(tensor.shape)))

    def _after(self, note: Operator, operator: Any, result: Any) -> None:
        if note.op == INPUT:
            return self._give(result)
        note.out = self._operands.returned(result)
        note.shapes = shapes(result)
        if self._functions.open is not None:
            self._functions.note_memory(operator, result)

    def _note(self, operator: Operator) -> Operator:
        import torch

        call = self._surroundings.call
        if call is not None:
            operator.module, operator.call = call.module, call.number
        operator.grad = torch.is_grad_enabled()
        operator.autocast = autocast_dtype(self.program.device)
        running = self._functions.open
        if running is None:
            self.program.operators.append(operator)
            return operator
        operator.grad = operator.grad and not operator.op.startswith("hotlens::")
        self._functions.check(operator)
        if running.backward:
            by = running.application.operator
            operator.module, operator.call, operator.stage = by.module, by.call, by.stage
        running.operators.append(operator)
        return operator

    def flush(self) -> None:
        """What the script has let go of since the last operator."""
        dead = self._tensors.dead
        if not dead:
            return
        gone, dead[:] = self._functions.divided(dead)
        cleared = [k.gradient_of.number for k in gone if k.gradient_of is not None]
        freed = [k.number for k in gone if k.gradient_of is None]
        if cleared:
            self.special("hotlens::clear_gradient", cleared)
        if freed:
            self.special("hotlens::free", freed)

    def special(self, name: str, args: list[Any], **kwargs: Any) -> Operator:
        return self._note(Operator(name, "", args, kwargs, self._surroundings.stage()))

    # -- the backward pass

    def _around_engine(self, run: Method) -> Method:
        def _engine_run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.recording or not self._surroundings.seen:
                return run(outputs, *args, **kwargs)
            note: Operator | None = None
            with self.guarded(), self._interception.paused():
                note = self._before_backward(outputs, args, kwargs)
            with self._surroundings.without_seeing():
                result = run(outputs, *args, **kwargs)
            if note is not None and self.recording:
                with self.guarded(), self._interception.paused():
                    self._after_backward(note, result)
            return result

        return _engine_run_backward

    def _before_backward(self, outputs: Any, args: Any, kwargs: Any) -> Operator:
        if not self.begun:
            self.begin()
        self.flush()
        self._check_gradients()
        given, keep, create, inputs = args[:4]
        told = {"retain_graph": bool(keep), "create_graph": bool(create)}
        more: dict[str, Any] = {name: value for name, value in told.items() if value}
        roots, seeds = self._operands.written(tuple(outputs)), self._operands.written(tuple(given))
        if not kwargs.get("accumulate_grad"):
            return self.special("hotlens::grad", [roots, seeds, self._operands.written(tuple(inputs))], **more)
        if inputs:
            more["inputs"] = self._operands.written(tuple(inputs))
        if len(roots) == 1:
            roots, seeds = roots[0], seeds[0]
        return self.special("hotlens::backward", [roots, seeds], **more)

    def _after_backward(self, note: Operator, result: Any) -> None:
        """What went during the pass was held by its graph alone; the script had let go of it before."""
        gone = [k for k in self._functions.outside(self._tensors.dead) if k.gradient_of is None]
        self._tensors.dead.clear()
        if gone:
            self._names.end(k.number for k in gone)
            at = self.program.operators.index(note)
            self.program.operators.insert(at, Operator("hotlens::free", "", [k.number for k in gone], {}, note.stage))
        if note.op == "hotlens::grad":
            note.out, note.shapes = self._operands.returned(result), shapes(result)
            self._functions.come_out(note.out)
        for parameter in self._parameters:
            if parameter.grad is not None and self._tensors.of(parameter.grad) is None:
                known = self._tensors.of(parameter)
                assert known is not None
                self._gradient(parameter.grad, known, made=True)

    def _check_gradients(self) -> None:
        for parameter in self._parameters:
            known = self._tensors.of(parameter.grad) if parameter.grad is not None else None
            if known is not None and known.gradient_of is None:
                raise Unreplayable("gradients are set by hand (.grad = …)")


def autocast_dtype(device: str) -> str | None:
    """The type that autocast computes in where it is on."""
    import torch

    kind = device.partition(":")[0]
    try:
        return dtype_name(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None
    except (TypeError, AttributeError):  # before torch 2.4
        if kind == "cpu":
            return dtype_name(torch.get_autocast_cpu_dtype()) if torch.is_autocast_cpu_enabled() else None
        return dtype_name(torch.get_autocast_gpu_dtype()) if torch.is_autocast_enabled() else None


def _tells_allocator(operator: Any) -> bool:
    """It computes nothing: another stream uses the tensor. A replay has one stream."""
    return bool(operator._schema.name == "aten::record_stream")


def sizes_by_values(operator: Any, args: Any) -> str | None:
    """The sentence where the size of a result, or of what is written, depends on what is in a tensor."""
    import torch

    name = operator._schema.name
    masks = name.startswith("aten::index") and any(
        isinstance(t, torch.Tensor) and t.dtype in (torch.bool, torch.uint8) for a in args[1:2] if isinstance(a, (list, tuple)) for t in a
    )
    if masks and name.startswith("aten::index_put"):
        return f"how much {name} writes depends on values (a mask)"
    tags = getattr(torch, "Tag", None)
    if masks or (tags is not None and tags.dynamic_output_shape in operator.tags and not name.startswith("aten::index")):
        return f"the size of what {name} returns depends on values (a mask, unique, nonzero)"
    return None
