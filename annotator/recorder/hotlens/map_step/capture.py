"""Construction capture: where each nn.Module was created and where it was given its name.

While installed, five methods of nn.Module note the calling frames and go on; nothing else changes. Modules are known by identity and held
weakly. Which noted place becomes a module's line is decided when the bundle is written (`tree`).
"""

from __future__ import annotations

import contextlib
import functools
import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Callable

from ..source.frames import Files, Point, first_argument, point

# Frames between a constructor and the module that owns the result; deeper ones say nothing more about the line.
CHAIN_LIMIT = 24
NAMING_METHODS = ("__setattr__", "add_module", "register_module", "__setitem__")


@dataclass
class Step:
    """One user frame on the way out from a constructor or an attachment."""

    frame: int  # identity of the frame object while it ran
    at: Point


@dataclass
class Construction:
    """The user frames around a constructor call, innermost first."""

    module: weakref.ref[Any]
    chain: list[Step] = field(default_factory=list)
    copied: bool = False  # by copy or unpickling: __init__ never ran


@dataclass
class Attachment:
    """The user frames around the statement that gave `child` the name."""

    child: weakref.ref[Any]
    chain: list[Step] = field(default_factory=list)


class Capture:
    """Notes taken while modules are built. `install` and `uninstall` are a pair; the notes stay."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.constructions: dict[int, Construction] = {}
        self.attachments: dict[tuple[int, str], Attachment] = {}
        self.order: list[int] = []
        self._originals: dict[str, Callable[..., Any]] = {}
        self._module_class: Any = None

    def install(self, module_class: Any) -> None:
        self._module_class = module_class
        notes = {
            "__init__": lambda m, a: self._constructed(m, False),
            "__setstate__": lambda m, a: self._constructed(m, True),
            "__setattr__": self._maybe_attached,
            "add_module": self._maybe_attached,
        }
        for name, note in notes.items():
            self._wrap(name, note)

    def _wrap(self, name: str, note: Callable[[Any, tuple[Any, ...]], None]) -> None:
        original = self._module_class.__dict__[name]

        @functools.wraps(original)
        def noting(module: Any, *args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(Exception):  # a note that cannot be taken must not break a constructor
                note(module, args or tuple(kwargs.values()))
            return original(module, *args, **kwargs)

        self._originals[name] = original
        setattr(self._module_class, name, noting)

    def uninstall(self) -> None:
        for name, original in self._originals.items():
            setattr(self._module_class, name, original)
        self._originals.clear()

    def know(self, modules: Iterable[Any]) -> None:
        """Modules that were built before anybody listened: they exist, and nothing is known of where they come from."""
        for module in modules:
            if self.construction(module) is None:
                self.constructions[id(module)] = Construction(weakref.ref(module))
                self.order.append(id(module))

    def forget(self) -> None:
        """Drops the notes: the bundle is written."""
        self.constructions.clear()
        self.attachments.clear()

    def alive(self) -> list[Any]:
        """Every captured module that still exists, oldest first."""
        found = (self.constructions[k].module() for k in self.order if k in self.constructions)
        return [m for m in found if m is not None]

    def gradients_are_fresh(self) -> bool:
        """The first captured parameter that can have a gradient has none, or zeros: a new update begins."""
        with contextlib.suppress(Exception):  # a gradient that cannot be compared (sparse, on a device that failed)
            for module in self.alive():
                for parameter in module.parameters(recurse=False):
                    if parameter.grad is not None:
                        return not bool((parameter.grad != 0).any())
        return True

    def construction(self, module: Any) -> Construction | None:
        known = self.constructions.get(id(module))
        return known if known is not None and known.module() is module else None

    def attachment(self, parent: Any, name: str, child: Any) -> Attachment | None:
        known = self.attachments.get((id(parent), name))
        return known if known is not None and known.child() is child else None

    def _constructed(self, module: Any, copied: bool) -> None:
        known = self.construction(module)
        if known is not None:
            return  # super().__init__ of a second base
        if id(module) not in self.constructions:
            self.order.append(id(module))
        chain = self._chain(sys._getframe(3), skip_for=module, through=True)
        self.constructions[id(module)] = Construction(weakref.ref(module), chain, copied)

    def _maybe_attached(self, parent: Any, args: tuple[Any, ...]) -> None:
        if len(args) < 2 or not isinstance(args[1], self._module_class):
            return
        chain = self._chain(sys._getframe(2), naming=parent, through=str(args[0]).isdigit())
        self.attachments[(id(parent), str(args[0]))] = Attachment(weakref.ref(args[1]), chain)

    def _chain(self, frame: FrameType | None, skip_for: Any = None, naming: Any = None, through: bool = False) -> list[Step]:
        """User frames outward, through all that run for one other module, the owner: one helper method may call the next.

        `through`: and further out. A container may be filled from a list that the owner was given, or with what another model made.
        """
        chain: list[Step] = []
        owner = None
        own_constructor = skip_for is not None
        while frame is not None and len(chain) < CHAIN_LIMIT:
            if not self.files.is_library(frame.f_code.co_filename):
                subject = first_argument(frame)
                if own_constructor and (subject is skip_for or _creates(frame, subject, skip_for)):
                    frame = frame.f_back
                    continue
                own_constructor = False
                if not (naming is not None and subject is naming and frame.f_code.co_name in NAMING_METHODS):
                    if _is_method(frame) and isinstance(subject, self._module_class) and subject is not naming:
                        if owner is not None and subject is not owner and not through:
                            break
                        owner = subject
                    chain.append(Step(id(frame), point(frame)))
            frame = frame.f_back
        return chain


def _is_method(frame: FrameType) -> bool:
    """Not a function that is only handed a module; where a method names its object otherwise, a chain is longer than needed."""
    return frame.f_code.co_varnames[:1] == ("self",)


def _creates(frame: FrameType, subject: Any, module: Any) -> bool:
    """A metaclass's __call__ or a __new__ of the module's class."""
    return isinstance(subject, type) and frame.f_code.co_name in ("__call__", "__new__") and isinstance(module, subject)
