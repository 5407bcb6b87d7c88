"""The few places where torch is listened to, and their removal.

Warm-up: DataLoader fetches, optimizer steps, backward passes, calls of models until the first backward pass. Once the step is chosen only
the one event that marks it is left, and what tells an evaluation apart (fetches, switches to evaluation): within a step the user's code
runs exactly as without a recorder. Global forward hooks would change what torch.compile makes of a model, so they go as early as can be.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Callable, Protocol

from .identity import Numbers
from .loaders import Loaders
from .measure import OURS
from .steps import Boundary

Method = Callable[..., Any]
STEP_RANGE = "Optimizer.step#"  # torch opens it around an optimizer's step and calls the hooks inside


class Listener(Protocol):
    """Told about events on the thread they happen on."""

    def on_fetch(self, loader: int, iterator: Any) -> None: ...
    def on_exhausted(self, iterator: Any) -> None: ...
    def on_optimizer(self, optimizer: int, in_backward: bool) -> None: ...
    def on_newcomer(self, optimizer: int) -> None: ...
    def on_backward(self, fresh: bool) -> None: ...
    def on_forward(self, root: int, gradients: bool) -> None: ...
    def on_evaluation(self) -> None: ...
    def on_profiler(self, at_work: bool) -> None: ...


def steps_left(iterator: Any) -> int | None:
    """Batches the loader's epoch still has, where it knows."""
    try:
        return len(iterator) - int(iterator._num_yielded) if iterator is not None else None
    except (TypeError, AttributeError, NotImplementedError):
        return None


@dataclass
class _Patch:
    owner: Any
    name: str
    original: Any
    inherited: bool  # the owner had no attribute of its own


