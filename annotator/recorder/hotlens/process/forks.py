"""Processes that the script forks end as they would without a recorder.

torch's profiler leaves a thread in the process that waits on a condition variable (Kineto's ConfigLoader). A forked process has the
variable and not the thread: a C++ destructor that runs as the process ends waits for it for ever.
"""

from __future__ import annotations

import ctypes
import os
import sys

_armed = False


def let_children_end() -> None:
    """To be called once a profiler has started. From here on, a child does not run the exit handlers of C that it has from its parent.

    Its own handlers, Python's and the flushing of its files do run, and its exit status is its own. Processes of multiprocessing end alike.
    """
    global _armed
    if _armed or sys.platform != "linux":  # elsewhere the destructor does not wait
        return
    _armed = True
    libc = ctypes.CDLL(None)
    if not all(hasattr(libc, name) for name in ("on_exit", "__cxa_atexit")):
        return  # not the GNU library

    def end_without_the_parents_handlers() -> None:
        # exit(3) calls what was registered last first: fflush(NULL), then _exit(status).
        libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)
        getattr(libc, "__cxa_atexit")(ctypes.cast(libc.fflush, ctypes.c_void_p), None, None)

    os.register_at_fork(after_in_child=end_without_the_parents_handlers)
