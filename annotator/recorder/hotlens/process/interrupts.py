"""Signals that end a run early: what was measured until then is kept.

Ctrl-C is a KeyboardInterrupt in the script, as without a recorder. SIGTERM and SIGHUP end a Python at once: no line of the script runs
after them here either, but the recording is settled first, and the process then ends by that signal. Whatever handles a signal for the
script is left in place, and a second signal ends the process at once.

Python handles a signal between two of its own instructions. A process that waits for another one inside a collective operation comes to
none, so a worker of a launcher has a thread that hears the signal as well, and ends the process where that takes too long.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Callable, NoReturn

ENDS_AT_ONCE = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
ENDS = (signal.SIGINT, *ENDS_AT_ONCE)
WORKERS_PATIENCE = 10.0  # seconds for a worker to come out of what it waits in; its launcher has 30
SHELL_BASE = 128  # a shell reports a command that signal N ended as 128 + N


def name_of(number: int) -> str:
    """The word for a person: Ctrl-C, SIGTERM."""
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def end_by(number: int) -> NoReturn:
    """The parent sees a process that the signal has ended."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(SHELL_BASE + number)  # where the signal is blocked


def second_ends_at_once() -> None:
    """The script is over: Ctrl-C while the recording is written means now."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)


_heard = threading.Event()  # the main thread has come to handle a signal that ends the process


def settle_first(settle: Callable[[int], None], patience: float | None = None) -> None:
    """Calls `settle` with the number of a signal that nobody handles and that would end the process, before it does. Main thread only.

    `patience`: seconds after which the process ends without, where the main thread does not come to it.
    """
    owner = os.getpid()

    def handler(number: int, frame: FrameType | None) -> None:
        _heard.set()
        if os.getpid() == owner:
            signal.signal(number, signal.SIG_DFL)
            settle(number)
        end_by(number)

    def forget() -> None:
        for number in ENDS_AT_ONCE:
            if signal.getsignal(number) is handler:
                signal.signal(number, signal.SIG_DFL)

    for number in ENDS_AT_ONCE:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, handler)
    os.register_at_fork(after_in_child=forget)  # a worker that is told to end does so even inside a call that never returns
    if patience is not None:
        _end_when_stuck(handler, patience)


def _end_when_stuck(handler: Any, patience: float) -> None:
    """A thread that is none of the script's hears of a signal at once, whatever the main thread does."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        while came := os.read(reading, 1):
            if came[0] in ENDS_AT_ONCE and signal.getsignal(came[0]) is handler and not _heard.wait(patience):
                os._exit(SHELL_BASE + came[0])

    def forget() -> None:
        with contextlib.suppress(ValueError):
            signal.set_wakeup_fd(-1)

    _thread.start_new_thread(watch, ())
    os.register_at_fork(after_in_child=forget)


@contextmanager
def held_back() -> Iterator[None]:
    """What must not be torn apart: a signal that comes meanwhile is handled at the end, a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        _heard.set()
        if came:
            end_by(number)
        came.append((number, frame))

    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in ENDS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in came:
            handlers[number](number, frame)
