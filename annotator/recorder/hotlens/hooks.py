"""The few places where torch is listened to, and their removal.

Warm-up: DataLoader fetches, optimizer steps, backward passes. Once the step is chosen only the one event that marks it is left: between two
boundaries the user's code runs exactly as without a recorder.
"""

from __future__ import annotations

import functools
import os
import threading
from dataclasses import dataclass
from typing import Any, Callable, Protocol

from .steps import Boundary


class Listener(Protocol):
    """Told about events; `boundary_*` only for the chosen one."""

    def on_fetch(self, loader: int, iterator: Any) -> None: ...
    def on_exhausted(self, loader: int) -> None: ...
    def on_optimizer(self, optimizer: int, in_backward: bool) -> None: ...
    def on_backward(self, fresh: bool) -> None: ...


def loader_key(iterator: Any) -> int:
    """One number per DataLoader: its sampler outlives the iterators of the epochs."""
    return id(getattr(iterator, "_index_sampler", iterator))


@dataclass
class _Patch:
    owner: Any
    name: str
    original: Any


class Hooks:
    """Installed patches and handles. `watch` installs all, `keep_only` leaves the chosen one, `remove` leaves nothing."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.pid = os.getpid()
        self._patches: list[_Patch] = []
        self._handles: list[Any] = []
        self._backward_depth = threading.local()
        self._uses_backward = False

    # -- installing

    def watch(self) -> None:
        self._patch_fetch(None)
        self._hook_optimizer(None)
        self._patch_backward()

    def keep_only(self, boundary: Boundary) -> None:
        self.remove()
        if boundary.by == "loader":
            self._patch_fetch(boundary.key)
        elif boundary.by == "optimizer":
            self._hook_optimizer(boundary.key)
        else:
            self._patch_backward()

    def remove(self) -> None:
        for patch in reversed(self._patches):
            setattr(patch.owner, patch.name, patch.original)
        self._patches.clear()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _patch(self, owner: Any, name: str, replacement: Any) -> None:
        self._patches.append(_Patch(owner, name, getattr(owner, name)))
        setattr(owner, name, replacement)

    # -- the events

    def _patch_fetch(self, only: int | None) -> None:
        from torch.utils.data import dataloader

        base = dataloader._BaseDataLoaderIter
        fetch = base.__next__
        listener, pid = self.listener, self.pid

        def __next__(iterator: Any) -> Any:
            key = loader_key(iterator)
            if (only is not None and key != only) or os.getpid() != pid:
                return fetch(iterator)
            listener.on_fetch(key, iterator)
            try:
                return fetch(iterator)
            except StopIteration:
                listener.on_exhausted(key)
                raise

        self._patch(base, "__next__", __next__)

    def _hook_optimizer(self, only: int | None) -> None:
        from torch.optim import optimizer as module

        def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
            if (only is None or id(optimizer) == only) and os.getpid() == self.pid:
                self.listener.on_optimizer(id(optimizer), getattr(self._backward_depth, "value", 0) > 0)

        self._handles.append(module.register_optimizer_step_post_hook(stepped))

    def _patch_backward(self) -> None:
        """`Tensor.backward` and every library go through these two names."""
        import torch

        for name in ("backward", "grad"):
            self._patch(torch.autograd, name, self._around(getattr(torch.autograd, name), name))

    def _around(self, run: Callable[..., Any], name: str) -> Callable[..., Any]:
        depth = self._backward_depth

        @functools.wraps(run)
        def around(*args: Any, **kwargs: Any) -> Any:
            outer = getattr(depth, "value", 0)
            fresh = outer == 0 and self.gradients_are_fresh()
            depth.value = outer + 1
            try:
                result = run(*args, **kwargs)
            finally:
                depth.value = outer
            # torch.autograd.grad is the training pass only of a loop that never calls backward; elsewhere it is a penalty term.
            self._uses_backward = self._uses_backward or name == "backward"
            if outer == 0 and (name == "backward" or not self._uses_backward) and os.getpid() == self.pid:
                self.listener.on_backward(fresh)
            return result

        return around

    def gradients_are_fresh(self) -> bool:
        """Replaced by the session while it matters: whether the parameters' gradients are empty."""
        return True
