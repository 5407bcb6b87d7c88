"""Lines of a dataset that run in the worker processes of a DataLoader, where no step is traced: which of them a batch waits for.

The first worker of each loader looks, every millisecond while it makes batches, at which lines of the workspace it is. What it has seen
lies in memory that is shared with the process that trains; there the bundle is written. A worker that is forked has all of it. One that is
not (`spawn`, `forkserver`) is told with the function that begins it (spawned.py); that takes a system with memfd_create(2).
"""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import mmap
import operator
import os
import runpy
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Callable

from ..source.frames import Files, line_of, qualified_name
from .ticks import Ticks

SLOTS, SLOT_BYTES = 8, 64 * 1024  # loaders; of one, what it has seen as JSON
EVERY_SECONDS = 0.001
ENOUGH = 1000  # looks at a loader: a line's part is known within 3 points then
DEEPEST = 32  # lines inside one another
LENGTH_BYTES = 4
WORKER = "_worker_loop"  # torch's function that a worker runs
MEMORY = "hotlens-worker-lines"
SPAWNED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spawned.py")

# From the outermost line in: (file, line, function).
Place = tuple[str, int, str]
Path = tuple[Place, ...]


class _Slots:
    """What was seen for each loader, in shared memory."""

    def __init__(self, file: int) -> None:
        self._shared = mmap.mmap(file, SLOTS * SLOT_BYTES)

    def read(self, slot: int) -> dict[Path, int]:
        begin = slot * SLOT_BYTES
        length = int.from_bytes(self._shared[begin : begin + LENGTH_BYTES], "little")
        if length == 0:
            return {}
        try:
            rows = json.loads(self._shared[begin + LENGTH_BYTES : begin + LENGTH_BYTES + length])
        except ValueError:
            return {}
        return {tuple((file, line, function) for file, line, function in path): count for path, count in rows}

    def write(self, slot: int, seen: dict[Path, int]) -> None:
        text = json.dumps(list(seen.items()), separators=(",", ":")).encode()
        begin = slot * SLOT_BYTES
        if len(text) <= SLOT_BYTES - LENGTH_BYTES:
            self._shared[begin : begin + LENGTH_BYTES] = bytes(LENGTH_BYTES)
            self._shared[begin + LENGTH_BYTES : begin + LENGTH_BYTES + len(text)] = text
            self._shared[begin : begin + LENGTH_BYTES] = len(text).to_bytes(LENGTH_BYTES, "little")


class WorkerLines:
    """One for a run. `fork_begins` and `forked` are told of every fork, `starting` of every loader that starts workers; what is found is by
    the identity of the loader's sampler."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._file = os.memfd_create(MEMORY) if hasattr(os, "memfd_create") else -1
        if self._file >= 0:
            os.ftruncate(self._file, SLOTS * SLOT_BYTES)
        self._slots = _Slots(self._file)
        self._samplers: list[int] = []  # by slot
        self._next: int | None = None  # slot of the worker that is forked now

    def fork_begins(self) -> None:
        """In the process that trains, on the thread that forks."""
        iterator = _starts_first_worker(sys._getframe(1))
        self._next = self._slot_of(getattr(iterator, "_index_sampler", None))

    def forked(self) -> None:
        """In the new process."""
        if self._next is not None:
            _look(self.files, self._slots, self._next)

    @contextlib.contextmanager
    def starting(self, loader: Any) -> Iterator[None]:
        """While a loader starts its workers, in the process that trains."""
        begins = None
        with contextlib.suppress(Exception):  # a loader, or a context, of another kind
            begins = self._begins_spawned(loader)
        if begins is None:
            yield
            return
        own, loader.worker_init_fn = loader.worker_init_fn, begins
        try:
            yield
        finally:
            loader.worker_init_fn = own

    def of(self, samplers: set[int]) -> dict[Path, int]:
        """How often each line was at work for the loaders with these samplers; the empty path where none of the workspace was."""
        found: collections.Counter[Path] = collections.Counter()
        for slot, sampler in enumerate(self._samplers):
            if sampler in samplers:
                found.update(self._slots.read(slot))
        return dict(found)

    def _slot_of(self, batches: Any) -> int | None:
        """Where the first worker of the loader with this sampler writes; None where it need not look."""
        if batches is None:
            return None
        sampler = id(batches)
        if sampler not in self._samplers and len(self._samplers) < SLOTS:
            self._samplers.append(sampler)
        if sampler not in self._samplers:
            return None
        slot = self._samplers.index(sampler)
        return slot if sum(self._slots.read(slot).values()) < ENOUGH else None

    def _begins_spawned(self, loader: Any) -> _Begins | None:
        import torch

        context = loader.multiprocessing_context or torch.multiprocessing
        if self._file < 0 or context.get_start_method() == "fork":
            return None
        slot = self._slot_of(loader._index_sampler)
        memory = f"/proc/{os.getpid()}/fd/{self._file}"
        return None if slot is None else _Begins(loader.worker_init_fn, self.files.workspace, memory, slot)


class _Begins:
    """The function that begins a worker. Where it arrives, this package is not known: it is found by its path."""

    def __init__(self, own: Callable[[int], Any] | None, workspace: tuple[str, ...], memory: str, slot: int) -> None:
        self._own = own
        self._task = (workspace, memory, slot)

    def __call__(self, worker: int) -> Any:
        return self._own(worker) if self._own is not None else None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Arrived(operator.getitem, _Arrived(runpy.run_path, SPAWNED), "begins"), (self._own, *self._task)


class _Arrived:
    """What a call gives, made where this is unpickled."""

    def __init__(self, *call: Any) -> None:
        self._call = call

    def __call__(self) -> None:
        """pickle(3) asks for a callable."""

    def __reduce__(self) -> tuple[Any, ...]:
        return self._call[0], self._call[1:]


def look_from_outside(workspace: tuple[str, ...], memory: str, slot: int) -> None:
    """In a worker that was not forked. `memory`: a descriptor of the process that trains; OSError where it is not there any more."""
    if not os.readlink(memory).startswith(f"/memfd:{MEMORY}"):
        raise FileNotFoundError(memory)  # the script closed it, and another file has its number
    with open(memory, "r+b") as file:
        _look(Files(list(workspace)), _Slots(file.fileno()), slot)


def _look(files: Files, slots: _Slots, slot: int) -> None:
    from torch.utils.data._utils import fetch

    looking = _Looking(files, slots.read(slot), functools.partial(slots.write, slot))
    for kind in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        kind.fetch = looking.around(kind.fetch)  # type: ignore[method-assign]


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
                own.append((frame, line_of(frame)))
            frame = frame.f_back
        if frame is not None:
            self._looks += 1
            self._seen[tuple((at.f_code.co_filename, line, self._name(at)) for at, line in own[: -DEEPEST - 1 : -1])] += 1

    def _name(self, frame: FrameType) -> str:
        known = self._names.get(frame.f_code)
        if known is None:
            known = self._names[frame.f_code] = qualified_name(frame)
        return known
