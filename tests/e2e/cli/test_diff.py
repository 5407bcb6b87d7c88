"""`hotlens diff` as a gate for CI and as a page for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run, steps_trace

Write = Callable[[str, dict[str, Any]], Path]

QUIET = [1000, 1010, 990, 1005, 995]
SLOWER = [1200, 1210, 1190, 1205, 1195]
LINEAR = [500, 502, 498, 501, 499]
SLOW_LINEAR = [700, 702, 698, 701, 699]


@pytest.fixture
def pair(write: Write) -> tuple[Path, Path]:
    return write("old.json", steps_trace(QUIET, LINEAR)), write("new.json", steps_trace(SLOWER, SLOW_LINEAR))


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ([], 0),
        (["--fail-over", "5%"], 1),
        (["--fail-over", "25%"], 0),
        (["--fail-over", "25%", "--module", "Net_0/*"], 1),
        (["--fail-over", "50%", "--module", "Net_0/*"], 0),
        (["--fail-over", "5%", "--module", "nowhere"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_the_gate(hotlens: Run, pair: tuple[Path, Path], gate: list[str], code: int) -> None:
    result = hotlens("diff", *pair, *gate)
    assert result.returncode == code
    assert result.stdout.startswith("The step got 20.0 % slower: 1.00 ms → 1.20 ms")
    if code == 1:
        assert "slower by more than" in result.stderr


def test_faster_and_equal_runs_pass_the_strictest_gate(hotlens: Run, pair: tuple[Path, Path]) -> None:
    old, new = pair
    assert hotlens("diff", new, old, "--fail-over", "0%").returncode == 0
    same = hotlens("diff", old, old, "--fail-over", "0%")
    assert same.returncode == 0
    assert same.stdout.startswith("The step did not change beyond the noise")


def test_a_slower_run_inside_its_own_noise_passes(hotlens: Run, write: Write) -> None:
    unsteady = write("old.json", steps_trace([1000, 1400, 700, 1200, 800]))
    slower = write("new.json", steps_trace([1100, 1500, 800, 1300, 900]))
    assert hotlens("diff", unsteady, slower, "--fail-over", "5%").returncode == 0


def test_one_step_says_that_noise_is_unknown(hotlens: Run, write: Write) -> None:
    one = write("one.json", steps_trace([1000]))
    other = write("other.json", steps_trace([1200]))
    result = hotlens("diff", one, other, "--fail-over", "5%")
    assert result.returncode == 1
    assert "noise is not known" in result.stdout
    assert "record more steps" in result.stderr


def test_the_page_names_the_module_that_changed(hotlens: Run, pair: tuple[Path, Path]) -> None:
    lines = hotlens("diff", *pair).stdout.splitlines()
    assert lines[1] == "The biggest change is in Net_0/Linear_0: +200 µs a step."


def test_json_names_both_sides(hotlens: Run, pair: tuple[Path, Path]) -> None:
    diff = json.loads(hotlens("diff", *pair, "--format", "json").stdout)
    assert diff["schema"] == "hotlens.diff/1"
    linear = next(row for row in diff["modules"] if row["path"] == "Net_0/Linear_0")
    assert (linear["old_ns"], linear["new_ns"], linear["change_ns"]) == (500_000, 700_000, 200_000)
    assert linear["outcome"] == "slower"
    assert linear["explains"] is True
    assert 0 < linear["noise_ns"] < 20_000
    assert "gate" not in diff
