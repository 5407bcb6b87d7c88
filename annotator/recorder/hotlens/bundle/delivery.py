"""Where a recording goes: into the bundle; of a rank that does not lead, to the one that does."""

from __future__ import annotations

import contextlib
import os

from ..compiled import compilation
from ..compiled.graphs import Graphs
from ..loop.clocks import LoopClocks
from ..loop.worker_lines import Path
from ..map_step.capture import Capture
from ..process.options import Options
from ..process.report import Reporter, Warnings
from ..program.program import Program
from ..source.frames import Files
from ..steps.course import Course
from ..storage import ranks, store
from ..storage.ranks import Part
from . import bundle, result
from .held import Held


class Delivery:
    """One recording, delivered at most once. `bundle` is its path then; empty where it went to another rank."""

    def __init__(
        self, options: Options, reporter: Reporter, warnings: Warnings, folder: str, capture: Capture, files: Files, loop: LoopClocks
    ) -> None:
        self.options = options
        self.reporter = reporter
        self.warnings = warnings
        self.capture = capture
        self.files = files
        self.cwd = os.getcwd()  # the script may go elsewhere
        self.ranks = ranks.member(folder)
        self.draft = store.Draft(folder, self._name(folder))
        self.bundle: str | None = None
        self.loop = loop
        self.program: Program | None = None  # refused before a step was recorded
        self.batch_size: int | None = None  # of the loader that feeds the updates
        self.worker_lines: dict[Path, int] = {}  # of the same, where workers make its batches

    def _name(self, folder: str) -> str:
        given = os.environ.get(store.NAME_VARIABLE) if self.leads else None
        return given or store.new_name(folder, self.options.mark)

    @property
    def leads(self) -> bool:
        """Writes the bundle: alone, or for the ranks of its machine."""
        return self.ranks is None or self.ranks.leads

    @property
    def leads_others(self) -> bool:
        return self.ranks is not None and self.ranks.leads

    def announce_stop(self, boundary: int) -> None:
        if self.ranks is not None:
            self.ranks.announce_stop(boundary)

    def leader_stops(self, boundary: int) -> bool:
        """To a rank that does not lead."""
        assert self.ranks is not None
        at = self.ranks.stops_at()
        return at is not None and boundary >= at

    def leave(self) -> None:
        """A rank that does not lead has come to its end."""
        if self.ranks is not None and not self.ranks.leads:
            with contextlib.suppress(OSError):
                self.ranks.leave()

    def tell_leader(self, failure: str) -> None:
        """A rank that has nothing to deliver says so, or the others would wait for it."""
        if self.ranks is not None and not self.ranks.leads and self.bundle is None:
            with contextlib.suppress(OSError):
                self.ranks.deliver(Part(self.ranks.rank, failure=failure))

    def write(self, course: Course, samples: int | None, held: Held, graphs: Graphs | None, end: result.End) -> None:
        """What the course has measured, which must have a step; nothing of it is kept. Raises OSError when the disk does not take it.

        `graphs`: of a script that uses torch.compile.
        """
        if self.leads:
            self._write_bundle(course, samples, held, graphs, end)
        else:
            self._hand_to_leader(course)
        course.past.clear()
        self.capture.forget()

    def _hand_to_leader(self, course: Course) -> None:
        assert self.ranks is not None
        self.ranks.deliver(result.part(self.ranks.rank, course.past, self.ranks.trace_path()))
        self.draft.discard()
        self.bundle = ""

    def _write_bundle(self, course: Course, samples: int | None, held: Held, graphs: Graphs | None, end: result.End) -> None:
        self.reporter.progress("write")
        wait = ranks.WAIT_SECONDS if end.stopped_by is None else ranks.SHORT_WAIT_SECONDS
        found = result.Ranks(self.ranks.rank, self.ranks.collect(wait)) if self.ranks is not None else result.Ranks()
        if not self.loop.undisturbed:
            result.warn_of_slowed(course.past, self.warnings)
        recording = result.recording(self.options, self.cwd, course.boundary, samples, course.past, self.warnings, end, found)
        recording.held = held
        recording.compiled = compilation.look() if graphs is not None else None
        recording.graphs = graphs if recording.compiled is not None else None
        recording.program = recording.program or self.program
        recording.batch_size = self.batch_size
        recording.worker_lines = self.worker_lines
        recording.loop = self.loop if self.loop.updates else None
        self.bundle = bundle.write(recording, self.capture, self.files, self.draft)
        if self.ranks is not None:
            self.ranks.clear()
        for warning in self.warnings.as_list():
            self.reporter.say_once(warning["message"])
        if self.options.announce:
            self.reporter.say(f"{len(recording.profiled_ns)} measured steps ({course.boundary.why}) in {self.bundle}")
        self.reporter.progress("done", bundle=self.bundle, steps=len(recording.profiled_ns))
