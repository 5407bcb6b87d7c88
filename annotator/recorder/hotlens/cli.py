"""Command line of the package: `record [options] -- SCRIPT ARGS…` or `… -m MODULE ARGS…`; `run` is the same and says what came out.

The other verbs of `hotlens` are the program's: they are handed to it. Exit status: the script's own; 2 wrong usage; 3 the recorder could
not start or could not write (said on stderr).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import NoReturn

from . import __version__
from .process.options import DEFAULT_STEPS, DEFAULT_WARMUP, Options
from .steps.finder import KINDS

MOST_SIZES = 8  # each is a run of the script
PROGRAM_VERBS = (
    *("lsp", "report", "check", "diff", "serve", "export", "predict", "whatif"),
    *("timeline", "bench-device", "mcp", "doctor"),
)
WITH_VALUE = ("--out", "--warmup", "--steps", "--step", "--progress-fd", "--mark", "--batch-sizes", "--vary", "--replace")


def count(least: int) -> object:
    def parse(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return value

    parse.__name__ = "number"
    return parse


def mark(text: str) -> str:
    if re.fullmatch("[0-9a-f]{6}", text) is None:
        raise argparse.ArgumentTypeError("must be six hexadecimal digits")
    return text


def sizes(text: str) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    if not 1 <= len(found) <= MOST_SIZES or min(found) < 1:
        raise argparse.ArgumentTypeError(f"must be up to {MOST_SIZES} numbers of at least 1, as in 6,8")
    return found


def varied(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, values = text.partition("=")
    if not name.isidentifier():
        raise argparse.ArgumentTypeError("must be the name of a number, as in BLOCK or BLOCK=32,48")
    return name, sizes(values) if equals else ()


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="hotlens-record",
        description="Runs a training script and records where a step spends its time.",
        epilog="example: python -m hotlens record --steps 5 -- train.py --lr 0.1",
    )
    top.add_argument("--version", action="version", version=__version__)
    verbs = top.add_subparsers(dest="verb", required=True)
    for verb in ("record", "run"):
        _add_options(verbs.add_parser(verb, help="run a script and write a bundle"))
    for verb in PROGRAM_VERBS:
        verbs.add_parser(verb, help="of the hotlens program", add_help=False)
    return top


def _add_options(record: argparse.ArgumentParser) -> None:
    record.add_argument("--out", default=".", help="the folder that holds .hotlens/profiles (default: the current one)")
    record.add_argument("--warmup", type=count(0), default=DEFAULT_WARMUP, help="steps before anything is timed")  # type: ignore[arg-type]
    record.add_argument("--steps", type=count(1), default=DEFAULT_STEPS, help="steps under the profiler")  # type: ignore[arg-type]
    record.add_argument("--step", choices=("auto", *KINDS), default="auto", help="what marks a step (default: what the loop does shows it)")
    record.add_argument("--keep-going", action="store_true", help="let the script finish instead of stopping it when the bundle is written")
    record.add_argument("--progress-fd", type=int, default=None, help="write progress as JSON lines to this descriptor")
    record.add_argument("--mark", type=mark, default=None, help="the last part of the bundle's name, six hexadecimal digits")
    record.add_argument("--batch-sizes", type=sizes, default=(), help="run again with each of these and keep their operators too: 6,8")
    about = "run again with other values of this number and keep their operators too: BLOCK, or BLOCK=32,48"
    record.add_argument("--vary", type=varied, action="append", default=[], metavar="NAME", help=about)
    record.add_argument("--replace", default=None, help=argparse.SUPPRESS)
    record.add_argument("command", nargs=argparse.REMAINDER, metavar="-- SCRIPT ARGS… | -- -m MODULE ARGS…")


def cut(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own words, and the command: from `--`, from `-m` or from the first word that is neither an option nor an option's value."""
    words = list(arguments)
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("--", "-m"):
        at += 2 if words[at] in WITH_VALUE else 1
    own, command = words[:at], words[at:]
    return own, command[1:] if command[:1] == ["--"] else command


def parse(arguments: Sequence[str]) -> Options:
    """The options; exits with status 2 and a usage line where they make no sense."""
    p = parser()
    own, command = cut(arguments)
    a = p.parse_args(own)
    if not command or command == ["-m"]:
        p.error("name the script to run: record -- train.py, or record -- -m package.train")
    return Options(
        argv=command,
        warmup=a.warmup,
        steps=a.steps,
        step=None if a.step == "auto" else a.step,
        keep_going=a.keep_going,
        out=a.out,
        progress_fd=a.progress_fd,
        mark=a.mark,
        batch_sizes=a.batch_sizes,
        vary=tuple(a.vary),
        replace=a.replace,
        announce=a.verb == "run",
    )


def main(arguments: Sequence[str]) -> NoReturn:
    if arguments and arguments[0] in PROGRAM_VERBS:
        hand_over(arguments)
    if arguments and arguments[0] == "time":
        from .run.timing import main as time

        time(arguments[1:])
    if arguments and arguments[0] == "sweep":
        from .sweep.sweep import main as sweep

        sweep(arguments[1:])
    if arguments and arguments[0] == "peaks":
        from .process.environment import check_torch
        from .process.report import RecorderError
        from .steps.peaks import main as peaks

        try:
            check_torch()
        except RecorderError as error:
            print(f"{error}", file=sys.stderr)
            sys.exit(3)
        peaks()
        sys.exit(0)
    options = parse(arguments)
    from .run.run import run

    run(options)
    sys.exit(0)


def hand_over(arguments: Sequence[str]) -> NoReturn:
    """Becomes the program: the one that was installed with this package, else the one on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "hotlens")
    program = beside if os.access(beside, os.X_OK) else shutil.which("hotlens")
    if program is None:
        print(
            f"hotlens: the program is not installed beside {sys.executable} and not on PATH. Install the Hotlens wheel again.",
            file=sys.stderr,
        )
        sys.exit(3)
    os.execv(program, [program, *arguments])
