"""The user's interpreter: is there a torch that can be recorded, and when does the script import it.

torch is imported by the script, not before it: environment variables that the script sets first must still count.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable

from .report import RecorderError

OLDEST_TORCH = (2, 0)


def check_torch() -> None:
    """Raises RecorderError where torch is missing or too old; does not import it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise RecorderError(
            f"PyTorch is not installed for {sys.executable}. Choose the interpreter that trains: --python EXE; "
            "or install it: pip install torch"
        )
    version = _version_without_import(spec.origin)
    if version is not None and tuple(map(int, version.split(".")[:2])) < OLDEST_TORCH:
        raise RecorderError(f"PyTorch {version} is too old, 2.0 or newer is needed. Install a newer one: pip install --upgrade torch")


def _version_without_import(origin: str) -> str | None:
    try:
        with open(os.path.join(os.path.dirname(origin), "version.py"), encoding="utf-8") as file:
            found = re.search(r"""^__version__\s*(?::[^=]*)?=\s*['"](\d+\.\d+[^'"+]*)""", file.read(), re.MULTILINE)
    except OSError:
        return None
    return found.group(1) if found else None


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Calls `then` once, right after the module's code has run; at once when it has run already."""
    if name in sys.modules:
        then()
        return
    sys.meta_path.insert(0, _Watcher(name, then))


class _Watcher(MetaPathFinder):
    """Finds nothing itself: lets the others find the module and adds a call behind its execution, then is gone.

    Who only asks whether there is such a module, as transformers does before it imports torch, gets a loader as well.
    """

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name = name
        self.then = then
        self._asks = False

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self.name or self._asks:
            return None
        self._asks = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asks = False
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)  # where it fails, the script may try again
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then()

        loader.exec_module = exec_module
        return spec
