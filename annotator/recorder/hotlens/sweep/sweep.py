"""`sweep --result FILE [--models 2,4,8] [--limit SECONDS] -- SCRIPT ARGS…`: would several models of this script train faster as one?

The script runs as it is until its second update. Then its process takes the live model, its batch, its loss and its optimizer, measures
steps of several models one after another against one step of the same models stacked, in turn, and ends without going on. No bundle is
written. Refused, with the reason and where it is known the line, is what cannot be stacked.

The result is JSON (FORMAT.md, "Sweeps").
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from ..listening.patches import Method, Patches
from ..process.environment import when_imported
from ..run.launch import Program
from ..source.frames import Files
from .measure import Place, Sweep, place_of
from .models import PROPORTIONAL, Settings
from .tape import Entry, NoTape, finished, recorder, squares

UPDATES = 2  # the script makes them first: what is made at the first call is made then
WRAPPERS = ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "OptimizedModule")
MOST_NODES = 20000  # of the loss's graph, that are looked at


class Watch:
    """Records the first forward and backward pass of each update; at the second update the measurement begins."""

    def __init__(self, options: argparse.Namespace, files: Files) -> None:
        self.options, self.files = options, files
        self.owner = os.getpid()
        self.patches = Patches()
        self.hook: Any = None
        self.tape: Any = None  # at work
        self.on = False
        self.depth = 0
        self.models: dict[int, Any] = {}  # called in this update
        self.autocast: Any = None
        self.caught: tuple[list[Entry], Any] | None = None
        self.optimizers: dict[int, Any] = {}
        self.updates = 0
        self.passes = 0
        self.clipped: Place | None = None

    def torch_imported(self) -> None:
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self.tape = recorder()
        self.files.set_torch(os.path.dirname(torch.__file__))
        self.hook = register_optimizer_step_post_hook(self.stepped)
        self.patches.put(torch.nn.Module, "__call__", self._calling)
        self.patches.put(torch.Tensor, "backward", self._leaving)
        self.patches.put(torch.autograd, "backward", self._backward)
        self.patches.put(torch.nn.utils, "clip_grad_norm_", self._clipping)

    # -- what the loop does

    def _calling(self, original: Method) -> Method:
        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            import torch

            trains = self.depth == 0 and self.caught is None and torch.is_grad_enabled()
            if not trains or not any(p.requires_grad for p in module.parameters()):
                return original(module, *args, **kwargs)
            self._pause()
            self.depth += 1
            try:
                out = original(module, *args, **kwargs)
            finally:
                self.depth -= 1
            self.models[id(module)] = module
            self.autocast = _autocast(torch)
            self.tape.add(Entry(None, args, kwargs, out))
            self.tape.__enter__()
            self.on = True
            return out

        return __call__

    def _pause(self) -> None:
        if self.on:
            self.on = False
            self.tape.__exit__(None, None, None)

    def _leaving(self, original: Method) -> Method:
        """The recorder is left before it would hand on the call, which it could not be left within."""

        def backward(*args: Any, **kwargs: Any) -> Any:
            self._pause()
            return original(*args, **kwargs)

        return backward

    def _backward(self, original: Method) -> Method:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._pause()
            self.passes += 1
            if self.caught is None and self.tape.entries:
                root = tensors if not isinstance(tensors, (list, tuple)) else tensors[0] if len(tensors) == 1 else None
                self.caught = (self.tape.entries, root)
            return original(tensors, *args, **kwargs)

        return backward

    def _clipping(self, original: Method) -> Method:
        def clip_grad_norm_(*args: Any, **kwargs: Any) -> Any:
            self.clipped = place_of(self.files, sys._getframe(1))
            return original(*args, **kwargs)

        return clip_grad_norm_

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if os.getpid() != self.owner:
            return
        self.optimizers[id(optimizer)] = optimizer
        if optimizer is not next(iter(self.optimizers.values())):
            return
        self._pause()
        self.updates += 1
        if self.updates >= UPDATES and self.caught is not None:
            self.end(self.measured)
        self.caught, self.passes = None, 0
        self.models.clear()
        self.tape = recorder()

    # -- what is made of it

    def measured(self) -> dict[str, Any]:
        import torch

        self.hook.remove()
        self.patches.take_back()
        reason = self.why_not()
        if reason is not None or self.caught is None:
            return {"refused": {"message": reason}}
        entries, root = self.caught
        loss, why = "loop", None
        try:
            if root is None or any(entry.function is None and entry.out is None for entry in entries):
                raise NoTape("backward() is called on several tensors")
            if _own_functions(root, [t for e in entries if e.function is None for t in _grads(e.out)]):
                raise NoTape("an autograd function of the script's own is between the model and the loss")
            tape = finished(entries, root)
        except NoTape as error:
            loss, why = "squares", str(error)
            try:
                tape = squares(entries)
            except NoTape as nothing:
                return {"refused": {"message": str(nothing)}}
        model = next(iter(self.models.values()))
        optimizer = next(iter(self.optimizers.values()))
        around = self.autocast or contextlib.nullcontext
        with torch.enable_grad():
            sweep = Sweep(model, Settings(optimizer, model), tape, around, self.files)
            tried = sweep.tried(self.options.models, self.options.limit)
        clipped = None if self.clipped is None else {"file": self.clipped.file, "line": self.clipped.line}
        return {
            **{"loss": loss, "why_not_the_loop": why, "passes": self.passes, "clipped": clipped},
            **{"optimizer": type(optimizer).__name__, "model": type(model).__name__, "tried": tried},
        }

    def why_not(self) -> str | None:
        if not self.optimizers:
            return "no optimizer stepped"
        if len(self.optimizers) > 1:
            return "several optimizers step; models that are trained by one can be stacked"
        if self.caught is None:
            return "no backward pass followed a call of a model"
        if len(self.models) > 1:
            return "the loop calls several models in one step"
        model = next(iter(self.models.values()))
        name, optimizer = type(model).__name__, next(iter(self.optimizers.values()))
        if name in WRAPPERS or "Script" in name:
            return f"the model is a {name}; stacking needs the plain model"
        known = {id(parameter) for parameter in model.parameters()}
        if any(id(p) not in known for group in optimizer.param_groups for p in group["params"]):
            return "the optimizer has parameters that are not the model's"
        if type(optimizer).__name__ not in PROPORTIONAL or not type(optimizer).__module__.startswith("torch.optim"):
            return f"{type(optimizer).__name__} is not known to treat stacked models each by itself; {', '.join(PROPORTIONAL)} do"
        return None

    def end(self, made: Any) -> NoReturn:
        """Without what a script does at its end: nobody wants its files of a run that was cut short."""
        try:
            document = made()
        except Exception as error:  # whatever the user's classes raise when they are copied
            document = {"refused": {"message": f"the model cannot be trained apart from its script: {type(error).__name__}: {error}"}}
        with open(self.options.result, "w", encoding="utf-8") as file:
            json.dump(document, file)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _autocast(torch: Any) -> Any:
    for kind in ("cuda", "cpu"):
        with contextlib.suppress(TypeError, AttributeError, RuntimeError):  # torch before 2.4 asks without a kind
            if torch.is_autocast_enabled(kind):
                dtype = torch.get_autocast_dtype(kind)
                return lambda kind=kind, dtype=dtype: torch.autocast(kind, dtype=dtype)
    return None


def _grads(value: Any) -> list[Any]:
    from .tape import tensors_of

    return [tensor.grad_fn for tensor in tensors_of(value) if tensor.grad_fn is not None]


def _own_functions(root: Any, ends: list[Any]) -> bool:
    """Whether a torch.autograd.Function is between the root and what the models returned."""
    import torch

    seen, pending = set(ends), [root.grad_fn]
    while pending and len(seen) < MOST_NODES:
        node = pending.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return True
        seen.add(node)
        pending += [following for following, _ in node.next_functions]
    return False


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hotlens-record sweep", description="Several models of a script as one, measured.")
    parser.add_argument("--result", required=True)
    parser.add_argument("--models", type=lambda text: [int(word) for word in text.split(",")], default=[2, 4, 8])
    parser.add_argument("--limit", type=float, default=900.0, help="seconds that measuring may take")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> NoReturn:
    options = parse(arguments)
    program = Program.ready(options.command)
    options.limit += time.monotonic()
    watch = Watch(options, Files([os.getcwd(), program.folder]))
    when_imported("torch", watch.torch_imported)
    program.run()
    watch.end(lambda: {"refused": {"message": f"the script ended before its update {UPDATES}"}})
