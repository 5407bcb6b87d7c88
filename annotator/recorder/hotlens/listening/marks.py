"""Marks: ranges in the trace of the map step, on a stack per thread.

Entering a module call, a source line, a stage or a parameter's gradient opens a range with a number in the trace; `model.json` says what
the number stands for. A mark belongs to the frame that opened it and is closed with that frame, and whatever was left open above it is
closed first: so marks nest, whatever is raised or yielded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Callable

Range = Callable[[str], Any]  # torch's `record_function`
NOWHERE = (-1, -1)


@dataclass
class Mark:
    frame: FrameType
    kind: str  # call, line, stage
    call: int = -1
    module: Any = None
    forward_entered: bool = False
    line: int = 0
    line_number: int = -1  # in the table of lines
    statement: int = 0
    stage: str = ""
    handle: Any = None
    place: tuple[int, int] = NOWHERE  # the innermost call and line while this mark is the innermost


@dataclass
class Marks:
    """The open marks of one thread, the outermost first; and what its frames and the thread were traced by before."""

    open_range: Range
    stack: list[Mark] = field(default_factory=list)
    previous: Any = None
    local_before: list[tuple[FrameType, Any]] = field(default_factory=list)
    moved: Callable[[int, int], None] | None = None  # is told of every change of the innermost call and line

    def push(self, mark: Mark, name: str) -> None:
        call, line = self.place()
        mark.place = (mark.call, line) if mark.kind == "call" else (call, mark.line_number) if mark.kind == "line" else (call, line)
        mark.handle = self.open_range(name)
        mark.handle.__enter__()
        self.stack.append(mark)
        self._say_place()

    def pop(self) -> None:
        self.stack.pop().handle.__exit__(None, None, None)
        self._say_place()

    def place(self) -> tuple[int, int]:
        """The innermost call and line that are open."""
        return self.stack[-1].place if self.stack else NOWHERE

    def _say_place(self) -> None:
        if self.moved is not None:
            self.moved(*self.place())

    def close_above(self, mark: Mark) -> None:
        while self.stack and self.stack[-1] is not mark:
            self.pop()

    def close_down_to(self, height: int) -> None:
        while len(self.stack) > height:
            self.pop()

    def lowest_of(self, frame: FrameType) -> int | None:
        """Where in the stack the marks of a frame begin."""
        return next((i for i, mark in enumerate(self.stack) if mark.frame is frame), None)

    def line_of(self, frame: FrameType) -> Mark | None:
        """The outermost line that is open in a frame."""
        return next((mark for mark in self.stack if mark.frame is frame and mark.kind == "line"), None)

    def innermost_call(self) -> Mark | None:
        return next((mark for mark in reversed(self.stack) if mark.kind == "call"), None)

    def calls(self) -> int:
        return sum(mark.kind == "call" for mark in self.stack)

    def stage(self, name: str) -> Mark | None:
        return next((mark for mark in self.stack if mark.stage == name), None)

    def take_off(self) -> None:
        """Closes everything and gives the frames back what traced them."""
        for frame, before in self.local_before:
            frame.f_trace = before
        self.close_down_to(0)


class GradientMarks:
    """A mark inside the AccumulateGrad of every parameter (torch 2.1 and newer)."""

    def __init__(self, open_range: Range, modules: list[Any]) -> None:
        self.numbers: dict[int, int] = {}  # identity of a parameter -> number
        self._open_range = open_range
        self._handles: list[Any] = []
        seen: set[int] = set()
        for module in modules:
            for parameter in module.parameters(recurse=False):
                hook = getattr(parameter, "register_post_accumulate_grad_hook", None)
                if hook is None or id(parameter) in seen or not parameter.requires_grad or not parameter.is_leaf:
                    continue
                seen.add(id(parameter))
                self._handles.append(hook(self._arrived))

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _arrived(self, parameter: Any) -> None:
        number = self.numbers.setdefault(id(parameter), len(self.numbers))
        with self._open_range(f"hotlens.param#{number}"):
            pass
