"""Methods of torch's replaced for a while, and put back."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import Any, Callable, cast

Method = Callable[..., Any]


def not_compiled(function: Method, recursive: bool = True) -> Method:
    """Beneath a function of torch.compile its compiler takes up whatever Python runs, ours too. `recursive`: and what it calls."""
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    in_use = "torch._dynamo" in sys.modules and hasattr(compiler, "disable")
    return cast(Method, compiler.disable(function, recursive=recursive)) if in_use else function  # type: ignore[union-attr]


@dataclass
class _Patch:
    owner: Any
    name: str
    original: Any
    inherited: bool  # the owner had no attribute of its own


class Patches:
    """Taken back in the opposite order."""

    def __init__(self) -> None:
        self._patches: list[_Patch] = []

    def put(self, owner: Any, name: str, make: Callable[[Method], Method]) -> None:
        """`make` gets the original and gives what stands in its place."""
        original = getattr(owner, name)
        inherited = isinstance(owner, type) and name not in vars(owner)
        setattr(owner, name, functools.wraps(original)(make(original)))
        self._patches.append(_Patch(owner, name, original, inherited))

    def take_back(self) -> None:
        for patch in reversed(self._patches):
            if patch.inherited:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, patch.original)
        self._patches.clear()
