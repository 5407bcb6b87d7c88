"""Scripts that live in a time of their own, which only `work(ms)` lets pass: every number of the clocks is known exactly.

Nothing here needs torch: `opt.step()` makes an update as the recorder's hooks would.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hotlens.loop import clock, clocks
from hotlens.loop.clocking import Clocking
from hotlens.source.frames import Files

MS = 1_000_000


class World:
    """A script's time, and what it is given by name."""

    def __init__(self) -> None:
        self.now = 1
        self.clocks: Any = None
        self.profiled = False
        self.after_profiler_ns: int | None = None  # as the step begins that runs next

    def work(self, ms: int) -> int:
        self.now += ms * MS
        return ms

    def step(self, closure: Any = None) -> None:
        if closure is not None:
            closure()
        self.work(2)
        self.clocks.first_update()
        self.clocks.pause()
        self.clocks.settle()
        self.now += 100 * MS  # the recorder's own work
        if not self.profiled:
            self.clocks.watch(self.after_profiler_ns)

    def look(self, ms: int) -> None:
        """Work of the recorder's in the middle of a statement."""
        with self.clocks.aside():
            self.work(ms)

    def profile(self, on: bool) -> None:
        """Whether a profiler runs in the step that begins next."""
        self.profiled = on


class Result:
    def __init__(self, text: str, whole: dict[str, Any], names: dict[str, Any]) -> None:
        self.whole, self.names = whole, names
        lines = text.splitlines()
        self.rows = [{**row, "text": lines[row["line"]].strip()} for row in whole["statements"] if row["file"] == 0]

    def __getitem__(self, text: str) -> tuple[int, int]:
        """Calls and milliseconds of the statement that begins with a line."""
        row = self.row(text)
        assert row["timed_ns"] % MS == 0
        return row["calls"], row["timed_ns"] // MS

    def row(self, text: str) -> dict[str, Any]:
        found = [r for r in self.rows if r["text"] == text]
        assert len(found) == 1, (text, [r["text"] for r in self.rows])
        return found[0]


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, **names: Any) -> Result:
    return run_in(World(), folder, monkeypatch, text, **names)


def run_in(world: World, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, **names: Any) -> Result:
    for module in (clock, clocks):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter_ns=lambda: world.now))
    text = textwrap.dedent(text)
    path = folder / "train.py"
    path.write_text(text)
    clocking = Clocking(Files([str(folder)]), None)
    world.clocks = clocking.clocks
    clocking.install()
    space = {"opt": world, "work": world.work, "__name__": "__main__", **names}
    try:
        exec(clocking.script(compile(text, str(path), "exec"), text.encode(), str(path)), space)
        clocking.clocks.end()
    finally:
        clocking.remove()
    return Result(text, clocking.clocks.as_json(lambda filename: int(filename != str(path))), space)
