"""Where in the step an operator is called: in which stage and module, and whether in code that is no list of operators.

Code that is none (vmap, a DataLoader's fetch) runs unseen: what comes out of it is taken as given, or the program is refused where
gradients flow through.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Callable, Protocol

from ..listening.patches import Method, Patches
from . import blocks
from .interception import Interception

CHECKPOINTED = "it uses hooks on saved tensors, or activation checkpointing whose second forward pass a replay does not make"
TRANSFORMED = "the model runs within torch.func (vmap, grad), where one operator works for many tensors"
# Nestings of torch.func, by the module that opens and closes them.
TRANSFORMS = {"vmap": ("vmap",), "eager_transforms": ("grad", "jvp", "func")}


class Listener(Protocol):
    """Who records the step."""

    recording: bool
    begun: bool

    def guarded(self) -> AbstractContextManager[None]:
        """Around everything of ours that runs inside the script's calls."""

    def begin(self) -> None:
        """The script calls the model, or works on what is trained, for the first time."""

    def flush(self) -> None:
        """Notes what the script has let go of."""

    def special(self, name: str, args: list[Any], **kwargs: Any) -> Any:
        """Adds an operator of ours."""

    def begin_block(self, inputs: list[Any]) -> None:
        """What is called from here keeps nothing for the backward pass and runs again in it."""

    def end_block(self) -> None:
        """The block that is open."""

    def apply_function(self, cls: Any, run: Any, args: Any, kwargs: Any) -> Any:
        """Applies a custom autograd function that gradients flow through."""

    def refuse(self, why: str) -> None:
        """The step cannot be replayed."""


@dataclass
class Call:
    module: Any
    number: int
    stage: str


