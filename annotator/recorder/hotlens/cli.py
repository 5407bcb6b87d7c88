"""Command line of the recorder: `record [options] -- SCRIPT ARGS…` or `record [options] -- -m MODULE ARGS…`.

Exit status: the script's own; 2 wrong usage; 3 the recorder could not start or could not write (said on stderr).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from . import __version__
from .options import DEFAULT_STEPS, DEFAULT_WARMUP, Options
from .steps import KINDS


def count(least: int) -> object:
    def parse(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return value

    parse.__name__ = "number"
    return parse


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="hotlens-record",
        description="Runs a training script and records where a step spends its time.",
        epilog="example: python -m hotlens record --steps 5 -- train.py --lr 0.1",
    )
    top.add_argument("--version", action="version", version=__version__)
    verbs = top.add_subparsers(dest="verb", required=True)
    record = verbs.add_parser("record", help="run a script and write a bundle")
    record.add_argument("--out", default=".", help="the folder that holds .hotlens/profiles (default: the current one)")
    record.add_argument("--warmup", type=count(0), default=DEFAULT_WARMUP, help="steps before anything is timed")  # type: ignore[arg-type]
    record.add_argument("--steps", type=count(1), default=DEFAULT_STEPS, help="steps under the profiler")  # type: ignore[arg-type]
    record.add_argument("--step", choices=("auto", *KINDS), default="auto", help="what marks a step (default: what the loop does shows it)")
    record.add_argument("--keep-going", action="store_true", help="let the script finish instead of stopping it when the bundle is written")
    record.add_argument("--progress-fd", type=int, default=None, help="write progress as JSON lines to this descriptor")
    record.add_argument("-m", dest="module", default=None, help=argparse.SUPPRESS)
    record.add_argument("command", nargs=argparse.REMAINDER, metavar="-- SCRIPT ARGS… | -- -m MODULE ARGS…")
    return top


def parse(arguments: Sequence[str]) -> Options:
    """The options; exits with status 2 and a usage line where they make no sense."""
    p = parser()
    a = p.parse_args(list(arguments))
    command: list[str] = list(a.command)
    if command and command[0] == "--":
        command = command[1:]
    if a.module is not None:
        command = ["-m", a.module, *command]
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
    )


def main(arguments: Sequence[str]) -> NoReturn:
    options = parse(arguments)
    from .run import run

    run(options)
    sys.exit(0)
