"""How a DataLoader's worker begins that was not forked. It is read by its path: nothing of this package is known there."""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
from typing import Any, Callable


def begins(own: Callable[[int], Any] | None, workspace: tuple[str, ...], memory: str, slot: int) -> Callable[[int], None]:
    """The script's own function, if it has one; the first worker looks from then on at which lines it is."""

    def begin(worker: int) -> None:
        if own is not None:
            own(worker)
        if worker == 0:
            with contextlib.suppress(Exception):
                recorder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
                package = runpy.run_path(os.path.join(recorder, "__main__.py"))["load_package"]()
                importlib.import_module(f"{package.__name__}.loop.worker_lines").look_from_outside(workspace, memory, slot)

    return begin
