"""`time --result FILE [--warmup 5] [--steps 40] [--with PATH=TEXT]… -- SCRIPT ARGS…`: how long a script's own updates take.

Nothing is profiled and no bundle is written: the script runs until it has made enough updates, and then its process ends at once. An update
is the time from one `step()` of the first optimizer to the next. `--with` gives a file of the user's another text in memory, the script or
a module that it imports; the file stays as it is.

The result is JSON: `steps_ns`, `startup_ns` from the start of the process to the end of the warm-up, and `losses`, the first ones that
backward() was called on, as C99 hexadecimal numbers. On a GPU `steps_ns` has one number, the mean over all steps between two
synchronisations.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from ..process.environment import when_imported
from .launch import Program
from .replacing import edit_texts

FIRST_LOSSES = 5  # all within the warm-up, so that no timed update does more than the script


class Watch:
    def __init__(self, warmup: int, steps: int, result: str) -> None:
        self.warmup, self.steps, self.result = warmup, steps, result
        self.marks: list[int] = []
        self.losses: list[Any] = []
        self.optimizer: int | None = None
        self.owner = os.getpid()
        self.began = time.perf_counter_ns()

    def torch_imported(self) -> None:
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(self.stepped)
        backward = torch.autograd.backward

        def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            first = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
            if isinstance(first, torch.Tensor) and first.numel() == 1 and len(self.losses) < FIRST_LOSSES:
                self.losses.append(first.detach().clone())
                if len(self.losses) == FIRST_LOSSES:
                    torch.autograd.backward = backward
            return backward(tensors, *args, **kwargs)

        torch.autograd.backward = watched

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.optimizer is None:
            self.optimizer = id(optimizer)
        if id(optimizer) != self.optimizer or os.getpid() != self.owner:
            return
        if len(self.marks) in (self.warmup, self.warmup + self.steps):
            _synchronize()
        self.marks.append(time.perf_counter_ns())
        if len(self.marks) > self.warmup + self.steps:
            self.end()

    def steps_ns(self) -> list[int]:
        marks = self.marks[self.warmup :]
        if _on_gpu() and len(marks) > self.steps:
            return [(marks[-1] - marks[0]) // (len(marks) - 1)]
        return [after - before for before, after in zip(marks, marks[1:])]

    def write(self) -> None:
        startup = self.marks[self.warmup] - self.began if len(self.marks) > self.warmup else None
        document = {"steps_ns": self.steps_ns(), "startup_ns": startup, "losses": [float(loss).hex() for loss in self.losses]}
        with open(self.result, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def end(self) -> NoReturn:
        """Without what a script does at its end: nobody wants its files of a run that was cut short."""
        self.write()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _on_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()


def _synchronize() -> None:
    if _on_gpu():
        sys.modules["torch"].cuda.synchronize()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hotlens-record time", description="Times a script's own updates.")
    parser.add_argument("--result", required=True)
    parser.add_argument("--warmup", type=int, default=FIRST_LOSSES)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--with", dest="texts", action="append", default=[], metavar="PATH=TEXT")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def _instead(text: bytes, of: bytes) -> bytes:
    return text


def main(arguments: Sequence[str]) -> NoReturn:
    options = parse(arguments)
    watch = Watch(options.warmup, options.steps, options.result)
    edits = {}
    for word in options.texts:
        path, _, text = word.rpartition("=")
        with open(text, "rb") as file:
            edits[os.path.realpath(path)] = functools.partial(_instead, file.read())
    program = Program.ready(options.command)
    edit_texts(edits, program)
    when_imported("torch", watch.torch_imported)
    program.run()
    watch.end()
