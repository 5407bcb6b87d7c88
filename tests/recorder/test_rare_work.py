"""Work that comes now and then: what the clocks say of it from the updates that were watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from script_time import MS, Result, World, run, run_in

RARE = """
import time
for i in range(13):
    work(1)
    if i % 4 == 3:
        work(10)
    opt.step()
    work(3)
"""


def test_work_that_comes_now_and_then_has_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, RARE)
    # From the first update on: 12 more of them, then the end of the loop.
    assert result["work(1)"] == (12, 12)
    assert result["work(3)"] == (13, 39)
    assert result["opt.step()"] == (12, 24)
    assert result["work(10)"] == (3, 30)
    rare = result.row("work(10)")
    # Where i % 4 == 3, counted from the second update on.
    assert (rare["in_updates"], rare["first_update"], rare["last_update"]) == (3, 2, 10)
    assert result.whole["updates"] == result.whole["made"] == 12
    assert rare["per_update_ns"] == 30 * MS // 12


OFTEN_WATCHED = """
for i in range(33):
    profile(i < 16)
    work(1)
    if i % 16 == 15:
        work(32)
    opt.step()
"""


def watched_from(folder: Path, monkeypatch: pytest.MonkeyPatch, watched: int, updates: int) -> tuple[Result, dict[str, Any]]:
    """OFTEN_WATCHED with so many updates, a profiler in those before `watched`; and its row of what comes in every sixteenth."""
    world = World()
    text = OFTEN_WATCHED.replace("range(33)", f"range({updates})").replace("i < 16", f"i < {watched - 1}")
    result = run_in(world, folder, monkeypatch, text, profile=world.profile)
    assert (result.whole["updates"], result.whole["made"]) == (updates - watched, updates - 1)
    total = sum(row["total_ns"] for row in result.rows)
    assert total <= result.whole["watched_ns"] <= total + len(result.rows)
    return result, result.row("work(32)")


@pytest.mark.parametrize(("watched", "updates"), [(17, 33), (14, 18), (14, 30), (3, 20), (20, 40)])
def test_what_comes_every_sixteenth_update_counts_for_one_in_sixteen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: int, updates: int
) -> None:
    """However often it came among those watched."""
    result, rare = watched_from(tmp_path, monkeypatch, watched, updates)
    assert (rare["calls"], rare["timed_ns"]) == (1, 32 * MS)
    assert rare["total_ns"] == 32 * MS * result.whole["updates"] // 16


def test_what_came_once_and_not_again_has_no_rhythm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = OFTEN_WATCHED.replace("i % 16 == 15", "i == 3").replace("i < 16", "i < 2")
    world = World()
    result = run_in(world, tmp_path, monkeypatch, text, profile=world.profile)
    rare = result.row("work(32)")
    assert (result.whole["updates"], result.whole["made"], rare["in_updates"]) == (30, 32, 1)
    assert rare["total_ns"] == 32 * MS * 30 // 32


def test_the_statements_add_up_to_what_was_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, RARE)
    assert sum(r["total_ns"] for r in result.rows) == result.whole["watched_ns"] == sum(result.whole["update_ns"]) + 3 * MS
    assert [loop["updates"] for loop in result.whole["loops"]] == [12]
    assert result.row("work(1)")["startup_ns"] == MS and result.whole["startup_ns"] == 3 * MS
