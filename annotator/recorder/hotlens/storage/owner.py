"""Whose a folder is that grows, and whether its maker still lives: here, in another container of this machine, on another node.

A process number says something only among processes that see one another: those of one boot of one machine and of one PID namespace, a
*place*. The maker also holds a lock, which every process of the machine can test, and other nodes where the file system carries locks. What
neither tells is left alone for a day.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CLAIM = "writer"
ABANDONED_SECONDS = 24 * 3600.0  # without a write; the longest pause between two phases of a run is far below it


@functools.cache
def place() -> str:
    """Processes with the same one see each other's numbers."""
    boot, namespace = "", ""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(f"{platform.node()} {boot} {namespace}".encode()).hexdigest()[:12]


def started(pid: int) -> str | None:
    """When a process of this place started, in a unit of the system's; None where that is not told."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[19].decode()
    return None


def lives(pid: int, since: str | None = None) -> bool:
    """A process of this place; `since` tells it from a later one of its number."""
    if os.name == "nt":
        return True  # no way to ask without a signal; what it has left stays
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    return since is None or started(pid) in (None, since)


class Claim:
    """This process makes the folder. It ends with `release`, or with the process, however that ends."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, CLAIM)
        self._fd = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        pid = os.getpid()
        os.write(self._fd, json.dumps({"place": place(), "pid": pid, "started": started(pid)}).encode())
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks: the place and the age have to do
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        with contextlib.suppress(OSError):
            if is_open_as(self._fd, self._path):
                os.close(self._fd)
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._path)


def is_open_as(fd: int, path: str) -> bool:
    """A script may have closed a descriptor that is not its own, and the number is another file's since. Raises OSError."""
    return os.path.samestat(os.fstat(fd), os.stat(path))


def abandoned(folder: str, now: float) -> bool:
    """Nobody works on it any more, as far as can be told. `now` is the time of the folder's file system."""
    path = os.path.join(folder, CLAIM)
    if _locked(path):
        return False
    claim = _read(path)
    if claim.get("place") == place() and isinstance(claim.get("pid"), int):
        return not lives(claim["pid"], claim.get("started"))
    return untouched(folder, now)


def untouched(folder: str, now: float) -> bool:
    """No write for so long that its maker cannot be at work."""
    times = []
    for path in (folder, *_entries(folder)):
        with contextlib.suppress(OSError):
            times.append(os.lstat(path).st_mtime)
    return bool(times) and now - max(times) > ABANDONED_SECONDS


def _entries(folder: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(folder)]
    except OSError:
        return []


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            claim = json.load(file)
    except (OSError, ValueError):
        return {}
    return claim if isinstance(claim, dict) else {}


def _locked(path: str) -> bool:
    if fcntl is None:
        return False
    with contextlib.suppress(OSError), open(path, "rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
