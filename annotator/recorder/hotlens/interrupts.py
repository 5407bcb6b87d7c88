"""Signals that end a run early: what was measured until then is kept.

Ctrl-C is a KeyboardInterrupt in the script, as without a recorder. SIGTERM and SIGHUP end a Python at once: no line of the script runs
after them here either, but the recording is settled first, and the process then ends by that signal. Whatever handles a signal for the
script is left in place, and a second signal ends the process at once.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Callable, NoReturn

ENDS_AT_ONCE = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
ENDS = (signal.SIGINT, *ENDS_AT_ONCE)
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


def settle_first(settle: Callable[[int], None]) -> None:
    """Calls `settle` with the number of a signal that nobody handles and that would end the process, before it does. Main thread only."""
    owner = os.getpid()

    def handler(number: int, frame: FrameType | None) -> None:
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


@contextmanager
def held_back() -> Iterator[None]:
    """What must not be torn apart: a signal that comes meanwhile is handled at the end, a second one ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
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
