"""Minor page faults: memory that is touched for the first time since the system gave it.

How many a step has is told by `getrusage(2)`; what one takes depends on the machine, so it is measured there, by touching memory twice.
glibc's malloc gives freed memory back to the system and takes it anew, as its thresholds say (`mallopt(3)`); other allocators have other
settings, so it is told whose malloc the process has.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import platform
import time
from collections.abc import Mapping

_TOUCHED = 16 << 20  # bytes: no cache keeps the pages, as in a step; a tenth of a second in all
_ROUNDS = 3


def minor_faults() -> int | None:
    """Of this process so far."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def cost_ns() -> int | None:
    """What one takes with giving its page back, of the processor: the least of some rounds. None where it cannot be measured."""
    rounds = [_one_round() for _ in range(_ROUNDS)]
    return min((ns for ns in rounds if ns is not None), default=None)


def _one_round() -> int | None:
    before = minor_faults()
    if before is None:
        return None
    memory = mmap.mmap(-1, _TOUCHED)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    view = ctypes.c_char.from_buffer(memory)
    times = [time.thread_time_ns()]
    for _ in range(2):  # the second finds its pages
        ctypes.memset(ctypes.addressof(view), 1, _TOUCHED)
        times.append(time.thread_time_ns())
    faults = minor_faults()
    del view
    given_back = time.thread_time_ns()
    memory.close()
    given_back = time.thread_time_ns() - given_back
    if faults is None or faults - before < _TOUCHED // mmap.PAGESIZE // 2:
        return None
    return max(times[1] - times[0] - (times[2] - times[1]) + given_back, 0) // (faults - before)


class _Symbol(ctypes.Structure):
    _fields_ = (("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p))


def allocator() -> str | None:
    """ "glibc", or the file name of the library that gives tensors their memory. None where the system does not tell."""
    try:
        process = ctypes.CDLL(None)
        symbol = _Symbol()
        # What torch calls. Not `malloc`: the address that Debian's own interpreter has for that lies in the interpreter.
        gives = ctypes.cast(process.posix_memalign, ctypes.c_void_p)
        if not process.dladdr(gives, ctypes.byref(symbol)) or not symbol.file:
            return None
    except (OSError, AttributeError, TypeError):  # Windows; a C library without dladdr
        return None
    name = os.path.basename(os.fsdecode(symbol.file))
    return "glibc" if name.startswith("libc.so") and platform.libc_ver()[0] == "glibc" else name


def keeps_freed(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether somebody has set glibc's thresholds already."""
    tunables = environment.get("GLIBC_TUNABLES", "")
    mapped = {"MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_"} & environment.keys() or "malloc.mmap_" in tunables
    return bool(mapped) and ("MALLOC_TRIM_THRESHOLD_" in environment or "malloc.trim_threshold" in tunables)


def as_json() -> dict[str, object]:
    """`page_faults` of FORMAT.md."""
    return {"each_ns": cost_ns(), "allocator": allocator(), "keeps_freed": keeps_freed()}
