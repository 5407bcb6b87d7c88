"""Timing steps: a clock at step boundaries, and a window of steps under torch.profiler.

On a device the host runs ahead of the work, so boundaries are device events there and one synchronisation before and after a window makes
them whole; nothing is synchronised between two steps.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..compiled.generated import NamedKernels
from ..process.forks import let_children_end
from ..process.report import RecorderError
from ..storage.store import plain_path

STEP_NAME = "ProfilerStep#{}"
# What a range is renamed to when its step turns out not to be one (the loader was at its end).
NO_STEP_NAME = "between steps #{}"
# Kineto logs to stderr through its own channel; a level above its highest keeps the script's stderr as it is.
QUIET_KINETO = "6"
OURS = "_is_hotlens"  # on a profiler that is not the script's
OWN_PROFILER = (
    "the script runs torch.profiler itself and only one profiler can be on; the script goes on without Hotlens. "
    "Switch its own profiler off, or let that write the profile: on_trace_ready=hotlens.analyze(model)"
)
LOW_SPACE_BYTES = 1 << 20  # less than any trace: the disk is full


def device_module() -> Any:
    """torch.cuda when the script has used it, else None. Never initialises a device."""
    import torch

    cuda: Any = torch.cuda
    return cuda if cuda.is_available() and cuda.is_initialized() else None


def cudnn_benchmark() -> bool | None:
    """Whether cuDNN tries its convolutions and keeps the fastest. None: there is no CUDA, or each run shall be the same."""
    import torch

    cudnn: Any = torch.backends.cudnn
    same = torch.are_deterministic_algorithms_enabled() or cudnn.deterministic
    if device_module() is None or torch.version.cuda is None or not cudnn.enabled or same:
        return None
    return bool(cudnn.benchmark)


class StepClock:
    """Begin and end of each step of one window."""

    def __init__(self) -> None:
        self.device = device_module()
        self._steps: list[tuple[Any, Any]] = []
        self._begin: Any = None
        if self.device is not None:
            self.device.synchronize()

    def mark(self) -> Any:
        if self.device is None:
            return time.perf_counter_ns()
        event = self.device.Event(enable_timing=True)
        event.record()
        return event

    def begin(self, mark: Any) -> None:
        self._begin = mark

    def end(self, mark: Any) -> None:
        if self._begin is not None:
            self._steps.append((self._begin, mark))
        self._begin = None

    def drop(self) -> None:
        self._begin = None

    def durations_ns(self) -> list[int]:
        if self.device is None:
            return [end - begin for begin, end in self._steps]
        self.device.synchronize()
        return [round(begin.elapsed_time(end) * 1e6) for begin, end in self._steps]


@contextmanager
def _quiet_kineto() -> Iterator[None]:
    """The level is read when the profiler first starts; a level the user has set stays."""
    name = "KINETO_LOG_LEVEL"
    if name in os.environ:
        yield
        return
    os.environ[name] = QUIET_KINETO
    try:
        yield
    finally:
        os.environ.pop(name, None)


@contextmanager
def _without_allocator_warning() -> Iterator[None]:
    """With memory recorded, torch warns once, in C++, at the first block freed that it did not see allocated. It is made to do so here.

    Anything else that reaches stderr meanwhile is passed on.
    """
    try:
        saved = os.dup(2)
        reading, writing = os.pipe()
    except OSError:
        yield  # no stderr, or no descriptors left: the warning does no harm
        return
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        with os.fdopen(reading, "rb") as pipe:
            for line in pipe:
                if b"CPUAllocator.cpp" not in line:
                    os.write(2, line)


@dataclass
class ExportedTrace:
    """A trace as the profiler wrote it."""

    path: str
    not_steps: list[int] = field(default_factory=list)  # numbers of ranges that were opened for a step that was none

    def write(self, target: str) -> None:
        """Gzipped, with the ranges renamed that were no steps."""
        if self.path.endswith(".gz"):  # of a bundle that is written again
            shutil.copyfile(self.path, target)
            return
        if self.not_steps:
            self._rename()
        with open(self.path, "rb") as source, gzip.open(target, "wb", compresslevel=5) as file:
            shutil.copyfileobj(source, file, 1 << 20)

    def _rename(self) -> None:
        with open(self.path, "rb") as file:
            text = file.read()
        for number in self.not_steps:
            old, new = STEP_NAME.format(number), NO_STEP_NAME.format(number)
            text = text.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
        with open(self.path, "wb") as file:
            file.write(text)


def export(profiler: Any, path: str, not_steps: list[int]) -> ExportedTrace:
    """Raises OSError when the disk does not take it."""
    with plain_path(path) as plain:
        profiler.export_chrome_trace(plain)
    _check_whole(path)
    return ExportedTrace(path, not_steps)


class ProfiledSteps:
    """Steps under torch.profiler, each in a range ProfilerStep#N; time between two steps is in none."""

    def __init__(self, details: bool, memory: bool = False) -> None:
        """`details`: shapes and memory; `memory`: that alone."""
        import torch
        from torch.profiler import ProfilerActivity, profile

        activities = [ProfilerActivity.CPU]
        if device_module() is not None:
            activities.append(ProfilerActivity.CUDA)
        memory = memory or details
        self._before = torch.empty(1) if memory else None  # a block from before the profiler, to be freed under it
        self.exported: ExportedTrace | None = None
        self._profiler: Any = profile(activities=activities, record_shapes=details, profile_memory=memory)
        setattr(self._profiler, OURS, True)
        self._kernels = NamedKernels()
        self._range: Any = None
        self._number = -1
        self._not_steps: list[int] = []
        self.complete = 0
        self.running = False

    def start(self) -> None:
        """Raises RecorderError while a profiler of the script's is on: there can be one at a time."""
        if _profiler_is_on():
            raise RecorderError(OWN_PROFILER)
        with _quiet_kineto():
            self._profiler.start()
        let_children_end()
        self.running = True
        self._kernels.put()
        if self._before is not None:
            with _without_allocator_warning():
                self._before = None

    def begin(self) -> None:
        from torch.autograd.profiler import record_function

        self._number += 1
        self._range = record_function(STEP_NAME.format(self._number))
        self._range.__enter__()

    def end(self) -> None:
        if self._close():
            self.complete += 1

    def drop(self) -> None:
        """The range that is open is not a step."""
        if self._close():
            self._not_steps.append(self._number)

    def _close(self) -> bool:
        if self._range is None:
            return False
        self._range.__exit__(None, None, None)
        self._range = None
        return True

    def stop(self) -> None:
        if self.running:
            self.running = False
            self._kernels.take_back()
            self._profiler.stop()

    def export(self, path: str) -> None:
        """Takes the trace out of the stopped profiler. Must come before another profiler starts: that one reuses its memory."""
        self.exported = export(self._profiler, path, self._not_steps)
        self._profiler = None


def _check_whole(path: str) -> None:
    """Kineto says nothing when the disk takes its file not at all or in part. Raises OSError then."""
    end = b""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 64))
        end = file.read().rstrip()
    if end.endswith(b"}"):
        return
    room = os.statvfs(os.path.dirname(path))
    number = errno.ENOSPC if room.f_bavail * room.f_frsize < LOW_SPACE_BYTES else errno.EIO
    raise OSError(number, os.strerror(number), path)


def _profiler_is_on() -> bool:
    import torch

    enabled = getattr(torch.autograd, "_profiler_enabled", None)
    return bool(enabled()) if enabled is not None else False


def accelerator_names() -> list[tuple[str, str]]:
    """(kind, name) of the devices in use beside the CPU."""
    device = device_module()
    if device is None:
        return []
    import torch

    kind = "hip" if getattr(torch.version, "hip", None) else "cuda"
    return [(kind, device.get_device_name(i)) for i in range(device.device_count())]


def cpu_name() -> str:
    import platform

    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def median(values: list[int]) -> int | None:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None