class Surroundings:
    def __init__(self, listener: Listener, interception: Interception) -> None:
        self._listener = listener
        self._interception = interception
        self._patches = Patches()
        self._handles: list[Any] = []
        self._function: Any = None
        self._unseen = 0  # nestings
        self._calls: list[Call] = []
        self._calls_made = 0
        self._stages: list[str] = []
        self._model_called = False
        self._transforms: list[Any] = []  # of torch.func, that are open

    @property
    def seen(self) -> bool:
        return self._unseen == 0

    @property
    def call(self) -> Call | None:
        """The innermost one that is open."""
        return self._calls[-1] if self._calls else None

    def stage(self) -> str:
        import torch

        if self._calls:
            return self._calls[0].stage
        grad = torch.is_grad_enabled()
        if self._stages and not (grad and self._stages[-1] == "optimizer"):  # else a closure that the optimizer calls
            return self._stages[-1]
        return "loss" if self._model_called and grad else "other"

    def start(self, around_engine: Callable[[Method], Method]) -> None:
        """`around_engine`: what stands in place of the backward pass."""
        import torch
        from torch.autograd.graph import saved_tensors_hooks
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
        from torch.utils.data import dataloader

        put = self._patches.put
        put(torch.autograd, "_engine_run_backward", around_engine)
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
        self._patch_checkpointing()
        self._handles += [
            register_module_forward_pre_hook(self._module_entered),
            register_module_forward_hook(self._module_left, always_call=True),
            register_optimizer_step_pre_hook(self._update_begins),
            register_optimizer_step_post_hook(self._update_ends),
        ]

    def stop(self) -> None:
        self._patches.take_back()
        self._unpatch_function()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def forget(self) -> None:
        """Of calls that are open; later, because what the step has let go of is noted where it was."""
        self._calls.clear()

    def _patch_checkpointing(self) -> None:
        module = importlib.import_module(blocks.MODULE)
        if hasattr(module, blocks.FORWARD):
            self._patches.put(module, blocks.FORWARD, self._block)

    def _block(self, forward: Method) -> Method:
        """`forward` runs up to where the block begins, and from where it has ended."""

        def block(*args: Any, **kwargs: Any) -> Iterator[None]:
            import torch

            around = forward(*args, **kwargs)
            marked = self._listener.recording and self.seen and torch.is_grad_enabled()
            with self.without_seeing():
                next(around)
            if marked:
                with self._listener.guarded():
                    self._begin_block(blocks.keeps_its_inputs_alone(forward, args, kwargs), blocks.inputs_of(forward, args, kwargs))
            try:
                yield
            except BaseException as error:
                if marked:
                    self._listener.refuse(CHECKPOINTED)
                around.throw(error)
                raise
            if marked:
                with self._listener.guarded():
                    self._listener.flush()
                    self._listener.end_block()
            with self.without_seeing():
                next(around, None)

        return block

    def _begin_block(self, alone: bool, inputs: list[Any]) -> None:
        if not alone:
            return self._listener.refuse(blocks.SELECTIVE)
        if not self._listener.begun:
            with self._interception.paused():
                self._listener.begin()
        self._listener.flush()
        self._listener.begin_block(inputs)

    def _patch_transforms(self) -> None:
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
                entered.append(self.without_seeing())
                entered[-1].__enter__()
            elif entered:
                entered.pop().__exit__(None, None, None)
            return result

        return nesting

    @contextlib.contextmanager
    def without_seeing(self) -> Iterator[None]:
        self._unseen += 1
        try:
            with self._interception.paused():
                yield
        finally:
            self._unseen -= 1

    @contextlib.contextmanager
    def seeing(self) -> Iterator[None]:
        """Within `without_seeing`."""
        unseen, self._unseen = self._unseen, 0
        try:
            with self._interception.resumed():
                yield
        finally:
            self._unseen = unseen

    def _unseen_within(self, run: Method) -> Method:
        def within(*args: Any, **kwargs: Any) -> Any:
            with self.without_seeing():
                return run(*args, **kwargs)

        return within

    def _within_stage(self, stage: str) -> Any:
        def make(run: Method) -> Method:
            def within(*args: Any, **kwargs: Any) -> Any:
                self._stages.append(stage)
                try:
                    return run(*args, **kwargs)
                finally:
                    with self._listener.guarded(), self._interception.paused():
                        if self._listener.recording and self._listener.begun and self.seen:
                            self._listener.flush()
                    self._stages.pop()

            return within

        return make

    def _then(self, name: str) -> Any:
        def make(run: Method) -> Method:
            def then(*args: Any, **kwargs: Any) -> Any:
                result = run(*args, **kwargs)
                if self._listener.recording and self._listener.begun and self.seen:
                    with self._listener.guarded():
                        self._listener.flush()
                        self._listener.special(name, [])
                return result

            return then

        return make

    def _refusing(self, why: str) -> Any:
        def make(run: Method) -> Method:
            def refusing(*args: Any, **kwargs: Any) -> Any:
                if self.seen:
                    self._listener.refuse(why)
                return run(*args, **kwargs)

            return refusing

        return make

    def _patch_function(self) -> None:
        """A Python autograd function: its backward pass is code."""
        import torch

        saved: Any = vars(torch.autograd.Function)["apply"]

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            run = saved.__func__
            has_node = torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
            if not self._listener.recording or not self.seen or not has_node:
                return run(cls, *args, **kwargs)
            return self._listener.apply_function(cls, run, args, kwargs)

        torch.autograd.Function.apply = classmethod(apply)  # type: ignore[method-assign, assignment]
        self._function = saved

    def _unpatch_function(self) -> None:
        import torch

        if self._function is not None:
            torch.autograd.Function.apply = self._function  # type: ignore[method-assign]
            self._function = None

    def _module_entered(self, module: Any, args: Any) -> None:
        with self._listener.guarded():
            if not self._listener.recording or (self._unseen and not self._transforms):
                return
            trained = next(module.parameters(), None) is not None
            if self._transforms:
                return self._listener.refuse(TRANSFORMED) if trained else None
            if not self._listener.begun and not trained:
                return
            if not self._listener.begun:
                with self._interception.paused():
                    self._listener.begin()
            outer = self._calls[0].stage if self._calls else None
            stage = outer or ("forward" if trained or not self._model_called else "loss")
            self._model_called = True
            self._calls.append(Call(module, self._calls_made, stage))
            self._calls_made += 1

    def _module_left(self, module: Any, args: Any, result: Any) -> None:
        """With what an exception has left open inside."""
        while any(call.module is module for call in self._calls):
            if self._calls.pop().module is module:
                break

    def _update_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        with self._listener.guarded(), self._interception.paused():
            if self._listener.recording and not self._listener.begun and self.seen:
                self._listener.begin()
        self._stages.append("optimizer")

    def _update_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if "optimizer" in self._stages:
            self._stages.remove("optimizer")
