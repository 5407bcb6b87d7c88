"""Files that decide how a model is made though no recorded line need stand in them: the project's modules (`config.py`), the classes
that modules and their configurations derive from, and the functions that made the model (`resnet18`)."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..map_step.capture import Capture
from ..map_step.tree import Tree, class_file
from ..source.frames import STDLIB, Files
from ..source.statements import text_of

METHODS = ("__init__", "__post_init__", "forward")
DEEPEST = 2  # calls below these
MOST_FILES = 200
MOST_BYTES = 4 << 20  # of all of them


def deciding_files(tree: Tree, capture: Capture, files: Files) -> list[str]:
    """By name, torch's and the standard library's left out; the project's come first."""
    found = dict.fromkeys([*_project(files), *_makers(tree, capture), *_classes(tree)])
    kept: list[str] = []
    size = 0
    for name in found:
        text = None if files.is_library(name) else text_of(name)
        if text is None or len(kept) == MOST_FILES or size + len(text) > MOST_BYTES:
            continue
        kept.append(name)
        size += len(text)
    return kept


def _project(files: Files) -> list[str]:
    modules = [vars(m) for m in list(sys.modules.values()) if isinstance(m, ModuleType)]
    names = {n for m in modules if isinstance(n := m.get("__file__"), str) and n.endswith(".py")}
    # The recorder asks no more of what is installed: it would read thousands of files.
    own = (n for n in names if "-packages" + os.sep not in n and not n.startswith(STDLIB))
    return sorted(n for n in own if os.path.realpath(n).startswith(files.workspace) and files.in_workspace(n))


def _makers(tree: Tree, capture: Capture) -> Iterator[str]:
    for root, _ in tree.roots:
        construction = capture.construction(tree.modules[root].module)
        for step in construction.chain if construction is not None else []:
            yield step.at.code.co_filename


def _classes(tree: Tree) -> Iterator[str]:
    types = dict.fromkeys(type(row.module) for row in tree.modules)
    held = (value for row in tree.modules for value in _attributes(row.module))
    types.update(dict.fromkeys(type(value) for value in held))
    bases = dict.fromkeys(base for kind in types for base in kind.__mro__)
    yield from (name for each in bases if isinstance(name := class_file(each), str))
    yield from _called(bases)


def _called(kinds: Iterable[type]) -> Iterator[str]:
    """Of functions that constructors and `forward` name (`calculate_drop_path_rates`), and of those that these name."""
    waiting = [f for kind in kinds for name in METHODS if isinstance(f := _unwrapped(vars(kind).get(name)), FunctionType)]
    for _ in range(DEEPEST):
        named = dict.fromkeys(f for function in waiting for f in _named(function, function.__code__))
        yield from dict.fromkeys(f.__code__.co_filename for f in named)
        waiting = list(named)


def _named(function: FunctionType, code: CodeType) -> Iterator[FunctionType]:
    for name in code.co_names:
        value = _unwrapped(function.__globals__.get(name))
        if isinstance(value, FunctionType):
            yield value
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named(function, inner)


def _unwrapped(value: Any) -> Any:
    return inspect.unwrap(value) if isinstance(value, FunctionType) else None


def _attributes(module: Any) -> Iterable[Any]:
    return [value for name, value in vars(module).items() if not name.startswith("_")]
