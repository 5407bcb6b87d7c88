"""`run --batch-sizes 6,8 -- train.py …`: the programs of other batch sizes in the bundle of a run.

The script runs once as always and leaves its bundle. Then it runs once more for each size that is not its own, in a fresh process and with
the batch size replaced in memory (replacing.py), until a step is recorded; of that the program alone is kept.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, NoReturn

from ..bundle import bundle
from ..bundle.program_file import PROGRAM_FILE
from ..bundle.same import difference, sizes_differ
from ..process import interrupts
from ..process.masking import masked
from ..process.options import Options
from ..process.report import RecorderError, Reporter
from ..source.notebook import source_of
from ..storage import store
from .replacing import Way, ways
from .workers import RECORDER, as_words

SIZED_FILE = "program.{}.json.gz"
NO_PROGRAM = "the bundle has no program to compare with ({}); the other batch sizes were not recorded"
NO_WAY = "it is not known where the batch size is set. Give it as an argument, as one number called batch_size, or to a DataLoader"


def run(options: Options, folder: str, reporter: Reporter) -> NoReturn:
    """Ends with the exit status of the script's first run."""
    mark = options.mark or os.urandom(3).hex()
    words = [*as_words(replace(options, out=folder)), "--mark", mark]
    passed = []
    if options.progress_fd is not None:
        words += ["--progress-fd", str(options.progress_fd)]
        passed = [options.progress_fd]
    verb = "run" if options.announce else "record"
    with _followed() as follow:
        code = follow(subprocess.Popen([sys.executable, RECORDER, verb, *words, "--", *options.argv], pass_fds=passed))
        path = next((p for p in _bundles(folder) if p.endswith(f"-{mark}")), None)
        if path is not None and not follow.interrupted:
            try:
                _add_programs(path, options, reporter, follow)
            except OSError as error:
                reporter.say(str(store.cannot_write(folder, error)))
    if code < 0:
        interrupts.end_by(-code)
    sys.exit(code)


def _bundles(folder: str) -> list[str]:
    found = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [path for path in found if os.path.exists(os.path.join(path, "manifest.json"))]


class _Follow:
    """Waits for a child; signals that end this process go to it."""

    def __init__(self) -> None:
        self.interrupted = False
        self._child: subprocess.Popen[bytes] | None = None

    def __call__(self, child: subprocess.Popen[bytes]) -> int:
        self._child = child
        if self.interrupted:
            child.terminate()
        return child.wait()

    def signalled(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        if number != signal.SIGINT and self._child is not None:  # a terminal's Ctrl-C reaches the child by itself
            self._child.send_signal(number)


@contextlib.contextmanager
def _followed() -> Iterator[_Follow]:
    follow = _Follow()
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = [(number, signal.signal(number, follow.signalled)) for number in numbers]
    try:
        yield follow
    finally:
        for number, handler in before:
            signal.signal(number, handler)


# -- the other sizes


def _add_programs(path: str, options: Options, reporter: Reporter, follow: _Follow) -> None:
    own = _program(path)
    if own is None or own["refused"] is not None:
        reporter.say(NO_PROGRAM.format("the script ended before" if own is None else own["refused"]))
        return
    found = ways(options.argv, script(options.argv), own["batch_size"])
    if not found:
        reporter.say(NO_WAY)
    rows = []
    for size in options.batch_sizes:
        if size != own["batch_size"] and found and not follow.interrupted:
            rows.append(_recorded(path, size, own, found, options, follow))
            _tell(rows[-1], reporter)
    bundle.update_manifest(path, {"programs": rows})


def _tell(row: dict[str, Any], reporter: Reporter) -> None:
    if row["file"] is None:
        reporter.say(f"batch size {row['batch_size']} could not be recorded: {row['failed']}")
    elif row["difference"] is not None:
        reporter.say(f"batch size {row['batch_size']} ({row['replaced']}) runs other operators: {row['difference']}")
    else:
        reporter.say(f"batch size {row['batch_size']} recorded: {row['replaced']}")


def script(argv: Sequence[str]) -> bytes | None:
    """Its text; None of a module's, or where it cannot be read."""
    if argv[0] == "-m":
        return None
    try:
        return source_of(argv[0])
    except (OSError, RecorderError):
        return None


def _program(path: str) -> dict[str, Any] | None:
    try:
        with gzip.open(os.path.join(path, PROGRAM_FILE)) as file:
            found: dict[str, Any] = json.load(file)
            return found
    except OSError:
        return None


def _recorded(path: str, size: int, own: dict[str, Any], found: list[Way], options: Options, follow: _Follow) -> dict[str, Any]:
    """The row of the manifest; the file is in the bundle where there is one."""
    row: dict[str, Any] = {"batch_size": size, "file": None, "by": None, "was": None, "replaced": None, "difference": None, "failed": None}
    for way in found:
        with tempfile.TemporaryDirectory() as folder:
            said = _run_again(folder, size, way, options, follow)
            left = _bundles(store.profiles_folder(folder)) if os.path.isdir(store.profiles_folder(folder)) else []
            program = _program(left[0]) if left else None
            row["failed"] = said if program is None else _why_useless(program, own, size)
            if program is None or row["failed"] is not None:
                continue
            row.update(file=SIZED_FILE.format(size), by=way.by, was=way.was, replaced=way.sentence.format(size))
            row["difference"] = difference(own, program)
            with open(os.path.join(left[0], PROGRAM_FILE), "rb") as file:
                store.replace(os.path.join(path, row["file"]), file.read())
            return row
    return row


def _run_again(folder: str, size: int, way: Way, options: Options, follow: _Follow) -> str:
    """One measured step is enough; what the script prints is not shown again. Returns the last line that it complained with."""
    words = as_words(replace(options, out=folder, steps=1, keep_going=False))
    command = [sys.executable, RECORDER, "record", *words, *way.words(size), "--", *way.argv(size)]
    with tempfile.TemporaryFile() as complained:
        follow(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complained))
        complained.seek(0)
        lines = [line for line in complained.read().decode(errors="replace").splitlines() if line.strip()]
    return masked(options.argv).text(lines[-1].strip()) if lines else "the script ended before a step was recorded"


def _why_useless(program: dict[str, Any], own: dict[str, Any], size: int) -> str | None:
    if program["refused"] is not None:
        return str(program["refused"])
    if program["batch_size"] is not None and program["batch_size"] != size:
        return f"its loader still gives batches of {program['batch_size']}"
    if size != own["batch_size"] and not sizes_differ(own, program):
        return "nothing in the step has another size with it"
    return None
