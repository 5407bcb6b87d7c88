"""Separate steps against a stacked one, in turn; what it takes of memory; and where stacking fails."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any, Callable

from ..source.frames import Files
from .models import Separate, Settings, Together, difference, varied
from .tape import Tape

BLOCK_SECONDS = 0.1  # of steps in a row, so that the clock and the next block weigh little
MOST_PAIRS, LOOKS = 20, (6, 9, 13)
SURE = 5.0  # standard errors
SMALL = 0.01  # of the ratio: nobody needs to know it better


@dataclass(frozen=True)
class Place:
    file: str
    line: int  # from 0


def place_of(files: Files, frame: FrameType | None) -> Place | None:
    """The innermost frame of the workspace from here outwards."""
    while frame is not None:
        if files.in_workspace(frame.f_code.co_filename):
            return Place(os.path.abspath(frame.f_code.co_filename), frame.f_lineno - 1)
        frame = frame.f_back
    return None


def failure(files: Files, error: BaseException) -> dict[str, Any]:
    """Torch's first sentence, and the innermost line of the workspace."""
    place = None
    for entry in traceback.extract_tb(error.__traceback__):
        if files.in_workspace(entry.filename):
            place = Place(os.path.abspath(entry.filename), (entry.lineno or 1) - 1)
    message = f"{type(error).__name__}: {error}".split("\n")[0][:300]
    return {"message": message, **(asdict(place) if place else {})}


class Sweep:
    def __init__(self, model: Any, settings: Settings, tape: Tape, around: Callable[[], Any], files: Files) -> None:
        self.model, self.settings, self.tape, self.around, self.files = model, settings, tape, around, files

    def tried(self, counts: Sequence[int], until: float) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for count in counts:
            if found and time.monotonic() > until:
                found.append({"models": count, "late": True})
                continue
            row = self._tried(count, until)
            found.append({"models": count, **row})
            print(f"hotlens: {count} models: {_said(row)}", file=sys.stderr, flush=True)
        return found

    def _tried(self, count: int, until: float) -> dict[str, Any]:
        models = varied(self.model, count)
        separate = Separate(models, self.settings, self.tape, self.around)
        separate.step()
        try:
            together = Together(models, self.settings, self.tape, self.around)
            together.step()
        except Exception as error:  # whatever torch says of code that cannot be batched
            return {"failed": failure(self.files, error)}
        row: dict[str, Any] = {}
        try:
            row["difference"] = difference(self.model, self.settings, self.tape, count)
            if row["difference"] is None:
                row["not_compared"] = "the model draws random numbers that cannot be turned off"
        except Exception as error:  # the user's code may know float32 alone
            row["not_compared"] = failure(self.files, error)["message"]
        row["separate_bytes"] = separate.held() + _rise(lambda: separate.step_of(0), separate.clear)
        row["together_bytes"] = together.held() + _rise(together.step, together.clear)
        row["pairs"] = pairs(separate.step, together.step, until)
        return row


def _said(row: dict[str, Any]) -> str:
    if "failed" in row:
        return "they cannot be stacked"
    last = row["pairs"][-1]
    return f"{last[0] / 1e6:.3g} ms one after another, {last[1] / 1e6:.3g} ms as one"


def pairs(first: Callable[[], Any], second: Callable[[], Any], until: float) -> list[list[int]]:
    """Nanoseconds a step of blocks of both, one after the other in an order that alternates, until the ratio is sure."""
    steps = [_steps_in(run) for run in (first, second)]
    found: list[list[int]] = []
    while len(found) < MOST_PAIRS:
        turn = [0, 1] if len(found) % 2 == 0 else [1, 0]
        took = [0, 0]
        for at in turn:
            took[at] = _block((first, second)[at], steps[at])
        found.append(took)
        if len(found) >= 2 and time.monotonic() > until:
            break
        if len(found) in LOOKS and _is_sure(found):
            break
    return found


def _is_sure(found: Sequence[Sequence[int]]) -> bool:
    logs = [math.log(after / before) for before, after in found]
    mean = sum(logs) / len(logs)
    error = math.sqrt(sum((one - mean) ** 2 for one in logs) / (len(logs) - 1) / len(logs))
    return SURE * error < max(SMALL, abs(mean) / 2)


def _steps_in(run: Callable[[], Any]) -> int:
    _block(run, 1)
    return max(1, round(BLOCK_SECONDS * 1e9 / max(1, _block(run, 2))))


def _block(run: Callable[[], Any], steps: int) -> int:
    _wait()
    begin = time.perf_counter_ns()
    for _ in range(steps):
        run()
    _wait()
    return max(1, (time.perf_counter_ns() - begin) // steps)


def _on_gpu() -> bool:
    torch: Any = sys.modules["torch"]
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())


def _wait() -> None:
    if _on_gpu():
        sys.modules["torch"].cuda.synchronize()


def _rise(run: Callable[[], Any], clear: Callable[[], None]) -> int:
    """The most bytes that were allocated within a step, above what was held before it, when no gradients were."""
    import torch

    clear()

    if _on_gpu():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated()) - int(before)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    with tempfile.TemporaryDirectory(prefix="hotlens-sweep-") as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, "rb") as file:
            events = json.load(file)["traceEvents"]
    return _highest(sorted((e for e in events if e.get("name") == "[memory]"), key=lambda e: float(e["ts"])))


def _highest(moments: Sequence[dict[str, Any]]) -> int:
    held = highest = 0
    for moment in moments:
        held += int(moment["args"]["Bytes"])
        highest = max(highest, held)
    return highest
