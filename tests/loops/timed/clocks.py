"""A script's own clocks: how long each `with clock(NAME):` took in all from the second update on, written to the file TIMED_CLOCKS."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import time
from collections.abc import Iterator

_totals: dict[str, float] = {}
_updates = 0


@contextlib.contextmanager
def clock(name: str) -> Iterator[None]:
    """Counts the block's wall time under `name`."""
    began = time.perf_counter()
    yield
    if _updates > 0:
        _totals[name] = _totals.get(name, 0.0) + time.perf_counter() - began


def updated(loss: float) -> None:
    """An update is complete. What came before the first is start-up and counts nowhere."""
    global _updates
    _updates += 1
    _losses.append(loss)


_losses: list[float] = []


def _write() -> None:
    if path := os.environ.get("TIMED_CLOCKS"):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"totals": _totals, "updates": _updates, "losses": _losses}, file)


atexit.register(_write)
