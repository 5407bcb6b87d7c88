"""Which optimizers a script makes, and when one of them has stepped.

A step that is captured in a CUDA graph is none: nothing runs, and no event that is recorded meanwhile has a time. Each replay of the graph
is one.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Collection
from typing import Any, Callable

from .identity import Numbers
from .patches import Method, Patches

STEP_RANGE = "Optimizer.step#"  # torch opens it around an optimizer's step and calls the hooks inside


class Optimizers:
    """`stepped(number)` is told of each step, or of those of one optimizer alone; `newcomer(number)` then of one that has not been there
    before; `another()` before one of another model steps, where those that are known are gone: a search over sizes."""

    def __init__(
        self, patches: Patches, stepped: Callable[[int], None], newcomer: Callable[[int], None], another: Callable[[], None]
    ) -> None:
        self._patches = patches
        self._stepped_now = stepped
        self._newcomer = newcomer
        self._another = another
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()  # made later, of other shapes than those that had stepped
        self._other_handle: Any = None
        self._numbers = Numbers()
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        self._stepped: weakref.WeakSet[Any] = weakref.WeakSet()
        self._step_handle: Any = None
        self._told: Callable[[Any], None] | None = None  # of an optimizer that has stepped
        self._in_range: list[tuple[int, Any]] = []  # (thread, optimizer): stepped, torch's range around it still open
        self._scaled: int | None = None  # the optimizer that a GradScaler is stepping
        self._capturing: Any = None  # a CUDA graph
        self._captured: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # by graph, the optimizer that stepped last in it

    @property
    def exist(self) -> bool:
        return bool(self._made)

    def idle(self) -> int:
        """Optimizers that exist and have not stepped yet."""
        return sum(o not in self._stepped for o in self._made)

    def stepped(self) -> list[Any]:
        """Those that still exist, by class: what has not stepped has no state yet."""
        return sorted((o for o in self._made if o in self._stepped), key=lambda o: type(o).__name__)

    def of(self, numbers: Collection[int]) -> frozenset[int]:
        """`id` of those with these numbers that still exist."""
        return frozenset(id(o) for o in self._stepped if self._numbers.of(o, None) in numbers)

    def watch_constructors(self) -> None:
        """An optimizer that exists says that training will come."""
        import torch

        def noting(made: Method) -> Method:
            def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
                self._made.add(optimizer)
                made(optimizer, *args, **kwargs)

            return __init__

        self._patches.put(torch.optim.Optimizer, "__init__", noting)

    def watch_others(self) -> None:
        """The step is known: what is made from now on for parameters of other shapes is of another model."""
        import torch
        from torch.optim import optimizer as module

        known = {_shapes(optimizer) for optimizer in self._stepped}

        def noting(made: Method) -> Method:
            def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
                made(optimizer, *args, **kwargs)
                if _shapes(optimizer) in known:
                    self._stepped.add(optimizer)
                    return
                self._others.add(optimizer)
                if self._other_handle is None:
                    self._other_handle = module.register_optimizer_step_post_hook(self._after_step_of_other)

            return __init__

        self._patches.put(torch.optim.Optimizer, "__init__", noting)

    def _after_step_of_other(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if optimizer in self._others and not self._stepped:
            self._another()

    def watch_steps(self, only: int | None) -> None:
        import torch
        from torch.optim import optimizer as module

        known, newcomer = self._numbers.given, 0

        def replaces(optimizer: Any, number: int) -> bool:
            """One that is new since, and steps a second time while the one that ends the steps does not."""
            nonlocal newcomer
            if number <= known:
                newcomer = 0
            elif number == newcomer:
                return only is not None and self._numbers.take_over(optimizer, only)
            else:
                newcomer = number
                self._newcomer(number)
            return False

        def told(optimizer: Any) -> None:
            if self._capturing is not None:
                self._captured[self._capturing] = optimizer
                return
            number = self._numbers.of(optimizer, sys._getframe(1))
            if only is not None and number != only and replaces(optimizer, number):
                number = only
            if only is None or number == only:
                self._stepped.add(optimizer)
                self._stepped_now(number)

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
            self._step_handle = module.register_optimizer_step_post_hook(self._after_step)
            self._patches.put(torch.autograd.profiler.record_function, "__exit__", self._after_step_range)
        scaler = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
        self._patches.put(scaler, "step", make)
        self._watch_graphs()

    def _watch_graphs(self) -> None:
        import torch

        def begin(capture: Method) -> Method:
            def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> None:
                capture(graph, *args, **kwargs)
                self._capturing = graph

            return capture_begin

        def end(capture: Method) -> Method:
            def capture_end(graph: Any) -> Any:
                self._capturing = None
                return capture(graph)

            return capture_end

        def replayed(replay: Method) -> Method:
            def replay_(graph: Any) -> Any:
                result = replay(graph)
                optimizer = self._captured.get(graph)
                if optimizer is not None:
                    self._tell(optimizer)
                return result

            return replay_

        for name, make in (("capture_begin", begin), ("capture_end", end), ("replay", replayed)):
            self._patches.put(torch.cuda.CUDAGraph, name, make)

    def forget_steps(self) -> None:
        """With the patches taken back nothing is told any more."""
        self._told = None
        self._in_range.clear()
        if self._step_handle is not None:
            self._step_handle.remove()
            self._step_handle = None
        if self._other_handle is not None:
            self._other_handle.remove()
            self._other_handle = None

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """A boundary here would lie inside torch's range, which then reaches from one step into the next: its end is waited for."""
        if self._told is not None and id(optimizer) != self._scaled:
            self._in_range.append((threading.get_ident(), optimizer))

    def _after_step_range(self, leave: Method) -> Method:
        in_range, get_thread, tell, prefix = self._in_range, threading.get_ident, self._tell, STEP_RANGE

        def __exit__(range_: Any, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
            result = leave(range_, exc_type, exc_value, traceback)
            if in_range and in_range[-1][0] == get_thread() and range_.name.startswith(prefix):
                tell(in_range.pop()[1])
            return result

        return __exit__

    def _tell(self, optimizer: Any) -> None:
        if self._told is not None:
            self._told(optimizer)


def _shapes(optimizer: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(parameter.shape) for group in optimizer.param_groups for parameter in group["params"])
