"""From options to an exit status: checks before the script, runs it, settles the recording, ends as the script would have ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from types import TracebackType
from typing import Any, NoReturn

from ..process import ending, interrupts
from ..process.environment import check_torch, when_imported
from ..process.masking import Masked, masked
from ..process.options import Options
from ..process.report import RecorderError, Reporter
from ..source import cell_names
from ..source.frames import Files, is_ours
from ..source.notebook import Notebook
from ..storage import ranks, store
from . import replacing, variants, workers
from .launch import Program
from .session import CANNOT_RECORD, Session

NO_IPYTHON = "The cells run without IPython. Put what needs it behind: if 'get_ipython' in globals()"


def run(options: Options) -> NoReturn:
    reporter = Reporter(options.progress_fd)
    reporter.progress("start")
    try:
        _check_current_folder()
        folder = store.profiles_folder(options.out)
        place = ranks.member(folder)
        if place is not None:
            workers.end_with_launcher()
            reporter.silent = not place.leads
        if workers.starts_workers(options.argv):
            if options.batch_sizes or options.vary:
                raise RecorderError("--batch-sizes and --vary are for one process; a launcher starts several. Leave one of them out")
            workers.run(options, folder, reporter)
        program = Program(options.argv)
        program.prepare()
        check_torch()
        store.prepare(folder)
        if options.batch_sizes or options.vary:
            variants.run(options, folder, reporter)
    except RecorderError as error:
        reporter.fail(str(error))
        sys.exit(CANNOT_RECORD)
    files = Files([os.getcwd(), program.folder, os.path.dirname(os.path.dirname(folder))])
    session = Session(options, reporter, folder, files)
    program.prepared = session.clocking.script
    if program.notebook is not None:
        _tell_left_out(program.notebook, session, reporter)
    end = _End(session, reporter, program.name, masked(options.argv))
    # A process that is forked before it may import torch for itself: what it does is not followed.
    if options.replace is not None:
        replacing.arrange(options.replace, program)
    when_imported("torch", lambda: session.torch_imported() if end.is_ours() else None)
    # A launcher ends its workers so, and they may be waiting for one another.
    patience = interrupts.WORKERS_PATIENCE if place is not None else None
    interrupts.settle_first(end.by_signal, patience)
    try:
        program.run()
    except BaseException as error:
        end.by(error)
    end.settle(0)
    sys.exit(0)


def _check_current_folder() -> None:
    try:
        os.getcwd()
    except OSError as error:
        raise RecorderError("the current folder has been deleted. Change into one that exists and profile again") from error


def _tell_left_out(notebook: Notebook, session: Session, reporter: Reporter) -> None:
    said = notebook.said()
    if said is not None:
        reporter.say_once(said)
        session.warnings.add("notebook_magics", said)


class _End:
    """The end of the script's process, told to the recording first. A process that the script has forked ends as it would."""

    def __init__(self, session: Session, reporter: Reporter, name: str, command: Masked) -> None:
        self.session = session
        self.reporter = reporter
        self.name = name
        self.command = command
        self._owner = os.getpid()

    def is_ours(self) -> bool:
        return os.getpid() == self._owner

    def by(self, error: BaseException) -> NoReturn:
        """Ends the process as Python ends it for this exception, with our frames taken out of the traceback."""
        without_our_frames(error)
        if isinstance(error, SystemExit):
            if not self.session.stopping:
                self.settle(ending.status(error), said=self._said(error))
            raise SystemExit(error.code)
        facts = self.command.facts(error_facts(error))
        sys.excepthook(type(error), error, error.__traceback__)
        if NO_IPYTHON in facts["message"]:
            self.reporter.say(NO_IPYTHON)
        if isinstance(error, KeyboardInterrupt):
            interrupts.second_ends_at_once()
            self.settle(interrupts.SHELL_BASE + signal.SIGINT, facts, signal.SIGINT)
            _flush()
            interrupts.end_by(signal.SIGINT)
        self.settle(1, facts)
        sys.exit(1)

    def _said(self, error: SystemExit) -> str | None:
        said = ending.sentence(self.name, error)
        return self.command.text(said) if said is not None else None

    def by_signal(self, number: int) -> None:
        name = interrupts.name_of(number)
        self.settle(interrupts.SHELL_BASE + number, {"type": name, "message": f"{name} ended the process"}, number)
        _flush()

    def settle(self, code: int, error: dict[str, Any] | None = None, stopped_by: int | None = None, said: str | None = None) -> None:
        if not self.is_ours():
            return
        self.session.script_ended(code, error, None if stopped_by is None else interrupts.name_of(stopped_by), said)
        if error is not None:
            self.reporter.progress("failed", message=error["message"], error=error)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def without_our_frames(error: BaseException) -> None:
    """Removes this package's frames from the traceback and those of its causes."""
    seen = set()
    pending: list[BaseException | None] = [error]
    while pending:
        e = pending.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        e.__traceback__ = _filtered(e.__traceback__)
        pending += [e.__cause__, e.__context__]


def _filtered(tb: TracebackType | None) -> TracebackType | None:
    kept = []
    while tb is not None:
        if not is_ours(tb.tb_frame.f_code.co_filename):
            kept.append(tb)
        tb = tb.tb_next
    for entry, following in zip(kept, [*kept[1:], None]):
        entry.tb_next = following
    return kept[0] if kept else None


def error_facts(error: BaseException) -> dict[str, Any]:
    """`error` of the manifest; the line is 0-based and that of the innermost frame in a file; of a notebook that
    in the `cell`."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    facts: dict[str, Any] = {"type": type(error).__name__, "message": _message(error), "traceback": text}
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return {**facts, **cell_names.where(error.filename, error.lineno - 1)}
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__) if os.path.isfile(f.f_code.co_filename)]
    return {**facts, **cell_names.where(frames[-1][0], (frames[-1][1] or 1) - 1)} if frames else facts


def _message(error: BaseException) -> str:
    asks_for_ipython = cell_names.running() is not None and isinstance(error, NameError) and "'get_ipython'" in str(error)
    return f"{error}. {NO_IPYTHON}" if asks_for_ipython else str(error)
