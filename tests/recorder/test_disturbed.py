"""On a GPU a profiler leaves something behind that makes every launch longer: the loop is watched before it, what is rare also after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import record_text
from hotlens.steps.course import UNTOUCHED, plan
from hotlens.steps.finder import Boundary
from hotlens.steps.phases import Measured, Plain, Untouched, Watch
from script_time import MS, Result, World, run_in
from scripts import MODEL, STEP, indent
from test_bundle import check_bundle
from test_loop_file import loop_of

LOOP = """
for i in range(STEPS):
    work(8)
    if i % 15 == 14:
        work(40)
    opt.step()
    after(i)
"""


class Disturbing(World):
    """Everything takes half as long again from update `at` on, when a profiler first runs."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.longer = False

    def work(self, ms: int) -> int:
        return super().work(ms * 3 // 2 if self.longer else ms)

    def after(self, update: int) -> None:
        if update in (self.at, self.at + 10):  # also as another profiler starts
            self.longer = True
            self.clocks.disturbed()


def watched(world: Disturbing, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = LOOP, steps: int = 50) -> Result:
    return run_in(world, folder, monkeypatch, text, after=world.after, STEPS=steps)


def test_usual_updates_count_from_before_and_rare_work_in_proportion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = watched(Disturbing(12), tmp_path, monkeypatch)
    assert result["work(8)"] == (14, 14 * 8)  # 12 updates before and two with work that is rare
    assert result["work(40)"] == (2, 80)
    assert result["opt.step()"] == (14, 28)
    assert result.whole["updates"] == 14
    assert result.whole["update_ns"] == [10 * MS] * 12 + [50 * MS] * 2
    assert result.row("work(40)")["in_updates"] == 3  # also those that no time is taken from
    per_update = result.row("work(40)")["per_update_ns"]
    assert per_update == pytest.approx(40 * MS / 15, rel=0.1)
    assert result.row("work(8)")["per_update_ns"] == pytest.approx(8 * MS, rel=0.01)


def test_too_few_updates_before_are_no_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = watched(Disturbing(4), tmp_path, monkeypatch)
    assert result.whole["updates"] == 49  # nor are those that were watched since, when another profiler starts
    assert result["work(8)"] != (4, 32)


def test_the_statements_add_up_to_what_was_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in (9, 14, 15, 30, 49):
        result = watched(Disturbing(at), tmp_path, monkeypatch)
        total = sum(row["total_ns"] for row in result.rows)
        assert total <= result.whole["watched_ns"] <= total + 2 * len(result.rows)


SHAKEN = """
for i in range(STEPS):
    before(i + 1)
    work(LENGTH + (6 if i in COLD else 0))
    if i == RARE:
        work(4)
    opt.step()
"""


def shaken(folder: Path, monkeypatch: pytest.MonkeyPatch, length: int = 8, rare: int = -1, first: int = 4) -> Result:
    """A profiler runs in two updates from `first` on; the three that follow take longer."""
    world, cold = World(), range(first + 2, first + 5)

    def before(update: int) -> None:
        world.profile(first <= update < first + 2)
        world.after_profiler_ns = (update - first - 2) * 17 * MS if update >= first + 2 else None

    names = {"LENGTH": length, "RARE": rare, "STEPS": 30, "COLD": cold, "before": before}
    return run_in(world, folder, monkeypatch, SHAKEN, **names)


def test_updates_soon_after_a_profiler_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = shaken(tmp_path, monkeypatch)
    assert set(result.whole["update_ns"]) == {10 * MS}
    assert result.whole["updates"] == result["opt.step()"][0] == 29 - 2 - 3  # the first is start-up, two have a profiler
    assert result.whole["watched_ns"] == result.whole["updates"] * 10 * MS


def test_one_with_rare_work_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = shaken(tmp_path, monkeypatch, rare=7)
    assert result["work(4)"] == (1, 4)
    assert sorted(set(result.whole["update_ns"])) == [10 * MS, 20 * MS]


def test_before_others_have_shown_what_an_update_does_each_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = shaken(tmp_path, monkeypatch, first=1)
    assert result.whole["update_ns"].count(16 * MS) == 2


def test_long_updates_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = shaken(tmp_path, monkeypatch, length=300)
    assert result.whole["updates"] == 29 - 2


def phases(steps: int, left: int | None, settled: Any = bool) -> list[Any]:
    return plan(steps, left, Boundary("loader", 0, "", 0), None, False, settled=settled)


def test_a_gpu_is_watched_before_the_profiler() -> None:
    known = phases(5, 100)
    assert isinstance(known[0], Untouched)
    needed = sum(phase.steps for phase in known[1:])
    assert known[0].steps == 100 - needed
    unknown = phases(5, None)
    assert isinstance(unknown[0], Untouched)
    assert unknown[0].steps == 5 * UNTOUCHED
    assert not any(isinstance(phase, Untouched) for phase in phases(5, None, settled=None))


@pytest.mark.parametrize("left", [1, 4, 11, 12, 13])
def test_a_short_script_is_measured_as_ever(left: int) -> None:
    order = phases(5, left)
    measured = [phase for phase in order if isinstance(phase, Measured)]
    assert measured
    before = sum(phase.steps for phase in order[: order.index(measured[0])])
    assert before + measured[0].steps <= max(left, 1)
    assert all(phase.steps for phase in order if not isinstance(phase, Watch))


def test_it_is_watched_until_that_is_enough() -> None:
    enough = [False, True]
    phase = Untouched(9, lambda: enough.pop(0))
    assert isinstance(phase, Plain)
    assert not phase.over  # not one step yet
    phase.done = 1
    assert not phase.over
    phase.done = 2
    assert phase.over
    phase.done = 9
    assert phase.over


# What a GPU is told by; everything else of the run is real.
AS_ON_A_GPU = """\
import time
import sys
sys.modules["_hotlens_recorder.run.session"].device_module = lambda: torch
"""
EVALUATION = """\
def evaluate():
    time.sleep(0.02)
"""


def test_a_run_watches_before_its_profiler_and_later_for_what_is_rare(tmp_path: Path) -> None:
    body = "x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n" + STEP + "if i % 40 == 39:\n    evaluate()\n"
    run = record_text(tmp_path, MODEL + AS_ON_A_GPU + EVALUATION + "for i in range(400):\n" + indent(body))
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    loop, rows = loop_of(run.bundle)
    plain_steps = run.bundle.manifest["plain_step_ns"]
    assert len(plain_steps) >= 5 * UNTOUCHED
    usual, rare = rows["loss.backward()"], rows["evaluate()"]
    assert 5 * UNTOUCHED - 1 <= usual["calls"] == loop["updates"] <= 5 * UNTOUCHED + 2  # before the profiler, and with an evaluation
    assert rare["calls"] >= 1
    assert rare["total_ns"] == pytest.approx(rare["timed_ns"] / rare["calls"] * loop["updates"] / 40, rel=0.3)
    assert "slowed" not in {w["code"] for w in run.bundle.manifest["warnings"]}
