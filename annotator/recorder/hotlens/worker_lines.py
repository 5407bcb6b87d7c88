"""Lines of a dataset that run in the worker processes of a DataLoader, where no step is traced: which of them a batch waits for.

The first worker of each loader looks, every millisecond while it makes batches, at which lines of the workspace it is. What it has seen
lies in memory that is shared with the process that trains; there the bundle is written. Workers that are not forked (`spawn`,
`forkserver`) know nothing of this.
"""

from __future__ import annotations

import collections
import functools
import json
import mmap
import os
import sys
from types import CodeType, FrameType
from typing import Any, Callable

from .frames import Files, qualified_name
from .ticks import Ticks

SLOTS, SLOT_BYTES = 8, 64 * 1024  # loaders; of one, what it has seen as JSON
EVERY_SECONDS = 0.001
ENOUGH = 1000  # looks at a loader: a line's part is known within 3 points then
DEEPEST = 32  # lines inside one another
LENGTH_BYTES = 4
WORKER = "_worker_loop"  # torch's function that a worker runs

# From the outermost line in: (file, line, function).
Place = tuple[str, int, str]
Path = tuple[Place, ...]


class WorkerLines:
    """One for a run. `fork_begins` and `forked` are told of every fork; what is found is by the identity of the loader's sampler."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._shared = mmap.mmap(-1, SLOTS * SLOT_BYTES)
        self._samplers: list[int] = []  # by slot
        self._next: int | None = None  # slot of the worker that is forked now

    def fork_begins(self) -> None:
        """In the process that trains, on the thread that forks."""
        self._next = None
        iterator = _starts_first_worker(sys._getframe(1))
        batches = getattr(iterator, "_index_sampler", None)
        if batches is None:
            return
        sampler = id(batches)
        if sampler not in self._samplers and len(self._samplers) < SLOTS:
            self._samplers.append(sampler)
        if sampler in self._samplers:
            slot = self._samplers.index(sampler)
            self._next = slot if sum(self._read(slot).values()) < ENOUGH else None

    def forked(self) -> None:
        """In the new process."""
        if self._next is None:
            return
        from torch.utils.data._utils import fetch

        looking = _Looking(self.files, self._read(self._next), functools.partial(self._write, self._next))
        for kind in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            kind.fetch = looking.around(kind.fetch)  # type: ignore[method-assign]

    def of(self, samplers: set[int]) -> dict[Path, int]:
        """How often each line was at work for the loaders with these samplers; the empty path where none of the workspace was."""
        found: collections.Counter[Path] = collections.Counter()
        for slot, sampler in enumerate(self._samplers):
            if sampler in samplers:
                found.update(self._read(slot))
        return dict(found)

    def _read(self, slot: int) -> dict[Path, int]:
        begin = slot * SLOT_BYTES
        length = int.from_bytes(self._shared[begin : begin + LENGTH_BYTES], "little")
        if length == 0:
            return {}
        try:
            rows = json.loads(self._shared[begin + LENGTH_BYTES : begin + LENGTH_BYTES + length])
        except ValueError:
            return {}
        return {tuple((file, line, function) for file, line, function in path): count for path, count in rows}

    def _write(self, slot: int, seen: dict[Path, int]) -> None:
        text = json.dumps(list(seen.items()), separators=(",", ":")).encode()
        begin = slot * SLOT_BYTES
        if len(text) <= SLOT_BYTES - LENGTH_BYTES:
            self._shared[begin : begin + LENGTH_BYTES] = bytes(LENGTH_BYTES)
            self._shared[begin + LENGTH_BYTES : begin + LENGTH_BYTES + len(text)] = text
            self._shared[begin : begin + LENGTH_BYTES] = len(text).to_bytes(LENGTH_BYTES, "little")


def _starts_first_worker(frame: FrameType | None) -> Any:
    """The iterator of a DataLoader whose worker 0 is being started further out; None where none is."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__init__" and code.co_filename.endswith(os.path.join("utils", "data", "dataloader.py")):
            known = frame.f_locals
            return known.get("self") if known.get("i") == 0 and "loader" in known else None
        frame = frame.f_back
    return None


class _Looking:
    """In a worker: at which lines it is while it fetches, at every tick until that is enough."""

    def __init__(self, files: Files, seen: dict[Path, int], save: Callable[[dict[Path, int]], None]) -> None:
        self._files = files
        self._seen: collections.Counter[Path] = collections.Counter(seen)
        self._looks = sum(seen.values())
        self._save = save
        self._ticks: Ticks | None = Ticks(EVERY_SECONDS, self._look)
        self._names: dict[CodeType, str] = {}

    def around(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        def watched(fetcher: Any, index: Any) -> Any:
            if self._ticks is None:
                return fetch(fetcher, index)
            self._ticks.start()
            try:
                return fetch(fetcher, index)
            finally:
                self._ticks.stop()
                self._save(self._seen)
                if self._looks >= ENOUGH:
                    self._ticks = None

        return watched

    def _look(self, innermost: FrameType) -> None:
        own: list[tuple[FrameType, int]] = []
        frame: FrameType | None = innermost
        while frame is not None and frame.f_code.co_name != WORKER:  # further out stands the script, as it was when it forked
            if self._files.in_workspace(frame.f_code.co_filename):
                own.append((frame, frame.f_lineno or frame.f_code.co_firstlineno))
            frame = frame.f_back
        if frame is not None:
            self._looks += 1
            self._seen[tuple((at.f_code.co_filename, line, self._name(at)) for at, line in own[: -DEEPEST - 1 : -1])] += 1

    def _name(self, frame: FrameType) -> str:
        known = self._names.get(frame.f_code)
        if known is None:
            known = self._names[frame.f_code] = qualified_name(frame)
        return known
