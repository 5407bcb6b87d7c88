"""A tick of the clock, again and again, on the main thread: which line it is at then.

A thread that looks at another one waits for the interpreter, and so sees best what lets go of it; a signal is dealt with where the main
thread is, and a call into C right after it. The timer is of this process alone (timer_create(2)) and its signal one that nobody uses, so
that a script's own alarms stay its own; system calls that it interrupts go on (SA_RESTART).
"""

from __future__ import annotations

import ctypes
import random
import signal
import sys
from types import FrameType
from typing import Callable

CLOCK_MONOTONIC, SIGEV_SIGNAL = 1, 0
NANOSECONDS = 1_000_000_000


class _Event(ctypes.Structure):  # struct sigevent
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_char * 48)]


class _Moment(ctypes.Structure):  # struct timespec
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class _Times(ctypes.Structure):  # struct itimerspec
    _fields_ = [("every", _Moment), ("first", _Moment)]


class Ticks:
    """Made and used on the main thread. Raises OSError where the system has no such timer, or the signal has a handler already."""

    def __init__(self, every: float, tick: Callable[[FrameType], None]) -> None:
        if sys.platform != "linux":
            raise OSError("no timer_create")
        self._every = every
        self._tick = tick
        self._phase = random.Random(0)  # not the script's
        number = signal.SIGRTMAX - 3
        if signal.getsignal(number) is not signal.SIG_DFL:
            raise OSError("the signal is in use")
        self._library = ctypes.CDLL(None, use_errno=True)
        self._timer = ctypes.c_void_p()
        event = _Event(signo=number, notify=SIGEV_SIGNAL)
        if self._library.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)) != 0:
            raise OSError(ctypes.get_errno(), "timer_create")
        signal.signal(number, self._handle)
        signal.siginterrupt(number, False)

    def start(self) -> None:
        """The first one comes at any moment of the time between two."""
        self._set(self._every * (1 - self._phase.random()), self._every)

    def stop(self) -> None:
        self._set(0.0, 0.0)

    def _set(self, first: float, every: float) -> None:
        times = _Times(_moment(every), _moment(first))
        self._library.timer_settime(self._timer, 0, ctypes.byref(times), None)

    def _handle(self, _number: int, frame: FrameType | None) -> None:
        if frame is not None:
            self._tick(frame)


def _moment(seconds: float) -> _Moment:
    whole = round(seconds * NANOSECONDS)
    return _Moment(whole // NANOSECONDS, whole % NANOSECONDS)
