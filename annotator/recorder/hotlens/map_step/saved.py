"""What the forward pass keeps until the backward pass: every tensor that an autograd node has saved, with the node and its place.

It is read off the graph as the backward pass of the map step begins, before anything of it runs. Nothing is hooked, copied or kept: no
operator runs, so the step's trace, its memory and its results are what they were. A node is found again by its sequence number, which
counts the nodes of a thread: the place that was being executed when the count stood there has made it.
"""

from __future__ import annotations

import sys
import threading
import weakref
from bisect import bisect_right
from types import FrameType
from typing import Any

from ..listening.marks import NOWHERE
from ..listening.patches import Method, Patches, not_compiled
from ..listening.saved_graph import DEEPEST, Graph, Reader, TooLarge, nodes, storage_of, tensors_in

NO_BACKWARD = "the step that was looked at has no backward pass, so nothing is kept for one"
THREADS = "its forward pass runs on several threads, and which of them has made a node is not known"
TRANSFORMED = "its backward pass runs within torch.func, whose graph cannot be read"
OPEN = 1 << 62  # above every sequence number
FAILED = "the saved tensors could not be read ({}). Please report this"


class SavedTensors:
    """Of one map step. `start` and `stop` enclose it; `found` is of the backward pass that keeps most."""

    def __init__(self, modules: list[Any]) -> None:
        self.refused: str | None = missing()
        self.found: Graph | None = None
        self.passes = 0
        self.number = 0  # which of them was kept
        self._modules = modules
        self._patches = Patches()
        self._active = False
        self._thread = 0
        self._within = 0  # backward passes that are running
        self._at: list[int] = []  # sequence numbers at which the place changed, ascending, and the places
        self._places: list[tuple[int, int]] = []
        self._hooks = 0  # of the script's, that are on
        self._hooked: list[tuple[int, int]] = []  # ranges of sequence numbers, the last may be open
        self._inputs: dict[int, Any] = {}
        self._results: list[Any] = []
        self._transformed = False  # a backward pass ran within torch.func
        self.anomalies_sought = False  # a backward pass looks for NaN

    # -- start and stop

    def start(self) -> None:
        if self.refused is not None:
            return
        import torch
        from torch.autograd.graph import saved_tensors_hooks

        self._thread = threading.get_ident()
        self._patches.put(torch.autograd, "_engine_run_backward", self._around_engine)
        self._patches.put(saved_tensors_hooks, "__enter__", self._around_hooks(1))
        self._patches.put(saved_tensors_hooks, "__exit__", self._around_hooks(-1))
        self._active = True
        on = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda _: None)
        if on(True) is not None:  # around the whole loop
            self._hooks = 1
            self._hooked.append((0, OPEN))

    def stop(self) -> None:
        self._patches.take_back()
        if self._active and self.refused is None and self.passes == 0:
            self.refused = TRANSFORMED if self._transformed else NO_BACKWARD
        self._active = False
        self._modules = []
        for notes in (self._at, self._places, self._hooked, self._results):
            notes.clear()
        self._inputs.clear()

    def abandon(self) -> None:
        """In a forked child."""
        self._active = False

    # -- told by the map step

    def moved(self, call: int, line: int) -> None:
        """The training thread is in another call or on another line now."""
        if not self._active:
            return
        now = _nodes_made()
        if self._at and self._at[-1] == now:
            self._places[-1] = (call, line)
        else:
            self._at.append(now)
            self._places.append((call, line))

    def entered(self, frame: FrameType) -> None:
        """The loop calls a model or a criterion: what is given to it and was not computed from anything trained is an input."""
        if not self._active:
            return
        from torch.multiprocessing import reductions

        weak: Any = reductions.StorageWeakRef
        for tensor in tensors_in(list(frame.f_locals.values()), DEEPEST):
            if tensor.grad_fn is None and (storage := storage_of(tensor)) is not None:
                self._inputs[storage._cdata] = weak(storage)

    def left(self, result: Any) -> None:
        """Such a call has returned; what of its result is held holds its graph, used or not."""
        if self._active:
            self._results += [weakref.ref(t) for t in tensors_in(result, DEEPEST) if t.grad_fn is not None]

    def other_thread(self) -> None:
        """A module is called on a thread of its own."""
        if self._active and self._within == 0:
            self._refuse(THREADS)

    def _refuse(self, why: str) -> None:
        self.refused, self.found, self._active = why, None, False

    # -- patches

    def _around_hooks(self, change: int) -> Any:
        changed = not_compiled(self._hooks_changed)

        def make(run: Method) -> Method:
            def around(*args: Any, **kwargs: Any) -> Any:
                result = run(*args, **kwargs)
                if self._active and threading.get_ident() == self._thread:
                    changed(max(self._hooks + change, 0))
                return result

            return not_compiled(around, recursive=False)  # what the script runs within is compiled as it was

        return make

    def _hooks_changed(self, now: int) -> None:
        if now > 0 and self._hooks == 0:
            self._hooked.append((_nodes_made(), OPEN))
        elif now == 0 and self._hooks > 0:
            self._hooked[-1] = (self._hooked[-1][0], _nodes_made())
        self._hooks = now

    def _around_engine(self, run: Method) -> Method:
        look = not_compiled(self._look)

        def _engine_run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if self._active and self._within == 0 and threading.get_ident() == self._thread:
                look(outputs)
            self._within += 1
            try:
                return run(outputs, *args, **kwargs)
            finally:
                self._within -= 1

        return not_compiled(_engine_run_backward, recursive=False)

    # -- the graph

    def _look(self, outputs: Any) -> None:
        """Never raises: what goes wrong in here is told in the end."""
        tracing = sys.gettrace()
        sys.settrace(None)  # this is no code of the script's
        try:
            self.anomalies_sought |= sys.modules["torch"].is_anomaly_enabled()
            if _transformed():
                self._transformed = True
                return
            reader = Reader(self._modules, self._place, self._is_hooked, self._inputs)
            graph = reader.walk(nodes(outputs, [reference() for reference in self._results]))
            self.passes += 1
            if self.found is None or graph.bytes() > self.found.bytes():
                self.found, self.number = graph, self.passes
        except TooLarge as reason:
            self._refuse(str(reason))
        except Exception as error:
            self._refuse(FAILED.format(f"{type(error).__name__}: {error}"))
        finally:
            sys.settrace(tracing)

    def _place(self, number: int) -> tuple[int, int]:
        at = bisect_right(self._at, number) - 1
        return self._places[at] if at >= 0 else NOWHERE

    def _is_hooked(self, number: int) -> bool:
        at = bisect_right(self._hooked, (number, OPEN)) - 1
        return at >= 0 and number < self._hooked[at][1]


def missing() -> str | None:
    """The sentence for a PyTorch whose graph cannot be read like this."""
    import torch

    if hasattr(torch.autograd, "_engine_run_backward") and hasattr(torch._C._autograd, "_get_sequence_nr"):
        return None
    return f"PyTorch {torch.__version__} does not show which place has made a node of its graph. PyTorch 2.3 or newer does"


def _nodes_made() -> int:
    """On this thread so far: the sequence number that the next one gets."""
    import torch

    return int(torch._C._autograd._get_sequence_nr())


def _transformed() -> bool:
    import torch

    peek = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)
    return peek is not None and peek() is not None
