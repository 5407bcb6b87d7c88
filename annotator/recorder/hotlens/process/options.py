"""What the user asked the recorder for."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_WARMUP = 3
DEFAULT_STEPS = 5


@dataclass(frozen=True)
class Options:
    """What the user asked for. `argv` is the script and its arguments, or `-m`, the module and its arguments."""

    argv: list[str] = field(default_factory=list)
    warmup: int = DEFAULT_WARMUP
    steps: int = DEFAULT_STEPS
    step: str | None = None  # what marks a step, one of steps.KINDS; None: chosen from what the loop does
    keep_going: bool = False
    out: str = "."
    progress_fd: int | None = None
    mark: str | None = None  # how the bundle's name ends, for the program that has started this
    batch_sizes: tuple[int, ...] = ()  # whose programs the bundle gets as well
    vary: tuple[tuple[str, tuple[int, ...]], ...] = ()  # numbers by name, and the values whose programs the bundle gets; none: two near it
    replace: str | None = None  # what is replaced in memory by another number (run/replacing.py)
    announce: bool = False  # say on stderr which bundle was written
