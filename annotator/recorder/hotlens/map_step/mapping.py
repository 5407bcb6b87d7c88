"""The map step: which module, from which expression and line, ran which operators.

One step runs under `sys.settrace` and a profiler of its own. Here is decided what gets a mark, and noted what each one stands for; `marks`
opens and closes them.
"""

from __future__ import annotations

import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any, Callable

from ..listening.marks import GradientMarks, Mark, Marks
from ..listening.patches import not_compiled
from ..source.classify import CALL, FORWARD, KERNELS, LINES, LOSS, STAGES, SWITCH, Classifier
from ..source.fetching import Fetching
from ..source.frames import Files, is_ours, qualified_name
from ..source.statements import Statements
from .calls import Calls
from .kernel_marks import KernelMarks
from .saved import SavedTensors
from .watching import Watching

# What runs more lines than this in one step is data handling, not a model: a loop is marked as a whole from then on, a function not at all.
MOST_LINES = 10_000
Trace = Callable[[FrameType, str, Any], Any]
Loop = tuple[int, int]  # its first and last line


class MapStep:
    """Trace functions and what they noted. `start` and `stop` enclose the step; after `stop` the notes hold no frame."""

    def __init__(self, files: Files, model_files: set[str], modules: list[Any], updates: frozenset[int] = frozenset()) -> None:
        self.files = files
        self.kernels = KernelMarks()
        self.kinds = Classifier(files, model_files, self.kernels.files)
        self.statements = Statements()
        self.fetching = Fetching(self.statements, self.kinds)
        self.modules = modules
        self.calls = Calls(files, self.kinds, updates)
        self.saved = SavedTensors(modules)
        self.lines: dict[tuple[str, int, str], int] = {}
        self.parameters: dict[int, int] = {}  # identity of a parameter -> number
        self.capped: set[str] = set()
        self.watching = Watching()
        self._lines_run: dict[tuple[CodeType, Loop | None], int] = {}  # in a loop of a function, or in none
        self._around: dict[tuple[CodeType, int], list[Loop]] = {}  # loops around a line, the innermost first
        self._adopted: dict[FrameType, int] = {}  # the line at which a frame stood as the step began
        self._within: dict[FrameType, Loop] = {}  # frames in a loop that is marked as a whole
        self._threads: dict[int, Marks] = {}
        self._active = False
        self._begins_with_fetch = False
        self._deferred: tuple[FrameType, int] | None = None
        self._gradients: GradientMarks | None = None
        self._other_threads: Any = None  # the handle of a hook
        self._on_entry: Trace | None = None
        self._on_event: Trace | None = None
        self._open_range: Any = None
        self.fault: str | None = None

    # -- start and stop

    def start(self, boundary: str) -> None:
        from torch.autograd.profiler import record_function

        self._open_range = record_function
        self._gradients = GradientMarks(record_function, self.modules)
        self.parameters = self._gradients.numbers
        self._hook_other_threads()
        self._on_entry, self._on_event = not_compiled(self._global), not_compiled(self._local)
        self._active = True
        self.saved.start()
        thread = self._thread()
        thread.moved = self.saved.moved
        thread.previous = sys.gettrace()
        self.watching.begin()
        self._begins_with_fetch = boundary == "loader"
        self._adopt_stack(thread, sys._getframe(1), boundary)
        sys.settrace(self._on_entry)

    def stop(self) -> None:
        if self._active and sys.gettrace() is not self._on_entry:
            # Python drops a trace function that cannot be called, at the recursion limit; a script may set one of its own.
            self.fault = "the trace function was taken off during the step"
        self._active = False
        self.saved.stop()
        thread = self._threads.get(threading.get_ident(), Marks(self._open_range))
        sys.settrace(thread.previous)
        thread.take_off()
        if self._gradients is not None:
            self._gradients.remove()
        if self._other_threads is not None:
            self._other_threads.remove()
        self._threads.clear()
        self._adopted.clear()
        self._within.clear()
        self.calls.forget()
        self._deferred = self._on_entry = self._on_event = None

    def modules_called(self) -> int:
        return len({id(call.module) for call in self.calls.rows})

    def mostly_left_out(self) -> frozenset[int]:
        """Modules (by identity) that were not called although their list has more such than called ones: layers dropped at random."""
        from torch.nn import ModuleDict, ModuleList

        called = {id(call.module) for call in self.calls.rows}
        left_out: set[int] = set()
        for container in self.modules:
            if isinstance(container, (ModuleList, ModuleDict)):
                layers = [m for m in container.children() if next(m.parameters(), None) is not None]
                idle = {id(m) for m in layers if id(m) not in called}
                if 2 * len(idle) > len(layers) > len(idle):
                    left_out |= idle
        return frozenset(left_out)

    def abandon(self) -> None:
        """In a forked worker: nothing is marked, and nothing that belongs to the parent's profiler is touched."""
        self._active = False
        self.saved.abandon()
        sys.settrace(None)

    def _adopt_stack(self, thread: Marks, frame: FrameType | None, boundary: str) -> None:
        """Frames that run already: their next lines are marked, and the rest of those on which they stand.

        The innermost one counts as a whole when it is still at work: it fetches the batch, or it called a package whose loop runs the
        steps (`trainer.fit(...)`).
        """
        open_frames: list[FrameType] = []
        package_between = False
        while frame is not None:
            filename = frame.f_code.co_filename
            if not is_ours(filename) and self.kinds.of(frame.f_code) & LINES:
                open_frames.append(frame)
            elif not open_frames and not self.files.is_library(filename):
                package_between = True
            frame = frame.f_back
        innermost = open_frames[0] if open_frames else None
        for f in reversed(open_frames):
            self.calls.note_loop(f.f_code)
            thread.local_before.append((f, f.f_trace))
            f.f_trace = self._on_event
            self._adopted[f] = f.f_lineno
            self.fetching.began_in(f, f.f_lineno)
            whole = f is innermost and (boundary == "loader" or package_between)
            self._open_line(thread, f, f.f_lineno, "line" if whole else "rest")
        if innermost is not None and boundary == "loader":
            # The next fetch from this line ends the step: it is not a second execution of the line.
            self._deferred = (innermost, self._statement(innermost, innermost.f_lineno))

    def _thread(self) -> Marks:
        return self._threads.setdefault(threading.get_ident(), Marks(self._open_range))

    # -- trace functions

    def _global(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self._active:
            sys.settrace(None)
            return None
        began = time.perf_counter_ns()
        try:
            marks = self._on_call(frame)
            if marks is None:
                self.watching.passed(self._thread().place()[1], began)
            return marks
        except RecursionError:
            return None  # the script is at its limit; this frame goes without marks
        except Exception as fault:
            return self._break_off(fault)

    def _local(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self._active:
            return None
        if event == "line" and frame in self._within:
            first, last = self._within[frame]
            if first <= frame.f_lineno <= last:
                return self._on_event
            del self._within[frame]
        try:
            if event == "line" and self.kinds.of(frame.f_code) & KERNELS:
                self.kernels.next_line(self._thread(), frame)
            elif event == "line":
                self._next_line(self._thread(), frame)
            elif event == "return":
                self._leave(self._thread(), frame, arg)
        except RecursionError:
            return None
        except Exception as fault:
            return self._break_off(fault)
        return self._on_event

    def _break_off(self, fault: Exception) -> None:
        """An exception out of a trace function would be raised in the user's line: the map step is given up instead."""
        self._active = False
        self.fault = f"{type(fault).__name__}: {fault}"
        sys.settrace(None)

    def _on_call(self, frame: FrameType) -> Any:
        kind = self.kinds.of(frame.f_code)
        fetches = self.fetching.asks(frame) and not self._has_begun_the_step(frame)
        if not kind and not fetches:
            return None
        thread = self._thread()
        if fetches:
            self.calls.enter_fetch(thread, frame)
        if kind & KERNELS:
            return self._on_event
        if kind & CALL:
            self.calls.enter_call(thread, frame)
        elif kind & FORWARD:
            self.calls.enter_forward(thread, frame)
        elif kind & LOSS:
            self.calls.enter_loss(thread, frame)
        elif kind & STAGES:
            self.calls.enter_stage(thread, frame)
        elif kind & SWITCH:
            self.calls.note_switch(frame)
        if kind & (CALL | FORWARD | LOSS):
            self._note_inputs(thread, frame, kind)
        if frame.f_code.co_name.startswith("torch_dynamo_resume_in_") and frame.f_back is not None:
            self._end_line(thread, frame.f_back)  # behind a graph break a function goes on in another one: its line has ended
        if kind & LINES and self._below_cap(frame.f_code):
            if frame.f_lasti >= 0 and frame.f_lineno != frame.f_code.co_firstlineno:
                self._open_line(thread, frame, frame.f_lineno)  # a generator goes on
        elif not fetches and not kind & (CALL | FORWARD | STAGES | LOSS):
            return None
        else:
            frame.f_trace_lines = False
        return self._on_event

    def _has_begun_the_step(self, frame: FrameType) -> bool:
        """What gives the loop its items made the update that ended the step before. Around a DataLoader it may only pass batches on."""
        return frame in self._adopted and not self._begins_with_fetch

    def _note_inputs(self, thread: Marks, frame: FrameType, kind: int) -> None:
        if thread.moved is None:
            self.saved.other_thread()
        elif thread.stage("backward") is None:
            opened = thread.innermost_call()
            if opened is None if kind & LOSS else opened is not None and opened.frame is frame and thread.calls() == 1:
                self.saved.entered(frame)

    # -- lines

    def _below_cap(self, code: CodeType) -> bool:
        if self._lines_run.get((code, None), 0) <= MOST_LINES:
            return True
        self.capped.add(code.co_name)
        return False

    def _loop_as_a_whole(self, frame: FrameType, line: int) -> Loop | None:
        """The outermost loop around a line that ran too many lines. The line counts for the innermost one, a whole loop for the next."""
        code, step = frame.f_code, self._adopted.get(frame, 0)
        if (code, line) not in self._around:
            self._around[code, line] = self.statements.source(code.co_filename).loops_around(line)
        loops = [loop for loop in self._around[code, line] if not loop[0] <= step <= loop[1]]  # the steps run in the others
        too_many = [number for number, loop in enumerate(loops) if self._lines_run.get((code, loop), 0) > MOST_LINES]
        counts = too_many[-1] + 1 if too_many else 0
        within = loops[counts] if counts < len(loops) else None
        self._lines_run[code, within] = self._lines_run.get((code, within), 0) + 1
        return loops[too_many[-1]] if too_many else None

    def _statement(self, frame: FrameType, line: int) -> int:
        return self.statements.first_line(frame.f_code.co_filename, line)

    def _next_line(self, thread: Marks, frame: FrameType) -> None:
        """A statement's first line stays open while its other lines run, so each execution of a line is one range."""
        line = frame.f_lineno
        statement = self._statement(frame, line)
        own = thread.line_of(frame)
        if own is not None and own.statement == statement:
            thread.close_above(own)
            if line == own.line:
                return
        else:
            self._end_line(thread, frame)
            if self._deferred is not None and self._deferred[0] is frame and self._deferred[1] == statement:
                return
            if line != statement:
                self._open_line(thread, frame, statement)
        if frame not in self._within:
            self._open_line(thread, frame, line)

    def _end_line(self, thread: Marks, frame: FrameType) -> None:
        own = thread.line_of(frame)
        if own is not None:
            thread.close_above(own)
            thread.pop()

    def _open_line(self, thread: Marks, frame: FrameType, line: int, kind: str = "line") -> None:
        code = frame.f_code
        whole = self._loop_as_a_whole(frame, line)
        if whole is not None:
            self.capped.add(code.co_name)
            self._within[frame] = whole
            line = whole[0]
        key = (code.co_filename, line, qualified_name(frame))
        number = self.lines.setdefault(key, len(self.lines))
        self.watching.executes(number)
        mark = Mark(frame, "line", line=line, line_number=number, statement=self._statement(frame, line))
        thread.push(mark, f"hotlens.{kind}#{number}")

    def _leave(self, thread: Marks, frame: FrameType, result: Any) -> None:
        """Closes what the frame opened, and anything left open above it."""
        self._within.pop(frame, None)
        lowest = thread.lowest_of(frame)
        if lowest is None:
            return
        entry = thread.stack[lowest]
        if entry.kind == "call":
            self.calls.leave(entry, result)
            if thread.calls() == 1 and thread.moved is not None:
                self.saved.left(result)
        thread.close_down_to(lowest)

    # -- other threads

    def _hook_other_threads(self) -> None:
        """Autograd threads of a device run Python (checkpointing) without a trace function: the first module call there sets it."""
        import torch
        from torch.nn.modules.module import register_module_forward_pre_hook

        if not torch.cuda.is_available():
            return  # on the CPU backward runs on the thread that called it

        def entered(module: Any, args: Any) -> None:
            if not self._active or threading.get_ident() in self._threads:
                return
            thread = self._thread()
            self.saved.other_thread()
            sys.settrace(self._on_entry)
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and not self.kinds.of(frame.f_code) & CALL:
                frame = frame.f_back
            if frame is not None:
                frame.f_trace = self._on_event
                self.calls.open_call(thread, frame, module, forward=False)

        self._other_threads = register_module_forward_pre_hook(entered)
