"""What a function means to the map step, decided once per code object."""

from __future__ import annotations

import inspect
import os
from types import CodeType, FrameType
from typing import Any

from .frames import Files, first_argument, is_ours

CALL = 1  # the implementation of calling a module
FORWARD = 2  # a method named forward
LINES = 4  # user code whose lines are marked
STAGES = 8  # may perform a stage of the loop
LOSS = 16  # a functional criterion
SWITCH = 32  # switches a module to training or to evaluation
KERNELS = 64  # a function that a compiler generated, which calls kernels

GRADIENT = "grad"  # torch.autograd's
LOSS_SUFFIXES = ("_loss", "cross_entropy", "cross_entropy_with_logits", "kl_div")


class Classifier:
    """Sorts code objects by name and file; the subject of the call is checked by the caller."""

    def __init__(self, files: Files, model_files: set[str], generated: frozenset[str] = frozenset()) -> None:
        import torch
        from torch.optim import Optimizer
        from torch.utils.data import dataloader

        self.files = files
        self.model_files = model_files
        self.generated = generated  # files
        self._module = torch.nn.Module
        self._optimizer = Optimizer
        self._loader = dataloader._BaseDataLoaderIter
        self._folder = os.path.dirname(torch.__file__) + os.sep
        self._known: dict[CodeType, int] = {}
        self._forwards: dict[type, CodeType | None] = {}
        implementations = [vars(torch.nn.Module).get(name) for name in ("__call__", "_wrapped_call_impl", "_call_impl")]
        self._call_codes = {f.__code__ for f in implementations if f is not None}

    def of(self, code: CodeType) -> int:
        known = self._known.get(code)
        if known is None:
            known = self._known[code] = self._sort(code)
        return known

    def _sort(self, code: CodeType) -> int:
        name, filename = code.co_name, code.co_filename
        if is_ours(filename):
            return 0
        if filename in self.generated:
            return KERNELS
        if code in self._call_codes:
            return CALL
        kind = LINES if self._has_marked_lines(filename) else 0
        if name == "__call__":
            return kind | CALL
        if name == "forward":
            return kind | FORWARD
        if filename.startswith(self._folder):
            if self._in_torch(filename, "nn/functional.py") and name.endswith(LOSS_SUFFIXES):
                return LOSS
            if name == "train" and self._in_torch(filename, "nn/modules/module.py"):
                return SWITCH
            return STAGES if self._may_be_stage(name, filename) else 0
        if name in ("step", "zero_grad"):
            return kind | STAGES  # an optimizer of the user's own
        return kind

    def _in_torch(self, filename: str, end: str) -> bool:
        return filename == self._folder + end.replace("/", os.sep)

    def _may_be_stage(self, name: str, filename: str) -> bool:
        if name in ("step", "zero_grad", "__next__"):
            return True
        if name == "backward":
            return self._in_torch(filename, "_tensor.py") or self._in_torch(filename, "autograd/__init__.py")
        if name == GRADIENT:
            return self._in_torch(filename, "autograd/__init__.py")
        # The decorators around Optimizer.step; what they run for is seen in their arguments.
        return self._in_torch(filename, "optim/optimizer.py") and name in ("wrapper", "_use_grad")

    def _has_marked_lines(self, filename: str) -> bool:
        if filename in self.model_files:
            return True
        return self.files.in_workspace(filename)

    def is_of_modules(self, code: CodeType) -> bool:
        """Torch's own walk through a model: `model.parameters()`."""
        return self._in_torch(code.co_filename, "nn/modules/module.py")

    def is_module(self, value: Any) -> bool:
        return isinstance(value, self._module)

    def is_own_forward(self, module: Any, code: CodeType) -> bool:
        """The forward a caller of this module would reach, not one of its base class reached by super()."""
        cls = type(module)
        if cls not in self._forwards:
            own = inspect.unwrap(cls.forward) if hasattr(cls, "forward") else None
            self._forwards[cls] = getattr(own, "__code__", None)
        return self._forwards[cls] is code

    def _acts_as_optimizer(self, subject: Any) -> bool:
        """Not of torch's class, with the two methods that a training loop calls (fastai, an update of the user's own)."""
        cls = type(subject)
        return callable(getattr(cls, "step", None)) and callable(getattr(cls, "zero_grad", None)) and not self.is_module(subject)

    def stage(self, frame: FrameType) -> str | None:
        """Which stage the call performs; None when its subject says it is none."""
        name = frame.f_code.co_name
        if name in ("backward", GRADIENT):
            return "backward"
        subject = first_argument(frame)
        if name == "__next__":
            return "data" if isinstance(subject, self._loader) else None
        if name == "zero_grad" and self.is_module(subject):
            return "zero_grad"  # model.zero_grad()
        if not isinstance(subject, self._optimizer) and not self._acts_as_optimizer(subject):
            return None
        return "zero_grad" if name == "zero_grad" else "optimizer"
