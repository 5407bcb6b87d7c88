"""What tests in Python share: traces that they record themselves, and the count of what is left out where nobody has real ones.

Real traces lie in the folder that HOTLENS_TRACES names. What needs them and does not find them is counted in the file that HOTLENS_LEFT_OUT
names (tests/run.sh adds it up), said at the end, and a failure where CI is set.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDED = "HOTLENS_TRACES"
NO_TRACES = f"{NEEDED} names no folder"
missing: list[str] = []
reasons: set[str] = set()


def note_missing(what: str, why: str = NO_TRACES) -> None:
    missing.append(what)
    reasons.add(why)
    if file := os.environ.get("HOTLENS_LEFT_OUT"):
        with open(file, "a") as lines:
            lines.write(what + "\n")


@pytest.fixture(scope="session")
def left_out() -> Callable[..., None]:
    """Says that a part of a test had no real traces to work on, or not what else it needs; fails where CI is set."""

    def say(what: str, why: str = NO_TRACES) -> None:
        note_missing(what, why)
        if os.environ.get("CI"):
            pytest.fail(f"{why}: {what}")

    return say


@pytest.fixture(scope="session")
def own_traces() -> Path:
    """The folder of the traces that the tests record themselves (tests/traces/own_traces.py)."""
    folder = Path(os.environ.get("HOTLENS_OWN_TRACES", ROOT / "build/own_traces"))
    python = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
    subprocess.run([python, ROOT / "tests/traces/own_traces.py", folder], check=True, capture_output=True)
    return folder


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Counts skipped tests that name the folder, or have no trace to run on; the process that reports counts, not its workers."""
    why = str(report.longrepr)
    if report.skipped and "PYTEST_XDIST_WORKER" not in os.environ and (NEEDED in why or "empty parameter set" in why):
        note_missing(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if missing:
        terminalreporter.write_line(f"LEFT OUT: {len(missing)} checks; {'; '.join(sorted(reasons))}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if missing and os.environ.get("CI"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
