"""Where the modules of a model really come from: a tracer for tests, written without the recorder and without its code.

It patches the methods of `nn.Module` that construct and attach, keeps every frame around them with the exact expression each stands at, and
watches one training step with `sys.setprofile` for the calls. What is a module's line follows from rules on these frames:

- a child with a name: the statement, outside torch, that attached it;
- an entry of a container: the expression that made it, in the frame that filled the container (or in a comprehension there), else the
  innermost expression outside torch that made it; a copied entry has the line that copied;
- a module that came with a copied parent: the parent's;
- the model itself: the statement of the script's folder that led to its construction;
- a call: the expression in the nearest frame outside torch that is not the module's own; what decorates a method of its class is its own.

Usage: truth.py OUT.json NAME…   (names of `catalog.py`; all in one process)
"""

from __future__ import annotations

import ast
import functools
import json
import sys
import sysconfig
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn

HERE = str(Path(__file__).resolve().parent)
TORCH = str(Path(torch.__file__).parent)
STANDARD = sysconfig.get_paths()["stdlib"]
WATCHED_STEP = 3  # optimizer steps before it are warm-up


@dataclass(frozen=True)
class Place:
    """One frame, stopped: its identity while it ran, the object whose method it is, and the expression, lines 1-based."""

    frame: int
    subject: int
    code: CodeType
    line: int
    column: int

    @property
    def file(self) -> str:
        return self.code.co_filename


@functools.cache
def is_foreign(file: str) -> bool:
    """torch, the standard library, generated code, this tracer: never a person's line."""
    if file == __file__ or file.startswith(("<", TORCH)):
        return True
    return file.startswith(STANDARD) and "site-packages" not in file


