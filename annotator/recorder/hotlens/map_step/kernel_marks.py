"""The map step inside compiled code: a mark around each call of a kernel in the files that Inductor generated."""

from __future__ import annotations

from types import FrameType

from ..compiled.generated import KernelCall, files, kernel_calls, text_of
from ..listening.marks import Mark, Marks


class KernelMarks:
    """`numbers`: of the marks that were opened, by file and line."""

    def __init__(self) -> None:
        self.files = frozenset(files())
        self.numbers: dict[tuple[str, int], int] = {}
        self._lines: dict[str, set[int]] = {}

    def calls(self, filename: str) -> list[KernelCall]:
        text = text_of(filename)
        try:
            return kernel_calls(text) if text is not None else []
        except (SyntaxError, RecursionError):
            return []

    def next_line(self, thread: Marks, frame: FrameType) -> None:
        """The mark of the line before ends; a line that calls a kernel has one of its own."""
        own = thread.lowest_of(frame)
        if own is not None:
            thread.close_down_to(own)
        filename, line = frame.f_code.co_filename, frame.f_lineno
        if filename not in self._lines:
            self._lines[filename] = {call.line for call in self.calls(filename)}
        if line in self._lines[filename]:
            number = self.numbers.setdefault((filename, line), len(self.numbers))
            thread.push(Mark(frame, "part", line=line), f"hotlens.part#{number}")
