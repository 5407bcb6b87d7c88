"""What the map step sees the training loop call: modules with the expression that calls each, and the stages of the loop.

A module call has a number, which its mark carries; `model.json` has the row. A stage has the places where the loop enters it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from ..listening.marks import Mark, Marks
from ..listening.saved_graph import DEEPEST, tensors_in
from ..source.classify import GRADIENT, Classifier
from ..source.frames import INLINE_CODE, Files, Point, first_argument, point

MOST_DECORATORS = 10  # of one method
# Frames of the user's project that led to a call, innermost first, and whether each runs a method of a module.
Around = tuple[tuple[Point, bool], ...]


@dataclass
class ModuleCall:
    module: Any
    parent: int
    site: Point | None
    depth: int  # modules around it on its thread
    in_backward: bool = False
    around: Around = ()  # of an outermost call
    evaluates: bool = False  # part of an evaluation within the step
    lengths: frozenset[int] | None = None  # first dimensions of what the loop gives to a model that it trains
    scalar_result: bool = False  # returned nothing but scalars, with a gradient: a criterion, when it is a root


class Calls:
    """Notes of one map step. The methods are called as a frame is entered, before its first line.

    `updates`: the optimizers (by identity) that step once the step has its batch; empty where more batches may follow, or it is not known.
    """

    def __init__(self, files: Files, kinds: Classifier, updates: frozenset[int]) -> None:
        self.files = files
        self.kinds = kinds
        self.rows: list[ModuleCall] = []
        self.stages: dict[tuple[str, Around], None] = {}
        self._loops: set[CodeType] = set()  # functions that run steps, or enter what only a loop does
        self._first_call: dict[int, int] = {}
        self._backward_passes = 0
        self._switched: list[Any] = []  # modules that the step has switched to evaluation
        self._updates = updates
        self._updated: set[int] = set()
        self._fetch: Around = ()  # where the loop asked last for an item that comes from no DataLoader
        self._trains: set[CodeType] = set()  # functions from which this step made an update, or prepared one
        self._training_inside: set[Around] = set()  # such places, where what gives the items trains as well

    def forget(self) -> None:
        """Drops what only the step itself needs."""
        self._switched.clear()

    # -- modules

    def enter_call(self, thread: Marks, frame: FrameType) -> None:
        module = first_argument(frame)
        if not self.kinds.is_module(module):
            return
        top = thread.innermost_call()
        if top is not None and top.module is module and not top.forward_entered:
            return  # an overridden __call__ on its way to the real one
        self.open_call(thread, frame, module, forward=False)

    def enter_forward(self, thread: Marks, frame: FrameType) -> None:
        module = first_argument(frame)
        if not self.kinds.is_module(module):
            return
        top = thread.innermost_call()
        if top is not None and top.module is module and not top.forward_entered:
            top.forward_entered = True
        elif self.kinds.is_own_forward(module, frame.f_code):
            self.open_call(thread, frame, module, forward=True)

    def open_call(self, thread: Marks, frame: FrameType, module: Any, forward: bool) -> None:
        top = thread.innermost_call()
        number = len(self.rows)
        outer = thread.stage("backward")
        backward = outer.frame if outer is not None else None
        first = self._first_call.setdefault(id(module), number)
        site = self._site(frame.f_back, module, backward)
        if site is None and backward is not None:
            # Computed again by torch during backward (checkpointing), it is still the call that the forward pass made.
            site = self.rows[first].site if first != number else self._site(frame.f_back, module)
        is_loops = top is None and backward is None
        row = ModuleCall(module, top.call if top else -1, site, thread.calls(), backward is not None)
        if is_loops:
            row.around = self._around(frame.f_back)
            row.evaluates = self._evaluating()
            if not row.evaluates and _learns(module):
                row.lengths = _lengths(frame)
            self._note_training(thread, lambda: _learns(module))
        elif top is not None and self.rows[top.call].lengths == frozenset():  # a model that makes tensors of what it is given
            self.rows[top.call].lengths = _lengths(frame)
        if row.evaluates:
            _open_stage(thread, frame, "evaluation")
        self.rows.append(row)
        thread.push(Mark(frame, "call", call=number, module=module, forward_entered=forward), f"hotlens.call#{number}")

    def leave(self, mark: Mark, result: Any) -> None:
        """A call is over."""
        if self.rows[mark.call].depth == 0:
            self.rows[mark.call].scalar_result = _scalar_with_gradient(result)

    def batches_of(self, size: int) -> int | None:
        """How many batches of so many samples the step trains on; None where a model gets something else. One where several calls are due
        to one batch (two models, or a model that is called twice). Calls on one sample, as of a policy that acts, are none, nor those on
        what is no tensor."""
        given = [row for row in self.rows if row.lengths and row.lengths != {1}]
        if not given or any(row.lengths is not None and size not in row.lengths for row in given):
            return None
        each_has_its_pass = len({id(row.module) for row in given}) == 1 and len(given) == self._backward_passes
        return len(given) if each_has_its_pass else 1

    # -- stages

    def enter_stage(self, thread: Marks, frame: FrameType) -> None:
        stage = self.kinds.stage(frame)
        asks_gradients = frame.f_code.co_name == GRADIENT  # maybe within the forward pass: no sign of the loop
        if stage is not None and stage != "data" and not asks_gradients:
            self._note_training(thread, lambda: True)
        if stage == "optimizer":
            self._updated.add(id(first_argument(frame)))
        if stage is not None and thread.stage(stage) is None:
            around = self._around(frame.f_back)
            self._note_stage(stage, around)
            if not asks_gradients:
                self._backward_passes += stage == "backward"
                self._loops.update(at.code for at, _ in around)
                if stage != "data":
                    self._trains.update(at.code for at, _ in around)
            _open_stage(thread, frame, stage)

    def enter_fetch(self, thread: Marks, frame: FrameType) -> None:
        """The loop wants its next item, of what is no DataLoader."""
        if frame.f_code in self._trains or any(mark.kind in ("call", "stage") for mark in thread.stack):
            return
        self._fetch = self._around(frame.f_back)
        if self._fetch not in self._training_inside:
            self._note_stage("data", self._fetch)
        _open_stage(thread, frame, "data")

    def _note_training(self, thread: Marks, trains: Callable[[], bool]) -> None:
        """What gives the items of the loop calls the model or its optimizer: that is the step, and no fetch."""
        if self._fetch and self._fetch not in self._training_inside and thread.stage("data") is not None and trains():
            self._training_inside.add(self._fetch)
            self.stages.pop(("data", self._fetch), None)

    def enter_loss(self, thread: Marks, frame: FrameType) -> None:
        """A functional criterion of the loop itself, not one inside a module."""
        if thread.innermost_call() is not None or thread.stage("backward") is not None:
            return
        evaluates = self._evaluating()
        self._note_stage("evaluation" if evaluates else "loss", self._around(frame.f_back))
        if evaluates:
            _open_stage(thread, frame, "evaluation")

    def note_switch(self, frame: FrameType) -> None:
        """`module.eval()` or `module.train(False)`, before it has done anything."""
        module = first_argument(frame)
        if getattr(module, "training", False) and not frame.f_locals.get("mode", True):
            self._switched.append(module)

    def _evaluating(self) -> bool:
        """Gradients are off, and either a model that this step has switched to evaluation is in it still, or the last update is over.

        Before the update and without the switch it is a teacher or a target network, whose output the step needs; with gradients an
        attack on the model.
        """
        import torch

        if torch.is_grad_enabled():
            return False
        updated = bool(self._updates) and self._updates <= self._updated
        return updated or any(not module.training for module in self._switched)

    def _note_stage(self, stage: str, around: Around) -> None:
        if around:
            self.stages[stage, around] = None

    def note_loop(self, code: CodeType) -> None:
        """A function that runs already when the step begins."""
        self._loops.add(code)

    def loop_site(self, around: Around) -> Point | None:
        """Where the loop entered a stage: outside of methods of modules, `training_step` among them, unless one of them is the loop."""
        site = around[0][0] if around else None
        for at, of_module in reversed(around):
            if of_module and at.code not in self._loops:
                break
            site = at
        return site

    # -- places

    def _site(self, frame: FrameType | None, module: Any = None, outermost: FrameType | None = None) -> Point | None:
        """The nearest user frame that is not the module's own wrapper; with `outermost` only inside of that frame."""
        while frame is not None and frame is not outermost:
            if not self.files.is_library(frame.f_code.co_filename) and not (module is not None and _is_wrapper(frame, module)):
                return point(frame)
            frame = frame.f_back
        return None

    def _around(self, frame: FrameType | None) -> Around:
        """The frames of the user's own project, else the nearest one of any user code."""
        found: list[tuple[Point, bool]] = []
        f = frame
        while f is not None:
            if self.files.in_workspace(f.f_code.co_filename):
                found.append((point(f), self._is_method(f)))
            f = f.f_back
        if not found and (site := self._site(frame)) is not None:
            found.append((site, False))
        return tuple(found)

    def _is_method(self, frame: FrameType) -> bool:
        """Of a module; a comprehension is part of the method around it."""
        while frame.f_code.co_name in INLINE_CODE and frame.f_back is not None:
            frame = frame.f_back
        return frame.f_code.co_varnames[:1] == ("self",) and self.kinds.is_module(first_argument(frame))


