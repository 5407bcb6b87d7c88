"""How a script came to its end, in words; and an end in the midst of it."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import ctypes
import gc
import io
import os
import sys
from types import TracebackType
from typing import NoReturn

LONGEST = 300  # characters of what a script says as it ends


def status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def sentence(name: str, error: SystemExit) -> str | None:
    """Of a script that ended by itself and not well, before there was a step to keep."""
    code = status(error)
    if code == 0:
        return None
    reason = _one_line(_reason(error))
    return f"{name} ended with code {code} before a training step" + (f": `{reason}`" if reason else "")


def _reason(error: SystemExit) -> str:
    """What it said itself: sys.exit("a word"), the message of an argument parser, the exception that it was handling."""
    if isinstance(error.code, str):
        return error.code
    refused = _refused_arguments(error.__traceback__)
    if refused is not None:
        return refused
    handled = error.__cause__ or error.__context__
    if handled is None or isinstance(handled, SystemExit):
        return ""
    told = getattr(handled, "format_message", None)  # click's exceptions
    return str(told()) if callable(told) else f"{type(handled).__name__}: {handled}"


def _refused_arguments(tb: TracebackType | None) -> str | None:
    while tb is not None:
        if tb.tb_frame.f_code is argparse.ArgumentParser.error.__code__:
            return str(tb.tb_frame.f_locals.get("message", ""))
        tb = tb.tb_next
    return None


def _one_line(text: str) -> str:
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def end_now(code: int) -> NoReturn:
    """Ends the process from within a script that does not let an exception through. Nothing is lost that it would have kept at its end."""
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    flush_everything()
    os._exit(code)


def flush_everything() -> None:
    """Files that the script has open, its standard streams, and those of C."""
    files = [o for o in gc.get_objects() if isinstance(o, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom))]
    # Text first: it goes into the buffers of bytes.
    for file in sorted(files, key=lambda f: not isinstance(f, io.TextIOWrapper)):
        with contextlib.suppress(OSError, ValueError):
            file.flush()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
