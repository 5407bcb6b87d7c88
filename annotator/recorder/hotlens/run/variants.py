"""`run --batch-sizes 6,8 --vary BLOCK -- train.py …`: the programs of other batch sizes, and of other values of numbers, in a run's bundle.

The script runs once as always and leaves its bundle. Then it runs once more for each value that is not its own, in a fresh process and with
the number replaced in memory (replacing.py), until a step is recorded; of that the program alone is kept.
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
from dataclasses import dataclass, replace
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
from .replacing import Way, values_around, ways, ways_by_name
from .workers import RECORDER, as_words

SIZED_FILE = "program.{}.json.gz"
VARIED_FILE = "program.{}-{}.json.gz"
NO_PROGRAM = "the bundle has no program to compare with ({}); nothing else was recorded"
NO_NUMBER = "no argument and no number of the project's files is called {}: other values of it were not recorded"
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
    again = _Again(path, own, options, follow)
    if options.batch_sizes:
        bundle.update_manifest(path, {"programs": _sized(again, reporter)})
    if options.vary:
        bundle.update_manifest(path, {"varied": [row for name, values in options.vary for row in _varied(again, name, values, reporter)]})


def _sized(again: _Again, reporter: Reporter) -> list[dict[str, Any]]:
    own = again.own["batch_size"]
    found = ways(again.options.argv, script(again.options.argv), own)
    if not found:
        reporter.say(NO_WAY)
    rows = []
    for size in again.options.batch_sizes:
        if size != own and found and not again.follow.interrupted:
            row = again.recorded(size, found, SIZED_FILE.format(size), batch_size=size)
            _tell(f"batch size {size}", row, reporter)
            rows.append({"batch_size": size, **row})
    return rows


def _varied(again: _Again, name: str, values: Sequence[int], reporter: Reporter) -> list[dict[str, Any]]:
    """Raises nothing: why there is no row is said."""
    try:
        found = ways_by_name(name, again.options.argv, _texts(again.path))
    except RecorderError as error:
        reporter.say(f"{error}: other values of it were not recorded")
        return []
    if not found or found[0].was < 1:
        reporter.say(NO_NUMBER.format(name))
        return []
    rows = []
    for value in values or values_around(found[0].was):
        if value != found[0].was and not again.follow.interrupted:
            row = again.recorded(value, found, VARIED_FILE.format(name, value))
            _tell(f"{name} = {value}", row, reporter)
            rows.append({"name": name, "value": value, "at": found[0].at, **row})
    return rows


def _texts(path: str) -> dict[str, bytes]:
    """The project's files that the step ran, or that decide how its model is made."""
    with open(os.path.join(path, "model.json"), encoding="utf-8") as file:
        files = json.load(file)["files"]
    texts = {}
    for row in files:
        if row["workspace"]:
            with contextlib.suppress(OSError, RecorderError):
                texts[row["path"]] = source_of(row["path"])
    return texts


def _tell(what: str, row: dict[str, Any], reporter: Reporter) -> None:
    if row["file"] is None:
        reporter.say(f"{what} could not be recorded: {row['failed']}")
    elif row["difference"] is not None:
        reporter.say(f"{what} ({row['replaced']}) runs other operators: {row['difference']}")
    else:
        reporter.say(f"{what} recorded: {row['replaced']}")


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


@dataclass(frozen=True)
class _Again:
    """Runs of the script that follow the one that left the bundle at `path`, whose program is `own`."""

    path: str
    own: dict[str, Any]
    options: Options
    follow: _Follow

    def recorded(self, value: int, found: Sequence[Way], name: str, batch_size: int | None = None) -> dict[str, Any]:
        """A row of the manifest; its file, `name`, is in the bundle where there is one. `batch_size`: the one that it has to have."""
        row: dict[str, Any] = {"file": None, "by": None, "was": None, "replaced": None, "difference": None, "failed": None}
        for way in found:
            with tempfile.TemporaryDirectory() as folder:
                said = _run_again(folder, value, way, self.options, self.follow)
                left = _bundles(store.profiles_folder(folder)) if os.path.isdir(store.profiles_folder(folder)) else []
                program = _program(left[0]) if left else None
                row["failed"] = said if program is None else _why_useless(program, self.own, batch_size)
                if program is None or row["failed"] is not None:
                    continue
                row.update(file=name, by=way.by, was=way.was, replaced=way.sentence.format(value))
                row["difference"] = difference(self.own, program)
                with open(os.path.join(left[0], PROGRAM_FILE), "rb") as file:
                    store.replace(os.path.join(self.path, name), file.read())
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


def _why_useless(program: dict[str, Any], own: dict[str, Any], size: int | None) -> str | None:
    """`size`: the batch size that it has to have."""
    if program["refused"] is not None:
        return str(program["refused"])
    if None not in (program["batch_size"], size) and program["batch_size"] != size:
        return f"its loader still gives batches of {program['batch_size']}"
    if not sizes_differ(own, program):
        return "nothing in the step has another size with it"
    return None
