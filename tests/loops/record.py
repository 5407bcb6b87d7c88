"""Records a training loop with torch.profiler, with ranges of its own that say what is what, and takes those out of the trace again.

A shape (shapes.py) runs its loop on a `Loop`, which opens a range around every step, stage and module call, and around every autograd node
that a module call leaves behind. The ranges are the truth; the trace without them is what Hotlens gets to see.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

PREFIX = "truth."
STEPS = 4


class Loop:
    """What a shape needs to mark its steps, stages and modules."""

    def __init__(self, profiler: Any, marks_modules: bool) -> None:
        self._profiler = profiler
        self._marks_modules = marks_modules
        self._classes: dict[str, str] = {}
        self._count = 0

    @property
    def classes(self) -> dict[str, str]:
        """Class name of every module watched, by path."""
        return self._classes

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """One step, as a person would count them. The first one starts the recording: what came before is preparation."""
        if self._count == 0:
            self._profiler.start()
        with record_function(f"{PREFIX}step.{self._count}"):
            yield
        self._count += 1
        self._profiler.step()

    def stage(self, name: str) -> Any:
        """A stage of the loop, also on another thread than the step's."""
        return record_function(f"{PREFIX}stage.{name}")

    def watch(self, model: nn.Module, root: str = "model") -> None:
        """Ranges around every call of `model` and its modules, and around what each leaves for backward."""
        if not self._marks_modules:
            return
        for path, module in model.named_modules():
            name = f"{root}.{path}" if path else root
            self._classes[name] = type(module).__name__
            range_around_calls(name, module)


def range_around_calls(path: str, module: nn.Module) -> None:
    """Ranges around every call of a module and around the autograd nodes that it leaves behind."""
    open_ranges: list[Any] = []

    def before(_module: nn.Module, _inputs: Any) -> None:
        open_ranges.append(record_function(f"{PREFIX}module.{path}"))
        open_ranges[-1].__enter__()

    def after(_module: nn.Module, inputs: Any, output: Any) -> None:
        open_ranges.pop().__exit__(None, None, None)
        for tensor in output if isinstance(output, tuple) else (output,):
            if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                _range_around_nodes(path, inputs, tensor.grad_fn)

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after, always_call=True)


def _range_around_nodes(path: str, inputs: Any, last: Any) -> None:
    stops = {tensor.grad_fn for tensor in inputs if isinstance(tensor, torch.Tensor)}
    todo, seen = [last], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen or node in stops or "truth" in node.metadata:
            continue
        seen.add(node)
        node.metadata["truth"] = path
        _range_around_node(node, f"{PREFIX}module.{path}")
        todo.extend(next_node for next_node, _ in node.next_functions)


def _range_around_node(node: Any, name: str) -> None:
    open_ranges: list[Any] = []

    def before(_grads: Any) -> None:
        open_ranges.append(record_function(name))
        open_ranges[-1].__enter__()

    def after(_inputs: Any, _outputs: Any) -> None:
        open_ranges.pop().__exit__(None, None, None)

    node.register_prehook(before)
    node.register_hook(after)


@dataclass(frozen=True)
class Recording:
    """A trace without its truth, and the truth."""

    path: Path  # what Hotlens reads
    events: list[dict[str, Any]]  # its traceEvents
    truth: list[dict[str, Any]]  # the ranges taken out
    classes: dict[str, str]


def record(shape: Callable[[Loop], None], folder: Path, *, steps_marked: bool, stack: bool, modules: bool = True) -> Recording:
    """Runs `shape`; `steps_marked`: with a schedule, so with ProfilerStep ranges; `stack`: with Python frames."""
    torch.manual_seed(0)
    plan = schedule(wait=0, warmup=1, active=STEPS - 1, repeat=1) if steps_marked else None
    profiler = profile(activities=[ProfilerActivity.CPU], schedule=plan, with_stack=stack)
    loop = Loop(profiler, modules)
    shape(loop)
    profiler.stop()
    whole = folder / "whole.json"
    profiler.export_chrome_trace(str(whole))
    return strip(whole, loop.classes)


def strip(whole: Path, classes: dict[str, str]) -> Recording:
    """The trace without its truth, beside the whole one."""
    trace = json.loads(whole.read_text(encoding="utf-8"))
    truth = [event for event in trace["traceEvents"] if str(event.get("name", "")).startswith(PREFIX)]
    events = [event for event in trace["traceEvents"] if not str(event.get("name", "")).startswith(PREFIX)]
    trace["traceEvents"] = events
    stripped = whole.with_name("trace.json")
    stripped.write_text(json.dumps(trace), encoding="utf-8")
    return Recording(stripped, events, [event for event in truth if event.get("ph") == "X"], classes)
