"""The first update watched, where kernels were loaded in it: left out, unless it may be the loop's own way."""

from __future__ import annotations

from pathlib import Path

import pytest
from script_time import MS, run

LOOP = """
for i in range(UPDATES):
    for part in range(3):
        work(SLOW if i == 1 else 1)
    if RARE:
        work(90)
    opt.step()
"""


def loop(slow: int, updates: int = 24, rare: str = "False") -> str:
    return LOOP.replace("SLOW", str(slow)).replace("UPDATES", str(updates)).replace("RARE", rare)


def test_a_slow_first_one_is_in_no_number_but_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, loop(40))
    whole = result.whole
    assert (whole["slow_first_ns"], whole["updates"], whole["made"]) == (122 * MS, 22, 23)
    assert whole["update_ns"] == [5 * MS] * 22 and whole["watched_ns"] == 110 * MS
    assert result["opt.step()"] == (22, 44)
    parts = result.row("for part in range(3):")
    assert (parts["calls"], parts["timed_ns"], parts["total_ns"]) == (22, 66 * MS, 66 * MS)
    assert (parts["in_updates"], parts["in_watched"], parts["usual_ns"]) == (23, 22, [3 * MS] * 3)
    assert [each["updates"] for each in whole["loops"]] == [22]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (loop(7), "not much slower"),
        (loop(40, updates=20), "too few to compare it with"),
        (loop(1, rare="i == 1"), "with work of its own"),
        (loop(40).replace("i == 1", "i % 17 == 1"), "the loop's own way"),
        (loop(1, rare="i % 6 == 1"), "work that comes now and then"),
    ],
)
def test_another_one_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str) -> None:
    whole = run(tmp_path, monkeypatch, text).whole
    assert "slow_first_ns" not in whole and whole["updates"] == whole["made"] == len(whole["update_ns"]), why