@functools.cache
def positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def place(frame: FrameType) -> Place:
    code = frame.f_code
    line, _, column, _ = positions(code)[frame.f_lasti // 2]
    subject = 0
    if code.co_argcount and code.co_varnames[0] == "self":
        subject = id(frame.f_locals.get("self"))
    return Place(id(frame), subject, code, line or frame.f_lineno, column or 0)


def places(frame: FrameType | None) -> list[Place]:
    """All frames outward, foreign ones left out."""
    found = []
    while frame is not None:
        if not is_foreign(frame.f_code.co_filename):
            found.append(place(frame))
        frame = frame.f_back
    return found


class Births:
    """Every construction and attachment since `watch()`."""

    def __init__(self) -> None:
        self.made: dict[int, list[Place]] = {}
        self.copied: set[int] = set()
        self.attached: dict[tuple[int, str], tuple[int, list[Place]]] = {}
        self.kept: list[Any] = []  # an identity means nothing once its object is gone

    def watch(self) -> None:
        births = self
        init, attribute, add, state = nn.Module.__init__, nn.Module.__setattr__, nn.Module.add_module, nn.Module.__setstate__

        def __init__(module: nn.Module, *args: Any, **kwargs: Any) -> None:
            births.born(module, sys._getframe(1))
            init(module, *args, **kwargs)

        def __setstate__(module: nn.Module, value: Any) -> None:
            births.copied.add(id(module))
            births.born(module, sys._getframe(1))
            state(module, value)

        def __setattr__(module: nn.Module, name: str, value: Any) -> None:
            if isinstance(value, nn.Module):
                births.named(module, name, value, sys._getframe(1))
            attribute(module, name, value)

        def add_module(module: nn.Module, name: str, value: nn.Module | None) -> None:
            if value is not None:
                births.named(module, name, value, sys._getframe(1))
            add(module, name, value)

        for wrapper in (__init__, __setstate__, __setattr__, add_module):
            setattr(nn.Module, wrapper.__name__, functools.wraps(getattr(nn.Module, wrapper.__name__))(wrapper))

    def born(self, module: nn.Module, frame: FrameType) -> None:
        self.kept.append(module)
        self.made.setdefault(id(module), [p for p in places(frame) if p.subject != id(module)])

    def named(self, parent: nn.Module, name: str, child: nn.Module, frame: FrameType) -> None:
        naming = [p for p in places(frame) if not (p.subject == id(parent) and p.code.co_name in ("__setattr__", "add_module"))]
        self.attached[id(parent), name] = id(child), naming


class Calls:
    """Module calls of one step: (module, place) with how often."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[int, Place]] = Counter()
        self.recomputed = 0
        self._open: list[tuple[int, int]] = []  # (frame, module)
        self._code = nn.Module._call_impl.__code__
        self._forwards: dict[CodeType, bool] = {}

    def start(self) -> None:
        sys.setprofile(self._event)

    def stop(self) -> None:
        sys.setprofile(None)

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and self._open and self._open[-1][0] == id(frame):
            self._open.pop()
        if event != "call" or not frame.f_code.co_argcount or frame.f_code.co_name not in ("_call_impl", "forward"):
            return
        module = frame.f_locals.get(frame.f_code.co_varnames[0])
        if not isinstance(module, nn.Module):
            return
        entered = bool(self._open) and self._open[-1][1] == id(module)
        if frame.f_code is self._code or (frame.f_code.co_name == "forward" and not entered):
            if not entered:
                self._note(module, frame.f_back)
            self._open.append((id(frame), id(module)))

    def _note(self, module: nn.Module, frame: FrameType | None) -> None:
        while frame is not None:
            file = frame.f_code.co_filename
            if frame.f_code.co_name == "backward" and file.startswith(TORCH):
                self.recomputed += 1
                return
            if not is_foreign(file):
                at = place(frame)
                if at.subject != id(module) and not decorates(at.code, type(module)):
                    self.seen[id(module), Place(0, 0, at.code, at.line, at.column)] += 1
                    return
            frame = frame.f_back


def decorates(code: CodeType, kind: type[nn.Module]) -> bool:
    """The function that a decorator put in the place of the class's method."""
    return any(getattr(getattr(kind, name), "__code__", None) is code for name in ("__call__", "forward"))


# -- rules


@functools.cache
def statements(file: str) -> list[tuple[int, int, int, int]]:
    nodes = ast.walk(ast.parse(Path(file).read_bytes()))
    return [(n.lineno, n.col_offset, n.end_lineno or 0, n.end_col_offset or 0) for n in nodes if isinstance(n, ast.stmt)]


def statement(at: Place) -> tuple[str, int, int]:
    around = [s for s in statements(at.file) if s[:2] <= (at.line, at.column) < s[2:]]
    line, column, _, _ = max(around)
    return at.file, line - 1, column


def expression(at: Place) -> tuple[str, int, int]:
    return at.file, at.line - 1, at.column


def entry_of(made: list[Place], filled: list[Place]) -> Place | None:
    frames = {p.frame: i for i, p in enumerate(made)}
    for k, at in enumerate(filled):
        i = frames.get(at.frame)
        if i is None or made[i].code is not at.code or made[i + 1 : i + 2] != filled[k + 1 : k + 2]:
            continue  # another frame, also one at the address of one that is gone
        while i > 0 and made[i - 1].code in made[i].code.co_consts and made[i - 1].code.co_name.startswith("<"):
            i -= 1
        return made[i]
    return made[0] if made else None


def definition(births: Births, root: nn.Module, path: str) -> tuple[str, int, int] | None:
    module = root.get_submodule(path)
    made = births.made.get(id(module), [])
    if not path:
        own = [p for p in made if p.file.startswith(HERE)]
        return statement(own[0]) if own else None
    holder, _, name = path.rpartition(".")
    child, filled = births.attached.get((id(root.get_submodule(holder)), name), (0, []))
    if child != id(module):
        if id(module) in births.copied and made:
            return expression(made[0])
        return None
    if name.isdigit() and (entry := entry_of(made, filled)) is not None:
        return expression(entry)
    return statement(filled[0]) if filled else None


def truth_of(name: str, births: Births) -> dict[str, Any]:
    import catalog
    import train

    calls = Calls()
    model = train.main(name, WATCHED_STEP, before_last=calls.start)
    calls.stop()
    paths = {id(m): path for path, m in model.named_modules()}
    return {
        "package": catalog.PACKAGE[name],
        "modules": [{"path": p, "class": type(m).__name__, "at": definition(births, model, p)} for p, m in model.named_modules()],
        "calls": [
            {"path": paths[module], "at": expression(at), "count": count} for (module, at), count in calls.seen.items() if module in paths
        ],
        "recomputed": calls.recomputed,
    }


def main(out: str, names: list[str]) -> None:
    births = Births()
    births.watch()
    found = {}
    for name in names:
        found[name] = truth_of(name, births)
        births.attached.clear(), births.made.clear(), births.copied.clear(), births.kept.clear()
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
