"""From options to an exit status: checks before the script, runs it, settles the recording, ends as the script would have ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from types import TracebackType
from typing import Any, NoReturn

from . import bundle, interrupts, ranks, workers
from .environment import check_torch, when_imported
from .frames import Files, is_ours
from .launch import Program
from .options import Options
from .report import RecorderError, Reporter
from .session import CANNOT_RECORD, Session


def run(options: Options) -> NoReturn:
    folder = bundle.profiles_folder(options.out)
    place = ranks.member(folder)
    if place is not None:
        workers.end_with_launcher()
    reporter = Reporter(options.progress_fd, silent=place is not None and not place.leads)
    reporter.progress("start")
    try:
        if workers.starts_workers(options.argv):
            workers.run(options, folder, reporter)
        program = Program(options.argv)
        program.prepare()
        check_torch()
        bundle.prepare(folder)
    except RecorderError as error:
        reporter.fail(str(error))
        sys.exit(CANNOT_RECORD)
    files = Files([os.getcwd(), program.folder, os.path.dirname(os.path.dirname(folder))])
    session = Session(options, reporter, folder, files)
    program.prepared = session.clocking.script
    when_imported("torch", session.torch_imported)
    # A launcher ends its workers so, and they may be waiting for one another.
    patience = interrupts.WORKERS_PATIENCE if place is not None else None
    interrupts.settle_first(lambda number: _ended_by_signal(number, session, reporter), patience)
    try:
        program.run()
    except BaseException as error:
        _ended_by(error, session, reporter)
    _settle(session, reporter, 0, None)
    sys.exit(0)


def _ended_by(error: BaseException, session: Session, reporter: Reporter) -> NoReturn:
    """Ends the process as Python ends it for this exception, with our frames taken out of the traceback."""
    without_our_frames(error)
    if isinstance(error, SystemExit) and session.stopping:
        sys.exit(error.code)
    if isinstance(error, SystemExit):
        code = _status(error)
        _settle(session, reporter, code, None)
        raise SystemExit(error.code)
    facts = error_facts(error)
    sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, KeyboardInterrupt):
        interrupts.second_ends_at_once()
        _settle(session, reporter, interrupts.SHELL_BASE + signal.SIGINT, facts, signal.SIGINT)
        _flush()
        interrupts.end_by(signal.SIGINT)
    _settle(session, reporter, 1, facts)
    sys.exit(1)


def _ended_by_signal(number: int, session: Session, reporter: Reporter) -> None:
    name = interrupts.name_of(number)
    _settle(session, reporter, interrupts.SHELL_BASE + number, {"type": name, "message": f"{name} ended the process"}, number)
    _flush()


def _settle(session: Session, reporter: Reporter, code: int, error: dict[str, Any] | None, stopped_by: int | None = None) -> None:
    session.script_ended(code, error, None if stopped_by is None else interrupts.name_of(stopped_by))
    if error is not None:
        reporter.progress("failed", message=error["message"], error=error)


def _status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


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
    """`error` of the manifest; the line is 0-based and that of the innermost frame in a file."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    facts: dict[str, Any] = {"type": type(error).__name__, "message": str(error), "traceback": text}
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        facts.update(file=os.path.abspath(error.filename), line=error.lineno - 1)
        return facts
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.isfile(f.filename)]
    if frames:
        facts.update(file=os.path.abspath(frames[-1].filename), line=(frames[-1].lineno or 1) - 1)
    return facts
