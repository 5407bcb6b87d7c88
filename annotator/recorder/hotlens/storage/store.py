"""Where bundles lie, and the folder one grows in until it is whole."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from ..process.report import RecorderError
from .owner import Claim, abandoned
from .ranks import clear_abandoned

PARTIAL = ".partial"
EXPORTED = ".exported"  # traces as the profiler wrote them; only in a draft
COPIES = "files"
NAME_VARIABLE = "HOTLENS_BUNDLE"  # set by a launcher that has to find the bundle of its workers
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_STAMP = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"(\d{8}T\d{6}Z)-[0-9a-f]+")
# A name that somebody has put there as a link is not written through.
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)


def profiles_folder(out: str) -> str:
    """`.hotlens/profiles` below `out`; `out` may also name that folder itself."""
    out = os.path.abspath(out)
    head, tail = os.path.split(out)
    if tail == "profiles" and os.path.basename(head) == ".hotlens":
        return out
    if tail == ".hotlens":
        return os.path.join(out, "profiles")
    return os.path.join(out, ".hotlens", "profiles")


def prepare(folder: str) -> None:
    """Makes the profiles folder, ignored by git; clears what a killed run has left. Raises RecorderError where it cannot be written."""
    try:
        os.makedirs(folder, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            write_new(os.path.join(os.path.dirname(folder), ".gitignore"), b"*\n!runs.json\n", 0o666)
        now = _time_of(folder)
    except OSError as error:
        raise RecorderError(
            f"profiles cannot be written to {folder}: {error.strerror}. Make it writable, or profile in a terminal: hotlens run --out DIR"
        ) from error
    clear_abandoned(folder, now)
    for name in os.listdir(folder):
        if name.endswith(PARTIAL) and abandoned(os.path.join(folder, name), now):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def _time_of(folder: str) -> float:
    """The clock by which its files are dated, which may be another machine's. Raises OSError where nothing can be written there."""
    probe = os.path.join(folder, f".probe-{os.urandom(6).hex()}")
    write_new(probe, b"", PRIVATE_FILE)
    try:
        return os.stat(probe).st_mtime
    finally:
        os.remove(probe)


def write_new(path: str, data: bytes, mode: int) -> None:
    """A file that was not there. `mode` as of open(2), so less what the user's mask takes away. Raises OSError."""
    with open(path, "wb", opener=lambda name, _: os.open(name, _NEW_FILE, mode)) as file:
        file.write(data)


def write_copy(path: str, data: bytes, original: str) -> None:
    """As readable for others as the original, and never more. Raises OSError."""
    mode = PRIVATE_FILE
    with contextlib.suppress(OSError):
        mode = os.stat(original).st_mode & 0o777 | 0o400
    write_new(path, data, PRIVATE_FILE)
    with contextlib.suppress(OSError):  # a file system without modes
        os.chmod(path, mode)


@contextlib.contextmanager
def plain_path(path: str) -> Iterator[str]:
    """For a writer that takes a name of printable text only: torch refuses other bytes, and drops a line's end from it."""
    if path.isprintable():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "file")
        yield plain
        if os.path.exists(plain):
            shutil.move(plain, path)


def new_name(folder: str, mark: str | None = None) -> str:
    """The time and `mark`, or what tells it from others. Sorts after every bundle of the folder, also where the clock was set back."""
    stamp = f"{datetime.now(timezone.utc):{_STAMP}}"
    with contextlib.suppress(OSError, ValueError, OverflowError):
        newest = max((found[1] for found in map(_NAME.fullmatch, os.listdir(folder)) if found), default="")
        if stamp <= newest:
            stamp = f"{datetime.strptime(newest, _STAMP) + timedelta(seconds=1):{_STAMP}}"
    return f"{stamp}-{mark or os.urandom(3).hex()}"


class Draft:
    """The folder a bundle grows in, `<name>.partial`. Made when first needed; `commit` gives it its name, `discard` removes it."""

    def __init__(self, folder: str, name: str | None = None) -> None:
        self.folder = folder
        self.moment = datetime.now(timezone.utc)
        self.name = name or new_name(folder)
        self.partial = os.path.join(folder, self.name + PARTIAL)
        self._claim: Claim | None = None

    def path(self, name: str) -> str:
        if self._claim is None:
            os.makedirs(self.folder, exist_ok=True)
            os.mkdir(self.partial, PRIVATE_FOLDER)
            self._claim = Claim(self.partial)
            os.mkdir(os.path.join(self.partial, COPIES), PRIVATE_FOLDER)
        return os.path.join(self.partial, name)

    def discard(self) -> None:
        if self._claim is not None:
            self._claim.release()
            shutil.rmtree(self.partial, ignore_errors=True)
        self._claim = None

    def commit(self) -> str:
        """Whole on the disk before it has its name: a machine that stops leaves a bundle or none. Raises OSError."""
        final = os.path.join(self.folder, self.name)
        self.path("")
        assert self._claim is not None
        for name in os.listdir(self.partial):
            if os.path.isfile(os.path.join(self.partial, name)):
                with contextlib.suppress(OSError):  # a file system without modes
                    os.chmod(os.path.join(self.partial, name), PRIVATE_FILE)
        for folder, _, names in os.walk(self.partial):
            for name in names:
                _sync(os.path.join(folder, name))
            sync_folder(folder)
        self._claim.release()
        os.rename(self.partial, final)
        sync_folder(self.folder)
        return final


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: str) -> None:
    """The names in it; not every file system has a way to, and none loses a file for that."""
    with contextlib.suppress(OSError):
        _sync(path)


def replace(path: str, data: bytes) -> None:
    """A private file: readers see the old or the new one, also after the machine has stopped. Raises OSError."""
    new = path + ".new"
    with contextlib.suppress(FileNotFoundError):
        os.remove(new)
    write_new(new, data, PRIVATE_FILE)
    _sync(new)
    os.replace(new, path)
    sync_folder(os.path.dirname(path))


def cannot_write(folder: str, error: OSError) -> RecorderError:
    elsewhere = "Profile into another folder, in a terminal: hotlens run --out DIR"
    step = "Free some space and profile again" if error.errno == errno.ENOSPC else elsewhere
    return RecorderError(f"the bundle could not be written to {folder}: {error.strerror or error}. {step}")