class Hooks:
    """Installed patches and handles. `watch` installs all, `keep_only` leaves what the chosen step needs, `remove` leaves nothing.

    The listener calls `remove` in a forked child, and ignores an event that is under way there.
    """

    def __init__(self, listener: Listener, wanted: str | None = None) -> None:
        self.listener = listener
        self.wanted = wanted
        self.compiles = False  # torch.compile was called
        self._patches: list[_Patch] = []
        self._step_handle: Any = None
        self._told: Callable[[Any], None] | None = None  # of an optimizer that has stepped
        self._in_range: list[tuple[int, Any]] = []  # (thread, optimizer): stepped, torch's range around it still open
        self._forward_handle: Any = None
        self.loaders, self._optimizers, self._roots = Loaders(), Numbers(), Numbers()
        self._root_types: dict[int, type] = {}
        self._made_optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._stepped_optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._profilers: set[int] = set()  # the script's, at work
        # One count for all threads: on a device, hooks of a backward pass run on a thread of autograd's.
        self._backward_depth = 0
        self._scaled: int | None = None  # the optimizer that a GradScaler is stepping
        self._uses_backward = False

    # -- installing

    def watch(self) -> None:
        self.loaders = Loaders()
        self._patch_fetch()
        self._patch_evaluation()
        self._patch_profilers()
        self._hook_optimizer(None)
        self._patch_backward()
        self._patch_constructors()
        self._hook_forward()

    def keep_only(self, boundary: Boundary) -> None:
        self.remove()
        self._patch_fetch()
        self._patch_evaluation()
        self._patch_profilers()
        if boundary.by == "optimizer":
            self._hook_optimizer(boundary.key)
        if boundary.by == "forward":
            self._patch_root(boundary.key)
        # Beside the loop that ends its steps so: what looked like inference may turn out a training, and a model that is called without
        # a backward pass may be evaluated.
        if boundary.by in ("backward", "forward") or boundary.inference:
            self._patch_backward()

    def watch_updates(self, by_optimizers: bool) -> None:
        """Beside what is left: until it is known whether a loader feeds updates."""
        if by_optimizers:
            self._hook_optimizer(None)
        else:
            self._patch_backward()

    def remove(self) -> None:
        for patch in reversed(self._patches):
            if patch.inherited:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, patch.original)
        self._patches.clear()
        self._unhook_forward()
        self._told = None
        self._in_range.clear()
        if self._step_handle is not None:
            self._step_handle.remove()
            self._step_handle = None

    def idle_optimizers(self) -> int:
        """Optimizers that exist and have not stepped yet."""
        return sum(o not in self._stepped_optimizers for o in self._made_optimizers)

    def stepped_optimizers(self) -> list[Any]:
        """Those that still exist, by class: what has not stepped has no state yet."""
        return sorted((o for o in self._made_optimizers if o in self._stepped_optimizers), key=lambda o: type(o).__name__)

    def optimizers_of(self, numbers: Collection[int]) -> frozenset[int]:
        """`id` of those with these numbers that still exist."""
        return frozenset(id(o) for o in self._stepped_optimizers if self._optimizers.of(o, None) in numbers)

    def _patch(self, owner: Any, name: str, make: Callable[[Method], Method]) -> None:
        original = getattr(owner, name)
        inherited = isinstance(owner, type) and name not in vars(owner)
        setattr(owner, name, functools.wraps(original)(make(original)))
        self._patches.append(_Patch(owner, name, original, inherited))

    # -- data, evaluation

    def _patch_fetch(self) -> None:
        from torch.utils.data import dataloader

        def make(fetch: Method) -> Method:
            def __next__(iterator: Any) -> Any:
                self.listener.on_fetch(self.loaders.fetch(iterator, sys._getframe(1)), iterator)
                try:
                    return fetch(iterator)
                except StopIteration:
                    self.listener.on_exhausted(iterator)
                    raise

            return __next__

        self._patch(dataloader._BaseDataLoaderIter, "__next__", make)

    def _patch_evaluation(self) -> None:
        """`model.eval()` and `model.train(False)`; the first goes through the second."""
        import torch

        def make(original: Method) -> Method:
            def train(module: Any, mode: bool = True) -> Any:
                if mode is False and module.training:
                    self.listener.on_evaluation()
                return original(module, mode)

            return train

        self._patch(torch.nn.Module, "train", make)

    def _patch_profilers(self) -> None:
        """The script's own: its schedule may wait, so it is at work from its start and not from its first event."""
        import torch

        def before(start: Method) -> Method:
            def told(profiler: Any) -> Any:
                if not hasattr(profiler, OURS):
                    self._profilers.add(id(profiler))
                    self.listener.on_profiler(True)
                return start(profiler)

            return told

        def after(stop: Method) -> Method:
            def told(profiler: Any, *args: Any) -> Any:
                try:
                    return stop(profiler, *args)
                finally:
                    if id(profiler) in self._profilers:
                        self._profilers.discard(id(profiler))
                        self.listener.on_profiler(bool(self._profilers))

            return told

        for owner, start, stop in ((torch.profiler.profile, "start", "stop"), (torch.autograd.profiler.profile, "__enter__", "__exit__")):
            self._patch(owner, start, before)
            self._patch(owner, stop, after)

    # -- optimizers

    def _hook_optimizer(self, only: int | None) -> None:
        import torch
        from torch.optim import optimizer as module

        known, newcomer = self._optimizers.given, 0

        def replaces(optimizer: Any, number: int) -> bool:
            """One that is new since, and steps a second time while the one that ends the steps does not."""
            nonlocal newcomer
            if number <= known:
                newcomer = 0
            elif number == newcomer:
                return only is not None and self._optimizers.take_over(optimizer, only)
            else:
                newcomer = number
                self.listener.on_newcomer(number)
            return False

        def told(optimizer: Any) -> None:
            number = self._optimizers.of(optimizer, sys._getframe(1))
            if only is not None and number != only and replaces(optimizer, number):
                number = only
            if only is None or number == only:
                self._stepped_optimizers.add(optimizer)
                self.listener.on_optimizer(number, self._backward_depth > 0)

        def make(step: Method) -> Method:
            def scaled_step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
                self._scaled = id(optimizer)
                try:
                    result = step(scaler, optimizer, *args, **kwargs)
                finally:
                    self._scaled = None
                told(optimizer)  # also when the scaler left the step out because of infinite gradients
                return result

            return scaled_step

        self._told = told
        if self._step_handle is None:
            self._step_handle = module.register_optimizer_step_post_hook(self._optimizer_stepped)
            self._patch(torch.autograd.profiler.record_function, "__exit__", self._after_step_range)
        scaler = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
        self._patch(scaler, "step", make)

    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """A boundary here would lie inside torch's range, which then reaches from one step into the next: its end is waited for."""
        if self._told is not None and id(optimizer) != self._scaled:
            self._in_range.append((threading.get_ident(), optimizer))

    def _after_step_range(self, leave: Method) -> Method:
        in_range, get_thread, tell, prefix = self._in_range, threading.get_ident, self._tell_stepped, STEP_RANGE

        def __exit__(range_: Any, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
            result = leave(range_, exc_type, exc_value, traceback)
            if in_range and in_range[-1][0] == get_thread() and range_.name.startswith(prefix):
                tell(in_range.pop()[1])
            return result

        return __exit__

    def _tell_stepped(self, optimizer: Any) -> None:
        if self._told is not None:
            self._told(optimizer)

    def _patch_constructors(self) -> None:
        """An optimizer that exists says that training will come; torch.compile must not meet hooks of ours in what it compiles."""
        import torch

        def noting(made: Method) -> Method:
            def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
                self._made_optimizers.add(optimizer)
                made(optimizer, *args, **kwargs)

            return __init__

        def compiling(compile_: Method) -> Method:
            def compile(*args: Any, **kwargs: Any) -> Any:
                self.compiles = True
                self._unhook_forward()
                return compile_(*args, **kwargs)

            return compile

        self._patch(torch.optim.Optimizer, "__init__", noting)
        if hasattr(torch, "compile"):
            self._patch(torch, "compile", compiling)

    # -- backward

    def _patch_backward(self) -> None:
        """`Tensor.backward` and every library go through these two names."""
        import torch

        for name in ("backward", "grad"):
            self._patch(torch.autograd, name, functools.partial(self._around, name))

    def _around(self, name: str, run: Method) -> Method:
        def around(*args: Any, **kwargs: Any) -> Any:
            outer = self._backward_depth
            fresh = outer == 0 and self.gradients_are_fresh()
            self._backward_depth = outer + 1
            try:
                result = run(*args, **kwargs)
            finally:
                self._backward_depth = outer
            # torch.autograd.grad is the training pass only of a loop that never calls backward and has no optimizer; elsewhere it is
            # a penalty term, or a step within the step.
            self._uses_backward = self._uses_backward or name == "backward"
            if outer == 0 and (name == "backward" or not (self._uses_backward or self._made_optimizers)):
                if self.wanted != "forward":
                    self._unhook_forward()
                self.listener.on_backward(fresh)
            return result

        return around

    def gradients_are_fresh(self) -> bool:
        """Replaced by the session while it matters: whether the parameters' gradients are empty."""
        return True

    # -- calls of models

    def _hook_forward(self) -> None:
        import torch
        from torch.nn.modules.module import register_module_forward_pre_hook

        implementation = torch.nn.Module._call_impl.__code__
        is_compiling = torch.compiler.is_compiling if hasattr(torch, "compiler") else bool  # torch 2.0 has no word for it

        def entered(module: Any, args: Any) -> None:
            if is_compiling() or self._backward_depth > 0:
                return
            if _is_outermost(module, sys._getframe(1), implementation) and next(module.parameters(), None) is not None:
                number = self._roots.of(module, sys._getframe(1))
                self._root_types[number] = type(module)
                self.listener.on_forward(number, module.training and torch.is_grad_enabled())

        self._forward_handle = register_module_forward_pre_hook(entered)

    def _unhook_forward(self) -> None:
        if self._forward_handle is not None:
            self._forward_handle.remove()
            self._forward_handle = None

    def _patch_root(self, key: int) -> None:
        """On the model's class and not as a hook on the model, which would be copied and saved with it."""
        nested = 0

        def make(call: Method) -> Method:
            def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
                nonlocal nested
                if self._roots.of(module, sys._getframe(1)) != key:
                    return call(module, *args, **kwargs)
                if nested == 0 and self._backward_depth == 0:
                    self.listener.on_forward(key, False)
                nested += 1
                try:
                    return call(module, *args, **kwargs)
                finally:
                    nested -= 1

            return __call__

        self._patch(self._root_types[key], "__call__", make)


def _is_outermost(module: Any, frame: Any, implementation: Any) -> bool:
    """No other module's call is around this one's."""
    while frame is not None:
        if frame.f_code is implementation and frame.f_locals.get("self") is not module:
            return False
        frame = frame.f_back
    return True
