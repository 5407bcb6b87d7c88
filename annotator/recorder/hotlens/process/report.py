"""What the recorder says while it runs: lines for people on stderr, JSON lines for a program on the progress descriptor."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any


class RecorderError(Exception):
    """The recorder cannot do its work; the message is the sentence the user reads, the next step last."""


@dataclass
class Warnings:
    """What was lost or guessed, counted by code; goes into the manifest."""

    items: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, code: str, message: str) -> None:
        entry = self.items.setdefault(code, {"code": code, "message": message, "count": 0})
        entry["count"] += 1

    def drop(self, code: str) -> None:
        self.items.pop(code, None)

    def as_list(self) -> list[dict[str, Any]]:
        return list(self.items.values())


class Reporter:
    """Writes to stderr and to the progress descriptor; a closed reader silences it and never stops the script."""

    def __init__(self, progress_fd: int | None = None, silent: bool = False) -> None:
        self.fd = progress_fd
        self.silent = silent  # another process of the same training speaks
        self.pid = os.getpid()
        self.ended: set[str] = set()
        self.said: set[str] = set()  # once
        if progress_fd is not None:
            try:
                os.set_inheritable(progress_fd, False)
                self._file = os.fstat(progress_fd)
            except OSError:
                self.fd = None

    def say(self, message: str) -> None:
        if self.silent:
            return
        try:
            sys.__stderr__.write(f"hotlens: {message}\n")  # type: ignore[union-attr]
            sys.__stderr__.flush()  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            pass

    def say_once(self, message: str) -> None:
        if message not in self.said:
            self.said.add(message)
            self.say(message)

    def progress(self, phase: str, **fields: Any) -> None:
        """One JSON line. A script that fails after measured steps has a `done` and then a `failed`; each comes once."""
        if phase in self.ended:
            return
        if phase in ("done", "failed"):
            self.ended.add(phase)
        if self.fd is None or os.getpid() != self.pid:
            return
        self._write(json.dumps({"phase": phase, **{k: v for k, v in fields.items() if v is not None}}) + "\n")

    def step(self, phase: str, number: int, of: int) -> None:
        """The same for a step of a phase, in a microsecond: it comes between two timed steps."""
        if self.fd is not None:
            self._write(f'{{"phase": "{phase}", "step": {number}, "of": {of}}}\n')

    def _write(self, line: str) -> None:
        assert self.fd is not None
        try:
            # A script may close descriptors that are not its own: the number is then another file's, of its own.
            if not os.path.samestat(os.fstat(self.fd), self._file):
                self.fd = None
                return
            os.write(self.fd, line.encode())
        except OSError:
            self.fd = None

    def fail(self, message: str, error: dict[str, Any] | None = None) -> None:
        """A failure of the run that is worth one line on stderr and a `failed` record; with `error` where the script has raised it."""
        self.say(message)
        self.progress("failed", message=message, error=error)
