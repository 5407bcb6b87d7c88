"""Loops with clocks of their own: what Hotlens says about their lines is what the script itself measured in a plain run.

`timed/*.py` put `with clock(NAME):` around single statements. Shares are compared among those statements, in a run without Hotlens and in
what the report and the hints say.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from compare import HOTLENS

SCRIPTS = sorted(path for path in (Path(__file__).parent / "timed").glob("*.py") if path.name != "clocks.py")
OPTIONS = {"rate_finder": ["--warmup", "105"]}
CLOSE = 0.1  # shares of two runs on a machine that does other things too
ATTEMPTS = 6  # beside two compilers, two runs in five are off by more
LEADS = 0.15  # by so much a line must lead, in the plain run, for its place to be certain


@dataclass(frozen=True)
class Run:
    """What the script measured, and what Hotlens said about it."""

    plain: dict[str, Any]
    watched: dict[str, Any]
    report: dict[str, Any]
    hints: dict[int, str]
    lines: dict[str, int]  # the clocked statement's line by the clock's name, 0-based


def clocked_lines(script: Path) -> dict[str, int]:
    """The line after each `with clock(NAME):`."""
    found = {}
    for number, line in enumerate(script.read_text(encoding="utf-8").splitlines()):
        if match := re.match(r'\s*with clock\("(.*)"\):', line):
            found[match[1]] = number + 1
    return found


def with_clocks(folder: Path, command: list[str]) -> dict[str, Any]:
    """Runs it; what the clocks of the script wrote."""
    file = folder / "clocks.json"
    done = subprocess.run(command, cwd=folder, env={**os.environ, "TIMED_CLOCKS": str(file)}, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return answer


def hotlens(folder: Path, *arguments: str) -> dict[str, Any]:
    """A verb's JSON."""
    done = subprocess.run([HOTLENS, *arguments, "--format", "json"], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def runs(script: Path, folder: Path) -> Run:
    """The script alone and under Hotlens."""
    for name in (script.name, "clocks.py"):
        (folder / name).write_text((script.parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    plain = with_clocks(folder, [sys.executable, script.name])
    options = ["--keep-going", *OPTIONS.get(script.stem, []), "--python", sys.executable]
    watched = with_clocks(folder, [str(HOTLENS), "run", *options, script.name])
    file = hotlens(folder, "check", script.name)["files"][0]
    return Run(
        plain=plain,
        watched=watched,
        report=hotlens(folder, "report", "latest"),
        hints={hint["line"]: hint["label"] for hint in file["hints"]},
        lines=clocked_lines(script),
    )


@pytest.fixture(scope="module", params=SCRIPTS, ids=lambda path: path.stem)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One script. Where another program took the machine for a while, shares differ from run to run: it is run again."""
    for _ in range(ATTEMPTS):
        found = runs(request.param, tmp_path_factory.mktemp(request.param.stem))
        if not wrong_shares(found):
            break
    return found


def statements(run: Run) -> list[dict[str, Any]]:
    """Of the function that holds the loop: with the others, they would count twice."""
    found: list[dict[str, Any]] = run.report["loop"]["functions"][0]["statements"]
    return found


def by_line(run: Run, number: str) -> dict[int, int]:
    """Of all functions: a clocked statement may be in one that the loop calls, and none of them lies in another."""
    return {each["line"]: each[number] for function in run.report["loop"]["functions"] for each in function["statements"]}


def of_all(times: dict[str, float]) -> dict[str, float]:
    """Shares of the clocked statements together."""
    return {name: time / sum(times.values()) for name, time in times.items()}


def shares(run: Run) -> tuple[dict[str, float], dict[str, float]]:
    """By the script's clocks in the plain run, and by the report."""
    total = by_line(run, "total_ns")
    return (
        of_all({name: run.plain["totals"].get(name, 0.0) for name in run.lines}),
        of_all({name: total.get(line, 0) for name, line in run.lines.items()}),
    )


def wrong_shares(run: Run) -> dict[str, tuple[float, float, float]]:
    """What is not as the script measured it: the share in the plain run, in the same run, and what is said."""
    true, said = shares(run)
    # A busy machine changes shares from run to run: the script's clocks went on under Hotlens, too.
    same_run = of_all({name: run.watched["totals"].get(name, 0.0) for name in run.lines})
    occurrences = {line: max(count, 1) for line, count in by_line(run, "in_updates").items()}
    return {
        name: (round(true[name], 3), round(same_run[name], 3), round(said[name], 3))
        for name, line in run.lines.items()
        # What comes every k-th update may fall into the window that was watched once more or less than its share.
        if min(abs(true[name] - said[name]), abs(same_run[name] - said[name])) > max(CLOSE, true[name] / occurrences.get(line, 1))
    }


def test_a_line_has_the_share_that_the_script_measures(run: Run) -> None:
    assert not wrong_shares(run)


def test_the_costliest_line_is_the_scripts_own(run: Run) -> None:
    true, said = shares(run)
    ranked = sorted(true, key=lambda name: -true[name])
    if true[ranked[0]] - true[ranked[1]] > LEADS:
        assert max(said, key=lambda name: said[name]) == ranked[0], (true, said)
    for name in ranked[:3]:
        if true[name] > LEADS:
            assert run.lines[name] in run.hints, (name, run.hints)


def test_nothing_is_left_out_and_nothing_twice(run: Run) -> None:
    loop = run.report["loop"]
    within = sum(each["total_ns"] for each in statements(run))
    assert within <= loop["watched_ns"]
    assert within >= 0.97 * loop["watched_ns"], within / loop["watched_ns"]
    step = run.report["totals"]["wall_ns"]
    assert sum(stage["wall_ns"] for stage in run.report["stages"]) == step
    assert sum(bucket["wall_ns"] for bucket in run.report["buckets"]) == step
    percents = [int(match[1]) for label in run.hints.values() if (match := re.search(r" (\d+)%", label))]
    assert percents and max(percents) <= 100


def test_losses_are_those_of_a_run_without_hotlens(run: Run) -> None:
    assert run.watched["losses"] == run.plain["losses"]
