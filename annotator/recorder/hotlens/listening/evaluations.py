"""Evaluations that keep what a backward pass would need, though none follows: somebody forgot `torch.no_grad()`.

From a model's switch to evaluation to its next call a hook looks on; it reads the graph of what that call returns. It is a hook on all
modules: one of the model's own would be copied and saved with it.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Callable

from ..source.frames import Files, line_of, qualified_name
from .marks import NOWHERE
from .patches import Method, Patches
from .saved_graph import DEEPEST, Reader, storage_of, tensors_in

MOST_LOOKS = 3  # one for each model
MOST_CALLS = 1000  # of other modules, that are waited through: the parts of a model that is not called as a whole


@dataclass
class UnusedGraph:
    """Of one call of a model. `bytes`: of what it has computed, kept until the results go; parameters and inputs stay anyway."""

    file: str
    line: int  # from 1
    function: str
    model: str
    bytes: int
    used: bool = False  # a backward pass went through it after all


class Evaluations:
    """`aside` is around what takes time that is not the script's."""

    def __init__(self, files: Files, aside: Callable[[], AbstractContextManager[None]]) -> None:
        self._files = files
        self._aside = aside
        self._looked: weakref.WeakSet[Any] = weakref.WeakSet()
        self._looks = 0
        self._patches = Patches()
        self._handle: Any = None
        self._hooked = False  # hooks of the script's take saved tensors meanwhile
        self.found: list[UnusedGraph] = []

    def unused(self) -> list[UnusedGraph]:
        return [each for each in self.found if not each.used and each.bytes > 0]

    def turned(self, model: Any) -> None:
        """It was switched to evaluation."""
        from torch.autograd.graph import saved_tensors_hooks
        from torch.nn.modules.module import register_module_forward_hook

        self.forget()
        if model in self._looked or self._looks == MOST_LOOKS:
            return
        on = getattr(sys.modules["torch"]._C._autograd, "_top_saved_tensors_default_hooks", lambda _: None)
        self._hooked = on(True) is not None
        self._patches.put(saved_tensors_hooks, "__enter__", self._noting)
        self._handle = register_module_forward_hook(self._called_after(weakref.ref(model)))

    def forget(self) -> None:
        """What was switched is not waited for any more."""
        self._patches.take_back()
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _noting(self, enter: Method) -> Method:
        def __enter__(hooks: Any) -> Any:
            self._hooked = True
            return enter(hooks)

        return __enter__

    def _called_after(self, model: weakref.ref[Any]) -> Callable[[Any, Any, Any], None]:
        calls = 0

        def called(module: Any, args: Any, result: Any) -> None:
            nonlocal calls
            if module is not model():
                calls += 1
                if calls == MOST_CALLS:
                    self.forget()
                return
            self.forget()
            with self._aside(), contextlib.suppress(Exception):  # a graph that cannot be read tells nothing
                self._looked.add(module)
                self._looks += 1
                self._look(module, args, result, sys._getframe(1))

        return called

    def _look(self, model: Any, args: Any, result: Any, frame: FrameType | None) -> None:
        roots = [tensor.grad_fn for tensor in tensors_in(result, DEEPEST) if tensor.grad_fn is not None]
        caller = next((each for each in _outwards(frame) if self._files.in_workspace(each.f_code.co_filename)), None)
        if not roots or self._hooked or caller is None:
            return
        inputs = [storage._cdata for tensor in tensors_in(args, DEEPEST) if (storage := storage_of(tensor)) is not None]
        graph = Reader(list(model.modules()), lambda _: NOWHERE, lambda _: False, inputs).walk(roots)
        kept = sum(each.bytes for each in graph.storages.values() if each.kind == "activation")
        found = UnusedGraph(caller.f_code.co_filename, line_of(caller), qualified_name(caller), type(model).__name__, kept)

        def passed(*_: Any) -> None:
            found.used = True

        for node in roots:
            node.register_hook(passed)
        self.found.append(found)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
