"""Several processes of one training (torchrun and its like): one trace per rank, one bundle.

The first process of a machine leads: it alone runs the map step and writes the bundle. The others record alike and put their part into a
folder between the two, named after the launcher that started them all. Nobody sends a message through the script's own process group. A
follower stops at the boundary the leader has announced one step before: to come there it has needed the leader's gradients of that step,
so it cannot come too early to read of it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass, field
from typing import Any

from .owner import lives, place, untouched

PREFIX = ".ranks-"
PRIVATE_FOLDER = 0o700
STOP = "stop"
LEFT = ".left"
WAIT_SECONDS = 30.0  # for the parts of the others, once the leader has its own
SHORT_WAIT_SECONDS = 5.0  # the same where all are told to end, and for the others to have stopped


@dataclass
class Part:
    """What one rank has measured, or why it has nothing. `trace` is a file that may be moved away."""

    rank: int
    trace: str | None = None
    plain_ns: list[int] = field(default_factory=list)
    profiled_ns: list[int] = field(default_factory=list)
    failure: str | None = None


@dataclass(frozen=True)
class Member:
    """This process's place among those of its machine."""

    rank: int
    local_rank: int
    local_size: int
    folder: str  # shared with the others

    @property
    def leads(self) -> bool:
        return self.local_rank == 0

    # -- a follower

    def deliver(self, part: Part) -> None:
        """Raises OSError when the disk does not take it. The file appears whole."""
        os.makedirs(self.folder, PRIVATE_FOLDER, exist_ok=True)
        path = os.path.join(self.folder, f"{self.local_rank}.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(vars(part), file)
        os.replace(path + ".new", path)

    def trace_path(self) -> str:
        os.makedirs(self.folder, PRIVATE_FOLDER, exist_ok=True)
        return os.path.join(self.folder, f"{self.local_rank}.trace")

    def stops_at(self) -> int | None:
        """The number of the boundary at which the leader stops, once it is announced."""
        try:
            with open(os.path.join(self.folder, STOP), encoding="utf-8") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def leave(self) -> None:
        """It will not look for the leader's announcement again."""
        if os.path.isdir(self.folder):
            with open(os.path.join(self.folder, f"{self.local_rank}{LEFT}"), "w", encoding="utf-8"):
                pass

    # -- the leader

    def announce_stop(self, boundary: int) -> None:
        os.makedirs(self.folder, PRIVATE_FOLDER, exist_ok=True)
        path = os.path.join(self.folder, STOP)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(str(boundary))
        os.replace(path + ".new", path)

    def collect(self, seconds: float = WAIT_SECONDS) -> list[Part]:
        """The others' parts in order; one that does not come in time says so."""
        until = time.monotonic() + seconds
        parts = []
        for local in range(1, self.local_size):
            path = os.path.join(self.folder, f"{local}.json")
            _wait_for(path, until)
            parts.append(_read(path) or Part(self.rank + local, failure="it did not deliver its steps in time"))
        return parts

    def clear(self) -> None:
        """The others have their announcement from here: it stays until they have read it."""
        until = time.monotonic() + SHORT_WAIT_SECONDS
        if self.stops_at() is not None:
            for local in range(1, self.local_size):
                _wait_for(os.path.join(self.folder, f"{local}{LEFT}"), until)
        shutil.rmtree(self.folder, ignore_errors=True)


def _wait_for(path: str, until: float) -> None:
    while not os.path.exists(path) and time.monotonic() < until:
        time.sleep(0.02)


def _read(path: str) -> Part | None:
    try:
        with open(path, encoding="utf-8") as file:
            return Part(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def member(profiles: str, environment: Any = os.environ) -> Member | None:
    """From the variables that launchers set; None for a process that trains alone, or alone on its machine as far as can be known."""
    try:
        rank, local = int(environment["RANK"]), int(environment["LOCAL_RANK"])
        local_size = int(environment.get("LOCAL_WORLD_SIZE") or environment["LOCAL_SIZE"])
    except (KeyError, ValueError):
        return None
    if local_size < 2 or not 0 <= local < local_size:
        return None
    restart = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
    return Member(rank, local, local_size, os.path.join(profiles, f"{PREFIX}{place()}-{os.getppid()}-{restart}"))


def clear_of(profiles: str, launcher: int) -> None:
    """Removes what the workers of a launcher that has ended have left."""
    for name in os.listdir(profiles):
        if name.startswith(f"{PREFIX}{place()}-{launcher}-"):
            shutil.rmtree(os.path.join(profiles, name), ignore_errors=True)


def clear_abandoned(profiles: str, now: float) -> None:
    """Removes what groups have left whose launcher is gone. `now` is the time of the folder's file system."""
    for name in os.listdir(profiles):
        if name.startswith(PREFIX) and _launcher_is_gone(os.path.join(profiles, name), name[len(PREFIX) :], now):
            shutil.rmtree(os.path.join(profiles, name), ignore_errors=True)


def _launcher_is_gone(folder: str, group: str, now: float) -> bool:
    where, _, rest = group.partition("-")
    launcher = rest.partition("-")[0]
    if where == place() and launcher.isdigit():
        return not lives(int(launcher))
    return untouched(folder, now)
