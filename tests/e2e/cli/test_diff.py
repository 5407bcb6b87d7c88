"""`hotlens diff` as a gate for CI and as a page for people."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run, steps_trace

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recorder"))
from scripts import loop

PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)

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
    assert 0 < linear["noise_ns"] < 150_000  # of one run a side: another process alone may shift all steps
    assert "gate" not in diff


def series(write: Write, name: str, shift: int) -> list[Path]:
    """Three runs whose levels differ a little, as those of processes do."""
    return [write(f"{name}{run}.json", steps_trace([step + shift + 8 * run for step in QUIET])) for run in (-1, 0, 1)]


def test_several_runs_a_side_fire_where_one_leaves_it_to_chance(hotlens: Run, write: Write) -> None:
    old, new = series(write, "old", 0), series(write, "new", 80)
    single = hotlens("diff", old[1], new[1], "--fail-over", "5%")
    assert single.returncode == 0
    assert "noise between runs is up to ±" in single.stderr
    assert "hotlens run --repeat 3" in single.stderr
    baselines = [word for run in old for word in ("--baseline", run)]
    several = hotlens("diff", *baselines, *new, "--fail-over", "5%")
    assert several.returncode == 1
    assert several.stdout.startswith("The step got 8.0 % slower: 1.00 ms → 1.08 ms")
    assert "old  old0.json and 2 more runs" in several.stdout
    assert hotlens("diff", *baselines, *old, "--fail-over", "0%").returncode == 0
    diff = json.loads(hotlens("diff", *baselines, new[0], "--format", "json").stdout)
    assert len(diff["old"]["runs"]) == 3
    assert "runs" not in diff["new"]


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (["old.json"], "name two profiles"),
        (["old.json", "new.json", "new.json"], "--baseline OLD"),
        (["--baseline", "old.json"], "required"),
    ],
    ids=["one", "three", "no new one"],
)
def test_sides_that_are_not_clear(hotlens: Run, pair: tuple[Path, Path], sides: list[str], said: str) -> None:
    result = hotlens("diff", *sides)
    assert result.returncode == 2
    assert said in result.stderr


def test_a_folder_of_runs_is_a_side(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(loop())
    for side in ("old", "new"):
        done = hotlens("run", "--python", PYTHON, "--repeat", "2", "--out", side, "train.py")
        assert done.returncode == 0, done.stderr
        assert f"hotlens: 2 runs; to compare a later one with them:\n  hotlens diff {side} NEW\n" in done.stdout
    diff = json.loads(hotlens("diff", "old", "new", "--format", "json").stdout)
    stored = {side: {path.name for path in (tmp_path / side / ".hotlens" / "profiles").glob("*Z-*")} for side in ("old", "new")}
    assert {side: set(diff[side]["runs"]) for side in stored} == stored
    assert not any("made" in row for row in diff["modules"])
    profiles = tmp_path / "old" / ".hotlens" / "profiles"
    assert set(json.loads(hotlens("diff", profiles, "new", "--format", "json").stdout)["old"]["runs"]) == stored["old"]
