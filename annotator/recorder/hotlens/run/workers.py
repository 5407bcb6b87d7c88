"""A launcher as the program to record: `hotlens run -m torch.distributed.run … train.py` records every worker it starts."""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from ..process.environment import check_torch
from ..process.options import Options
from ..process.report import RecorderError, Reporter
from ..source.frames import RECORDER_FOLDER
from ..storage import store
from ..storage.ranks import clear_of

RECORDER = os.path.join(RECORDER_FOLDER, "__main__.py")
ACCELERATE = "accelerate.commands.launch"
LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch", ACCELERATE)
PR_SET_PDEATHSIG = 1


def starts_workers(argv: Sequence[str]) -> bool:
    return as_module(argv)[:1] == ["-m"] and as_module(argv)[1] in LAUNCHERS


def as_module(argv: Sequence[str]) -> list[str]:
    """`torchrun …` is `-m torch.distributed.run …`, unless there is a script of that name; `accelerate launch …` likewise."""
    name = os.path.basename(argv[0]) if argv else ""
    if name == "torchrun":
        return ["-m", LAUNCHERS[0], *argv[1:]]
    if name == "accelerate" and argv[1:2] == ["launch"]:
        return ["-m", ACCELERATE, *argv[2:]]
    return list(argv)


def _parse(module: str, argv: Sequence[str]) -> argparse.Namespace:
    if module == ACCELERATE:
        try:
            parser: argparse.ArgumentParser = importlib.import_module(ACCELERATE).launch_command_parser()
        except ImportError as error:
            raise RecorderError(f"accelerate cannot be imported ({error}). Install it, or choose an interpreter: --python EXE") from error
        return parser.parse_args(list(argv))
    try:
        from torch.distributed.run import get_args_parser
    except ImportError as error:
        raise RecorderError(f"this torch cannot start workers ({error}). Choose an interpreter whose torch can: --python EXE") from error
    return get_args_parser().parse_args(list(argv))


def worker_argv(module: str, argv: Sequence[str], options: Options, folder: str) -> list[str]:
    """The launcher's own arguments, then the recorder with the worker's script. Raises RecorderError where there is no script."""
    parsed = _parse(module, argv)
    if parsed.no_python:
        raise RecorderError("with --no-python the launcher starts programs that are not Python. Leave it out to profile a Python script")
    own = list(argv[: len(argv) - len(parsed.training_script_args) - 1])
    script = [parsed.training_script, *parsed.training_script_args]
    if parsed.module:
        own = [word for word in own if word not in ("-m", "--module")]
        script = ["-m", *script]
    return [*own, RECORDER, "record", *as_words(replace(options, out=folder)), "--", *script]


def as_words(options: Options) -> list[str]:
    words = ["--out", options.out, "--warmup", str(options.warmup), "--steps", str(options.steps)]
    words += ["--step", options.step] if options.step is not None else []
    return words + (["--keep-going"] if options.keep_going else [])


def run(options: Options, folder: str, reporter: Reporter) -> NoReturn:
    """Runs the launcher in this process, and says which bundle its workers have left. Ends with the launcher's own exit status."""
    command = as_module(options.argv)
    check_torch()
    store.prepare(folder)
    sys.argv = [command[1], *worker_argv(command[1], command[2:], options, folder)]
    name = store.new_name(folder, options.mark)
    os.environ[store.NAME_VARIABLE] = name
    try:
        importlib.import_module(command[1]).main()
    except SystemExit as end:
        _report(os.path.join(folder, name), reporter)
        raise end
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        _report(os.path.join(folder, name), reporter)
        reporter.progress("failed", message=str(error), error={"type": type(error).__name__, "message": str(error)})
        sys.exit(1)
    _report(os.path.join(folder, name), reporter)
    sys.exit(0)


def end_with_launcher() -> None:
    """In a worker that `run` has started: it lies in a session of its own, where no signal to the launcher's group reaches it.

    A launcher that is told to end ends its workers; one that is killed cannot. Only Linux has a way to be told (prctl(2)).
    """
    if store.NAME_VARIABLE in os.environ and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def _report(path: str, reporter: Reporter) -> None:
    """The workers' leader has said on stderr what there is to say."""
    clear_of(os.path.dirname(path), os.getpid())
    if os.path.exists(os.path.join(path, "manifest.json")):
        reporter.progress("done", bundle=path)
    else:
        message = "the workers left no bundle"
        reporter.progress("failed", message=message)
