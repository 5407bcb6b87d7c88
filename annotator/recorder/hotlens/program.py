"""The program of one step: the operators that Python called, in order, so that the step can be run again without the script.

It begins with the first call of a model, the first update, or the first operator that works on what is trained; what comes before has
made the batch, which is taken as given. Code that is no list of operators (vmap, a DataLoader's fetch) runs unseen: what comes out of it
is taken as given too, or the program is refused where gradients flow through.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .interception import Interception
from .patches import Method, Patches
from .tensors import Known, Role, Tensors, Unreplayable, contents, dtype_name, why_not

BEGIN, END, OWN = "hotlens.begin", "hotlens.end", "hotlens.own"  # ranges in the trace
# Around an operator that gets a number for a tensor: Python made a tensor of it before the interception, and one is made anew.
TWICE = "hotlens.twice#"  # and the bytes
# A step with more calls than this is many steps of something; its program would be too large to keep.
MOST_OPERATORS = 60_000
COMPILED = "torch.compile makes one piece of what it compiles. Profile once with TORCH_COMPILE_DISABLE=1"
CHECKPOINTED = "it uses activation checkpointing or other hooks on saved tensors, whose second forward pass a replay does not make"
SEVERAL = "several processes train together, and what they send each other cannot be replayed"
SCALAR_BYTES: dict[type, int] = {float: 8, int: 8, bool: 1, complex: 16}  # of the tensor that is made of a number
# Nestings of torch.func, by the module that opens and closes them.
TRANSFORMS = {"vmap": ("vmap",), "eager_transforms": ("grad", "jvp", "func")}


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
    out: Any = None
    shapes: Any = None


@dataclass
class Program:
    """What a step has left: no tensor, and modules only as objects to be named."""

    operators: list[Operator] = field(default_factory=list)
    tensors: list[Known] = field(default_factory=list)
    parameters: dict[int, Role] = field(default_factory=dict)  # by identity, for the names of states and gradients
    device: str = "cpu"
    threads: int = 1
    refused: str | None = None


@dataclass
class _Call:
    module: Any
    number: int
    stage: str


class ProgramStep:
    """Records between `start` and `stop`. A fault of its own ends the recording, never the step."""

    def __init__(self, modules: list[Any], optimizers: list[Any]) -> None:
        self.modules = modules
        self.optimizers = optimizers
        self.program = Program()
        self.fault: str | None = None
        self._tensors = Tensors()
        self._parameters: list[Any] = []
        self._interception = Interception(self._called)
        self._patches = Patches()
        self._handles: list[Any] = []
        self._begun = False
        self._on = False
        self._unseen = 0  # nestings of code that is no list of operators
        self._calls: list[_Call] = []
        self._calls_made = 0
        self._stages: list[str] = []
        self._model_called = False
        self._transforms: list[Any] = []  # of torch.func, that are open
        self._function: Any = None
        self._tensor_arguments: dict[Any, tuple[list[int], list[str]]] = {}  # by operator: places and names

    # -- start and stop

    def start(self) -> None:
        self._on = True
        with self._guarded():
            self._listen()

    def _listen(self) -> None:
        import torch

        self._parameters = self._tensors.know_roles(self.modules, self.optimizers)
        self.program.device = next((str(p.device) for p in self._parameters if p.device.type != "cpu"), "cpu")
        self.program.threads = torch.get_num_threads()
        self.program.parameters = {id(p): role for p in self._parameters if (role := self._tensors.role(p)) is not None}
        self._patch()
        self._interception.start()

    def stop(self) -> None:
        self._interception.stop()
        self._patches.take_back()
        self._unpatch_function()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._on and self._begun:
            with self._guarded():
                self._flush()
                self._mark(END)
        if self._on and not self._begun:
            self.refuse("no model was called and no operator worked on what is trained")
        self._on = False
        self.program.tensors = self._tensors.listed()
        self._tensors.forget()
        self._parameters.clear()
        self._calls.clear()

    def abandon(self) -> None:
        """In a forked child."""
        self._on = False
        self._interception.stop()

    def refuse(self, why: str) -> None:
        if self._on:
            self.program.refused = why
            self._on = False

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Around everything of ours: what goes wrong in here is told in the end and is nobody's exception."""
        try:
            yield
        except Unreplayable as reason:
            self.refuse(str(reason))
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"
            self._on = False

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

    def _begin(self) -> None:
        """The model is about to be called for the first time, or something is done to what is trained."""
        self._begun = True
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

        if not self._on or self._unseen or operator.namespace == "profiler":
            return operator(*args, **kwargs)
        note: Operator | None = None
        with self._guarded():
            note = self._before(operator, args, kwargs)
        twice = self._numbers_for_tensors(operator, args, kwargs) if note is not None else 0
        if twice:
            with record_function(f"{TWICE}{twice}"):
                result = operator(*args, **kwargs)
        else:
            result = operator(*args, **kwargs)
        if note is not None and self._on:
            with self._guarded():
                self._after(note, operator, result)
        return result

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
        if not self._begun:
            if not any(t.requires_grad and t.is_leaf for t in _tensors_in((args, tuple(kwargs.values())))):
                return None
            self._begin()
        self._flush()
        if len(self.program.operators) >= MOST_OPERATORS:
            raise Unreplayable(f"the step calls more than {MOST_OPERATORS} operators")
        _check_sizes_are_known(operator, args)
        name, _, overload = operator._schema.name, None, operator._schema.overload_name
        given = [self._value(a) for a in args], {k: self._value(v) for k, v in kwargs.items()}
        return self._note(Operator(name, overload, *given, stage=self._stage()))

    def _after(self, note: Operator, operator: Any, result: Any) -> None:
        note.out = self._made(result)
        note.shapes = _shapes(result)

    def _note(self, operator: Operator) -> Operator:
        import torch

        call = self._calls[-1] if self._calls else None
        if call is not None:
            operator.module, operator.call = call.module, call.number
        operator.grad = torch.is_grad_enabled()
        operator.autocast = autocast_dtype(self.program.device)
        self.program.operators.append(operator)
        return operator

    def _flush(self) -> None:
        """What the script has let go of since the last operator."""
        dead = self._tensors.dead
        if not dead:
            return
        gone, dead[:] = list(dead), []
        cleared = [k.gradient_of.number for k in gone if k.gradient_of is not None]
        freed = [k.number for k in gone if k.gradient_of is None]
        if cleared:
            self._special("hotlens::clear_gradient", cleared)
        if freed:
            self._special("hotlens::free", freed)

    def _special(self, name: str, args: list[Any], **kwargs: Any) -> Operator:
        return self._note(Operator(name, "", args, kwargs, self._stage()))

    def _stage(self) -> str:
        import torch

        if self._calls:
            return self._calls[0].stage
        grad = torch.is_grad_enabled()
        if self._stages and not (grad and self._stages[-1] == "optimizer"):  # else a closure that the optimizer calls
            return self._stages[-1]
        return "loss" if self._model_called and grad else "other"

    # -- values

    def _value(self, value: Any) -> Any:
        import torch

        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return _number(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return [self._value(each) for each in value]
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
        if known.gradient_of is not None:
            known.gradient_of.used = known.used = True
            return {"gradient": known.gradient_of.number}
        if not known.used and not known.made:
            known.used = True
            if known.role is None or known.role.kind == "buffer" or tensor.numel() == 1:
                with self._own():
                    known.facts.update(contents(tensor))
        if known.requires_grad != tensor.requires_grad:  # a switch that is no operator
            known.requires_grad = tensor.requires_grad
            self._special("hotlens::requires_grad", [known.number], value=known.requires_grad)
        if known.storage != tensor.untyped_storage()._cdata:
            raise Unreplayable("the data of a tensor was replaced within the step (.data = …, set_)")
        return {"t": known.number}

    def _newcomer(self, tensor: Any) -> Known:
        """A tensor that none of the operators has made and that did not exist when they began."""
        reason = why_not(tensor)
        if reason is not None:
            raise Unreplayable(reason)
        if tensor.grad_fn is not None:
            raise Unreplayable("gradients flow through code that is no list of operators (torch.func, a function of another language)")
        same = self._tensors.sharing(tensor)
        if same is not None:
            return self._alias(tensor, same)
        known = self._tensors.adopt(tensor)
        if self._tensors.whole:
            self._special("hotlens::input", [known.number])
        return known

    def _alias(self, tensor: Any, same: Known) -> Known:
        """`x.data`, or a view that was made unseen."""
        made = self._tensors.add(tensor)
        known: Any = {"gradient": same.gradient_of.number} if same.gradient_of is not None else {"t": same.number}
        same.used = True
        geometry = [list(tensor.shape), list(tensor.stride()), tensor.storage_offset()]
        operator = self._special("aten::as_strided", [known, *geometry])
        operator.grad, operator.out, operator.shapes = False, made.number, geometry[0]
        return made

    def _made(self, result: Any) -> Any:
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
            return [self._made(each) for each in result]
        return None

    # -- the backward pass

    def _around_engine(self, run: Method) -> Method:
        def _engine_run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._on or self._unseen:
                return run(outputs, *args, **kwargs)
            note: Operator | None = None
            with self._guarded(), self._interception.paused():
                note = self._before_backward(outputs, args, kwargs)
            with self._without_seeing():
                result = run(outputs, *args, **kwargs)
            if note is not None and self._on:
                with self._guarded(), self._interception.paused():
                    self._after_backward(note, result)
            return result

        return _engine_run_backward

    def _before_backward(self, outputs: Any, args: Any, kwargs: Any) -> Operator:
        if not self._begun:
            self._begin()
        self._flush()
        self._check_gradients()
        given, keep, create, inputs = args[:4]
        told = {"retain_graph": bool(keep), "create_graph": bool(create)}
        more: dict[str, Any] = {name: value for name, value in told.items() if value}
        roots, seeds = self._value(tuple(outputs)), self._value(tuple(given))
        if not kwargs.get("accumulate_grad"):
            return self._special("hotlens::grad", [roots, seeds, self._value(tuple(inputs))], **more)
        if inputs:
            more["inputs"] = self._value(tuple(inputs))
        if len(roots) == 1:
            roots, seeds = roots[0], seeds[0]
        return self._special("hotlens::backward", [roots, seeds], **more)

    def _after_backward(self, note: Operator, result: Any) -> None:
        """What went during the pass was held by its graph alone; the script had let go of it before."""
        gone = [k for k in self._tensors.dead if k.gradient_of is None]
        self._tensors.dead.clear()
        if gone:
            at = self.program.operators.index(note)
            self.program.operators.insert(at, Operator("hotlens::free", "", [k.number for k in gone], {}, note.stage))
        if note.op == "hotlens::grad":
            note.out, note.shapes = self._made(result), _shapes(result)
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

    # -- what is told beside the operators

    def _patch(self) -> None:
        import torch
        from torch.autograd.graph import saved_tensors_hooks
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
        from torch.utils.data import dataloader

        put = self._patches.put
        put(torch.autograd, "_engine_run_backward", self._around_engine)
        put(torch, "clear_autocast_cache", self._then("hotlens::clear_autocast_cache"))
        put(saved_tensors_hooks, "__enter__", self._refusing(CHECKPOINTED))
        put(torch.Tensor, "register_hook", self._refusing("hooks on gradients run Python within the backward pass"))
        put(torch._ops.HigherOrderOperator, "__call__", self._unseen_within)
        for loader in (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter):
            put(loader, "_next_data", self._unseen_within)
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            put(owner, "zero_grad", self._within_stage("zero_grad"))
        self._patch_function()
        self._patch_transforms()
        self._handles += [
            register_module_forward_pre_hook(self._module_entered),
            register_module_forward_hook(self._module_left, always_call=True),
            register_optimizer_step_pre_hook(self._update_begins),
            register_optimizer_step_post_hook(self._update_ends),
        ]

    def _patch_transforms(self) -> None:
        import importlib

        for name, kinds in TRANSFORMS.items():
            with contextlib.suppress(ImportError):
                module = importlib.import_module(f"torch._functorch.{name}")
                for kind in kinds:
                    for change, by in (("increment", 1), ("decrement", -1)):
                        if hasattr(module, f"_{kind}_{change}_nesting"):
                            self._patches.put(module, f"_{kind}_{change}_nesting", functools.partial(self._nesting, by))

    def _nesting(self, by: int, change: Method) -> Method:
        entered: list[Any] = self._transforms

        def nesting(*args: Any, **kwargs: Any) -> Any:
            result = change(*args, **kwargs)
            if by > 0:
                entered.append(self._without_seeing())
                entered[-1].__enter__()
            elif entered:
                entered.pop().__exit__(None, None, None)
            return result

        return nesting

    @contextlib.contextmanager
    def _without_seeing(self) -> Iterator[None]:
        self._unseen += 1
        try:
            with self._interception.paused():
                yield
        finally:
            self._unseen -= 1

    def _unseen_within(self, run: Method) -> Method:
        def within(*args: Any, **kwargs: Any) -> Any:
            with self._without_seeing():
                return run(*args, **kwargs)

        return within

    def _within_stage(self, stage: str) -> Any:
        def make(run: Method) -> Method:
            def within(*args: Any, **kwargs: Any) -> Any:
                self._stages.append(stage)
                try:
                    return run(*args, **kwargs)
                finally:
                    with self._guarded(), self._interception.paused():
                        if self._on and self._begun and not self._unseen:
                            self._flush()
                    self._stages.pop()

            return within

        return make

    def _then(self, name: str) -> Any:
        def make(run: Method) -> Method:
            def then(*args: Any, **kwargs: Any) -> Any:
                result = run(*args, **kwargs)
                if self._on and self._begun and not self._unseen:
                    with self._guarded():
                        self._flush()
                        self._special(name, [])
                return result

            return then

        return make

    def _refusing(self, why: str) -> Any:
        def make(run: Method) -> Method:
            def refusing(*args: Any, **kwargs: Any) -> Any:
                if not self._unseen:
                    self.refuse(why)
                return run(*args, **kwargs)

            return refusing

        return make

    def _patch_function(self) -> None:
        """A Python autograd function: its backward pass is code."""
        import torch

        saved: Any = vars(torch.autograd.Function)["apply"]

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if self._on and not self._unseen and torch.is_grad_enabled() and any(t.requires_grad for t in _tensors_in(args)):
                self.refuse(f"the custom autograd function {cls.__name__} has a backward pass that is code, not operators")
            with self._without_seeing():
                return saved.__func__(cls, *args, **kwargs)

        torch.autograd.Function.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
        self._function = saved

    def _unpatch_function(self) -> None:
        import torch

        if self._function is not None:
            torch.autograd.Function.apply = self._function  # type: ignore[method-assign]
            self._function = None

    def _module_entered(self, module: Any, args: Any) -> None:
        with self._guarded():
            if not self._on or self._unseen:
                return
            trained = next(module.parameters(), None) is not None
            if not self._begun and not trained:
                return
            if not self._begun:
                with self._interception.paused():
                    self._begin()
            outer = self._calls[0].stage if self._calls else None
            stage = outer or ("forward" if trained or not self._model_called else "loss")
            self._model_called = True
            self._calls.append(_Call(module, self._calls_made, stage))
            self._calls_made += 1

    def _module_left(self, module: Any, args: Any, result: Any) -> None:
        """With what an exception has left open inside."""
        while any(call.module is module for call in self._calls):
            if self._calls.pop().module is module:
                break

    def _update_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        with self._guarded(), self._interception.paused():
            if self._on and not self._begun and not self._unseen:
                self._begin()
        self._stages.append("optimizer")

    def _update_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if "optimizer" in self._stages:
            self._stages.remove("optimizer")


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


def _check_sizes_are_known(operator: Any, args: Any) -> None:
    """Raises Unreplayable where the size of a result depends on what is in a tensor."""
    import torch

    tags = getattr(torch, "Tag", None)
    masks = operator._schema.name.startswith("aten::index") and any(
        isinstance(t, torch.Tensor) and t.dtype in (torch.bool, torch.uint8) for a in args[1:2] if isinstance(a, (list, tuple)) for t in a
    )
    if masks or (tags is not None and tags.dynamic_output_shape in operator.tags and not operator._schema.name.startswith("aten::index")):
        raise Unreplayable(f"the size of what {operator._schema.name} returns depends on values (a mask, unique, nonzero)")


def _tensors_in(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors_in(each)


def _shapes(result: Any) -> Any:
    import torch

    if isinstance(result, torch.Tensor):
        return list(result.shape)
    return [_shapes(each) for each in result] if isinstance(result, (list, tuple)) else None


def _number(value: float) -> Any:
    if math.isnan(value):
        return {"nan": 1}
    return {"inf": 1 if value > 0 else -1} if math.isinf(value) else value
