"""`hotlens.analyze(model)`: a bundle from a profiler that the user runs, in a script or a notebook.

The user's window is the measured one. Where the profiler's schedule leaves a step after it without recording, that step becomes the map
step; without one the bundle holds the modules and their classes, and nothing says which operator is whose but the trace itself.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any

from ..bundle import bundle
from ..map_step.capture import Capture
from ..map_step.mapping import MapStep
from ..map_step.tree import model_files
from ..process.report import Reporter, Warnings
from ..source.frames import Files
from ..steps.finder import Boundary
from ..steps.measure import STEP_NAME, ExportedTrace, export
from ..steps.phases import Mapped
from ..storage import store

WHY = "the script's own torch.profiler marks the steps"
NO_MAP = (
    "no step was left for the map step; times cannot be given to modules exactly. "
    "Let two or more steps follow those that are profiled: schedule(..., repeat=1)"
)


class Handler:
    """An `on_trace_ready`. Each window that the profiler hands over becomes a bundle; the newest stays with its map step."""

    def __init__(self, models: tuple[Any, ...], out: str) -> None:
        import torch

        self.folder = store.profiles_folder(out)
        self.files = Files([os.getcwd(), os.path.dirname(os.path.dirname(self.folder))])
        self.files.set_torch(os.path.dirname(torch.__file__))
        self.capture = Capture(self.files)
        self.capture.know(m for model in models for m in model.modules())
        self.reporter = Reporter()
        store.prepare(self.folder)

    def __call__(self, profiler: Any) -> None:
        draft = store.Draft(self.folder)
        try:
            exported = export(profiler, draft.path(f"measured{store.EXPORTED}"), [])
            durations = _step_durations(exported.path)
            path = self._write(draft, exported, durations, None)
        except OSError as error:
            draft.discard()
            self.reporter.say(str(store.cannot_write(self.folder, error)))
            return
        self.reporter.say(f"{len(durations)} measured steps in {path}")
        if _records_nothing(profiler):
            _MapStepAfter(self, profiler, path, durations).wait()

    def add_map_step(self, path: str, durations: list[int], mapped: Mapped) -> None:
        """Writes the bundle again, with the map step; the one without it goes."""
        draft = store.Draft(self.folder)
        try:
            mapped.finish(draft)
            self._write(draft, ExportedTrace(os.path.join(path, "trace-0.json.gz")), durations, mapped)
        except OSError as error:
            draft.discard()
            self.reporter.say(str(store.cannot_write(self.folder, error)))
            return
        shutil.rmtree(path, ignore_errors=True)
        self.reporter.say(f"with the map step: {os.path.join(self.folder, draft.name)}")

    def _write(self, draft: store.Draft, measured: ExportedTrace, durations: list[int], mapped: Mapped | None) -> str:
        warnings = Warnings()
        if mapped is None:
            warnings.add("no_map_step", NO_MAP)
        recording = bundle.Recording(
            argv=list(sys.argv),
            cwd=os.getcwd(),
            warmup_steps=0,
            steps_asked=len(durations),
            boundary=Boundary("profiler", 0, WHY, 0),
            samples_per_step=None,
            plain_ns=[],
            profiled_ns=durations,
            measured=measured,
            map_ns=mapped.durations[0] if mapped else None,
            mapped=mapped.map if mapped else None,
            map_trace=mapped.trace() if mapped else None,
            warnings=warnings,
        )
        return bundle.write(recording, self.capture, self.files, draft)

    def map_step(self) -> MapStep:
        modules = self.capture.alive()
        return MapStep(self.files, model_files(modules, self.files), modules)


class _MapStepAfter:
    """Runs the next step of the profiler's that records nothing as the map step: between two calls of its `step`."""

    def __init__(self, handler: Handler, profiler: Any, path: str, durations: list[int]) -> None:
        self.handler = handler
        self.profiler = profiler
        self.path = path
        self.durations = durations
        self.phase: Mapped | None = None

    def wait(self) -> None:
        self.profiler.step = self._step

    def _step(self) -> None:
        if self.phase is not None:
            self._end(self.phase)
        del self.profiler.step
        self.profiler.step()
        if self.phase is None and _records_nothing(self.profiler):
            self.phase = Mapped(self.handler.map_step, "profiler")
            self.profiler.step = self._step
            self.phase.start()
            self.phase.begin_step()

    def _end(self, phase: Mapped) -> None:
        phase.end_step()
        if phase.map is not None and phase.map.fault is None:
            self.handler.add_map_step(self.path, self.durations, phase)


def _records_nothing(profiler: Any) -> bool:
    from torch.profiler import ProfilerAction

    return bool(getattr(profiler, "current_action", None) == ProfilerAction.NONE)


def _step_durations(path: str) -> list[int]:
    """Of the ranges that `profiler.step` opens; without any, the whole window is one step."""
    with open(path, "rb") as file:
        events = json.load(file)["traceEvents"]
    name = STEP_NAME.format("")
    steps = [e for e in events if e.get("ph") == "X" and str(e.get("name", "")).startswith(name) and e.get("cat") == "user_annotation"]
    found = [round(float(e["dur"]) * 1000) for e in sorted(steps, key=lambda e: float(e["ts"]))]
    if found:
        return found
    timed = [(float(e["ts"]), float(e["ts"]) + float(e["dur"])) for e in events if e.get("ph") == "X" and "dur" in e and "ts" in e]
    return [round((max(end for _, end in timed) - min(begin for begin, _ in timed)) * 1000)] if timed else []