def _open_stage(thread: Marks, frame: FrameType, stage: str) -> None:
    if thread.stage(stage) is None:
        thread.push(Mark(frame, "stage", stage=stage), f"hotlens.stage#{stage}")


def _learns(module: Any) -> bool:
    """It is called so that gradients can flow through it."""
    import torch

    return torch.is_grad_enabled() and any(parameter.requires_grad for parameter in module.parameters())


def _lengths(frame: FrameType) -> frozenset[int]:
    return frozenset(t.shape[0] for t in tensors_in(list(frame.f_locals.values()), DEEPEST) if t.dim() > 0)


def _is_wrapper(frame: FrameType, module: Any) -> bool:
    """The module's own __call__ or forward, or a function put in the place of one; not a function that is handed the module."""
    if first_argument(frame) is not module:
        return False
    return frame.f_code.co_name.endswith(("__call__", "forward")) or any(
        code is frame.f_code for name in ("__call__", "forward") for code in _codes(getattr(type(module), name, None))
    )


def _codes(function: Any) -> Iterator[CodeType]:
    """Of a method and of what its decorators wrap, as functools.wraps tells."""
    for _ in range(MOST_DECORATORS):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return


def _scalar_with_gradient(value: Any) -> bool:
    """A loss, or several of them by name or in a row, and no other tensor."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    tensors = [part for part in parts if hasattr(part, "requires_grad")]
    return all(tensor.ndim == 0 for tensor in tensors) and any(tensor.requires_grad for tensor in tensors)
