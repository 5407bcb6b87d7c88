"""The few places where torch is listened to, and their removal.

Warm-up: DataLoader fetches, optimizer steps, backward passes, calls of models until the first backward pass. Once the step is chosen only
the one event that marks it is left, and what tells an evaluation apart (fetches, switches to evaluation): within a step the user's code
runs exactly as without a recorder. Global forward hooks would change what torch.compile makes of a model, so they go as early as can be.
"""

from __future__ import annotations

import functools
import sys
import time
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..compiled.graphs import Graphs
from ..listening.identity import Numbers
from ..listening.loaders import Loaders
from ..listening.optimizers import Optimizers
from ..listening.patches import Method, Patches, not_compiled
from .finder import Boundary
from .measure import OURS


class Listener(Protocol):
    """Told about events on the thread they happen on."""

    def on_fetch(self, loader: int, iterator: Any) -> None: ...
    def on_fetched(self, ns: int) -> None: ...
    def on_exhausted(self, iterator: Any) -> None: ...
    def on_optimizer(self, optimizer: int, in_backward: bool) -> None: ...
    def on_newcomer(self, optimizer: int) -> None: ...
    def on_other_model(self) -> None: ...
    def on_backward(self, fresh: bool) -> None: ...
    def on_forward(self, root: int, gradients: bool) -> None: ...
    def on_evaluation(self, model: Any) -> None: ...  # None: a part of one that was told of
    def on_profiler(self, at_work: bool) -> None: ...
    def starting_workers(self, loader: Any) -> AbstractContextManager[None]: ...


def steps_left(iterator: Any) -> int | None:
    """Batches the loader's epoch still has, where it knows."""
    try:
        return len(iterator) - int(iterator._num_yielded) if iterator is not None else None
    except (TypeError, AttributeError, NotImplementedError):
        return None


class Hooks:
    """Installed patches and handles. `watch` installs all, `keep_only` leaves what the chosen step needs, `remove` leaves nothing.

    The listener calls `remove` in a forked child, and ignores an event that is under way there.
    """

    def __init__(self, listener: Listener, wanted: str | None = None) -> None:
        self.listener = listener
        self.wanted = wanted
        self.compiles = False  # torch.compile was called
        self._apart = False  # what goes around backward is not compiled
        self.graphs = Graphs()  # of what it compiles
        self._patches = Patches()
        self._forward_handle: Any = None
        self.loaders, self._roots = Loaders(), Numbers()
        self.optimizers = Optimizers(
            self._patches,
            lambda number: listener.on_optimizer(number, self._backward_depth > 0),
            listener.on_newcomer,
            listener.on_other_model,
        )
        self._root_types: dict[int, type] = {}
        self._profilers: set[int] = set()  # the script's, at work
        # One count for all threads: on a device, hooks of a backward pass run on a thread of autograd's.
        self._backward_depth = 0
        self._uses_backward = False
        self._switching = False  # a model between training and evaluation

    # -- installing

    def watch(self) -> None:
        self.loaders = Loaders()
        self._patch_fetch()
        self._patch_workers()
        self._patch_evaluation()
        self._patch_profilers()
        self.optimizers.watch_steps(None)
        self._patch_backward()
        self.optimizers.watch_constructors()
        self._patch_compile()
        self._hook_forward()

    def keep_only(self, boundary: Boundary) -> None:
        self.remove()
        self._patch_fetch()
        self._patch_workers()
        self._patch_evaluation()
        self._patch_profilers()
        self.optimizers.watch_others()
        if boundary.by == "optimizer":
            self.optimizers.watch_steps(boundary.key)
        if boundary.by == "forward":
            self._patch_root(boundary.key)
        # Beside the loop that ends its steps so: what looked like inference may turn out a training, and a model that is called without
        # a backward pass may be evaluated.
        if boundary.by in ("backward", "forward") or boundary.inference:
            self._patch_backward()

    def watch_updates(self, by_optimizers: bool) -> None:
        """Beside what is left: until it is known whether a loader feeds updates."""
        if by_optimizers:
            self.optimizers.watch_steps(None)
        else:
            self._patch_backward()

    def remove(self) -> None:
        self._patches.take_back()
        self._unhook_forward()
        self.optimizers.forget_steps()

    # -- data, evaluation

    def _patch_fetch(self) -> None:
        from torch.utils.data import dataloader

        def make(fetch: Method) -> Method:
            def __next__(iterator: Any) -> Any:
                self.listener.on_fetch(self.loaders.fetch(iterator, sys._getframe(1)), iterator)
                began = time.perf_counter_ns()
                try:
                    batch = fetch(iterator)
                except StopIteration:
                    self.listener.on_exhausted(iterator)
                    raise
                if isinstance(iterator, dataloader._SingleProcessDataLoaderIter):
                    self.listener.on_fetched(time.perf_counter_ns() - began)
                return batch

            return __next__

        self._patches.put(dataloader._BaseDataLoaderIter, "__next__", make)

    def _patch_workers(self) -> None:
        from torch.utils.data import dataloader

        def make(init: Method) -> Method:
            def __init__(iterator: Any, loader: Any) -> None:
                with self.listener.starting_workers(loader):
                    init(iterator, loader)

            return __init__

        self._patches.put(dataloader._MultiProcessingDataLoaderIter, "__init__", make)

    def _patch_evaluation(self) -> None:
        """`model.eval()` and `model.train(False)`; the first goes through the second."""
        import torch

        def make(original: Method) -> Method:
            def train(module: Any, mode: bool = True) -> Any:
                within, self._switching = self._switching, True
                try:
                    if mode is False and module.training:
                        self.listener.on_evaluation(None if within else module)
                    return original(module, mode)
                finally:
                    self._switching = within

            return train

        self._patches.put(torch.nn.Module, "train", make)

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
            self._patches.put(owner, start, before)
            self._patches.put(owner, stop, after)

    # -- compilation

    def _patch_compile(self) -> None:
        """torch.compile must not meet hooks of ours in what it compiles."""
        import torch

        def compiling(compile_: Method) -> Method:
            def compile(*args: Any, **kwargs: Any) -> Any:
                self.compiles = True
                self._unhook_forward()
                compiled = compile_(*args, **kwargs)
                self._keep_backward_apart()
                self.graphs.watch()
                return compiled

            return compile

        if hasattr(torch, "compile"):
            self._patches.put(torch, "compile", compiling)

    # -- backward

    def _patch_backward(self) -> None:
        """`Tensor.backward` and every library go through these two names."""
        import torch

        for name in ("backward", "grad"):
            self._patches.put(torch.autograd, name, functools.partial(self._around, name))

    def _keep_backward_apart(self) -> None:
        """The compiler is there from now on; that of torch 2.9 takes up what a compiled function calls of ours."""
        import torch

        if not self._apart:
            self._apart = True
            for name in ("backward", "grad"):
                self._patches.put(torch.autograd, name, functools.partial(not_compiled, recursive=False))

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
            if outer == 0 and (name == "backward" or not (self._uses_backward or self.optimizers.exist)):
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

        self._patches.put(self._root_types[key], "__call__", make)


def _is_outermost(module: Any, frame: Any, implementation: Any) -> bool:
    """No other module's call is around this one's."""
    while frame is not None:
        if frame.f_code is implementation and frame.f_locals.get("self") is not module:
            return False
        frame = frame.f_back
    return True
