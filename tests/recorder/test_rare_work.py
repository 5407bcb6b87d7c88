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
    # From the first update on, 12 more of them; the end of the loop is a second end of the first.
    assert result["work(1)"] == (12, 12)
    assert result["work(3)"] == (12, 36)
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


ACROSS = """
for i in range(41):
    if i % 5 == 4:
        work(10) + (opt.step() or 0) + work(6)
    else:
        opt.step()
"""


def test_what_makes_an_update_now_and_then_and_goes_on_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At work in two updates, each time."""
    result = run(tmp_path, monkeypatch, ACROSS)
    rare = result.row("work(10) + (opt.step() or 0) + work(6)")
    assert (rare["calls"], rare["timed_ns"]) == (8, 8 * 18 * MS)
    assert (rare["in_updates"], rare["in_watched"]) == (8, 8)
    assert (rare["last_update"] - rare["first_update"]) / 7 == 5


FOLLOWED = """
def evaluate():
    work(40)

def train():
    for epoch in range(2):
        for i in range(4):
            work(1)
            opt.step()
            work(3)
        evaluate()
    evaluate()
    work(160)

train()
work(500)
"""


def test_what_comes_after_the_loop_is_of_no_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven updates from the first on, an evaluation in each epoch of four; the third and all that follows are not the loop's."""
    world = World()
    result = run_in(world, tmp_path, monkeypatch, FOLLOWED)
    assert result.whole["updates"] == 7
    assert result["work(160)"] == result["work(500)"] == (0, 0)
    assert result.row("train()")["total_ns"] // MS == 7 * (1 + 3 + 2) + 7 * 40 // 4
    in_train, after = [row for row in result.rows if row["text"] == "evaluate()"]
    assert (in_train["total_ns"] // MS, after["timed_ns"]) == (70, 0)
    world.clocks.end()  # whoever gives up ends them, and then the script does
    assert world.clocks.as_json(lambda filename: 0)["watched_ns"] == result.whole["watched_ns"]


LAST_OF_ALL = """
for i in range(9):
    work(1)
    opt.step()
    work(3)
    if i == 8:
        work(70)
"""


def test_what_only_the_last_round_of_a_loop_does_has_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, LAST_OF_ALL)
    assert (result["work(3)"], result["work(70)"]) == ((8, 24), (1, 70))
    assert sum(row["total_ns"] for row in result.rows) == result.whole["watched_ns"] == 8 * 6 * MS + 70 * MS


def test_what_comes_behind_the_update_is_as_frequent_at_the_end_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = RARE.replace("range(13)", "range(24)").replace("        work(10)\n    opt.step()", "        pass\n    opt.step()")
    result = run(tmp_path, monkeypatch, f"{script}    if i % 8 == 7:\n        work(16)\n")
    rare = result.row("work(16)")
    assert (rare["calls"], rare["timed_ns"], rare["total_ns"]) == (2, 32 * MS, 46 * MS)


@pytest.mark.parametrize("loop", ["for i in range(4):\n    work(1)\n    opt.step()", "fit(4)"])
def test_much_more_after_the_loop_is_left_out_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    """A package's own loop, too."""
    world = World()

    def fit(updates: int) -> None:
        for _ in range(updates):
            world.work(1)
            world.step()

    result = run_in(world, tmp_path, monkeypatch, f"{loop}\nwork(500)\n", fit=fit)
    assert result.whole["updates"] == 3
    assert result["work(500)"] == (0, 0)
    assert sum(row["total_ns"] for row in result.rows) == result.whole["watched_ns"] == sum(result.whole["update_ns"])


def test_the_statements_add_up_to_what_was_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, RARE)
    assert sum(r["total_ns"] for r in result.rows) == result.whole["watched_ns"] == sum(result.whole["update_ns"])
    assert [loop["updates"] for loop in result.whole["loops"]] == [12]
    assert result.row("work(1)")["startup_ns"] == MS and result.whole["startup_ns"] == 3 * MS


class Env:
    """A package's."""


def learn(env: Any, advance: Any) -> None:
    """A package's loop: every fourth update is behind a rollout."""
    for update in range(14):
        if update % 4 == 2:
            for _ in range(5):
                env.step(1)
                env.work(20)  # the policy
        env.work(6)
        advance()


ENVIRONMENT = """
class Cart(Env):
    work = staticmethod(work)

    def step(self, action):
        self.work(3)
        return self.work(1)

learn(Cart(), opt.step)
"""


def test_of_a_packages_rollout_the_environments_lines_and_the_whole_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, ENVIRONMENT, Env=Env, learn=learn)
    assert (result["self.work(3)"], result["return self.work(1)"]) == ((15, 45), (15, 15))
    assert result.whole["updates"] == 13
    # 8 ms a step; a rollout of 120 ms every fourth.
    assert result.whole["watched_ns"] - result.whole["rare_ns"] == 13 * 8 * MS
    assert result.whole["rare_ns"] == pytest.approx(13 * 30 * MS, rel=0.1)


Learns = tuple[Result, list[bool], list[bool]]


def learning(folder: Path, monkeypatch: pytest.MonkeyPatch, updates: int, rollouts: dict[int, int], *before: str) -> Learns:
    """`learn(model)` of a package whose every statement is its own: updates of 8 ms, some behind a rollout of so many ms with the model in
    evaluation. With it, of each update, whether work is waited for after it, and whether it had rare work. `before`: what comes first.
    """
    world = World()
    waits: list[bool] = []
    rare: list[bool] = []

    def learn() -> None:
        for event in before:
            getattr(world.clocks, event)()
        for update in range(updates):
            if update in rollouts:
                world.clocks.evaluation()
                world.work(rollouts[update])
            world.work(6)
            rare.append(world.clocks.has_rare_work())
            world.step()
            waits.append(world.clocks.unseen())

    return run_in(world, folder, monkeypatch, "learn()\n", learn=learn), waits, rare


def test_a_packages_rollout_without_a_line_is_known_by_its_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, waits, rare = learning(tmp_path, monkeypatch, 71, {update: 50 for update in range(5, 71, 10)})
    assert result.whole["updates"] == 70
    assert result.whole["watched_ns"] - result.whole["rare_ns"] == 70 * 8 * MS
    assert result.whole["rare_ns"] == pytest.approx(70 * 5 * MS, rel=0.1)
    assert waits.index(False) == 50  # ENOUGH_OF_A_PACKAGE, with five rollouts among them
    assert [update for update, is_rare in enumerate(rare) if is_rare] == list(range(15, 71, 10))  # one has been seen by then


@pytest.mark.parametrize(("before", "waited"), [(("evaluation", "inference"), 160), (("evaluation",), 50), (("inference",), 50)])
def test_a_packages_first_rollout_is_waited_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: tuple[str, ...], waited: int
) -> None:
    """A model that is turned to evaluation as it is loaded makes nobody wait."""
    result, waits, _ = learning(tmp_path, monkeypatch, 201, {80: 500, 160: 500}, *before)
    assert waits.index(False) == waited
    assert result.whole["rare_ns"] == pytest.approx(200 * 500 * MS / 80, rel=0.1)


def test_a_rollout_in_the_first_update_watched_makes_it_no_slow_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _, _ = learning(tmp_path, monkeypatch, 41, {1: 400})
    assert "slow_first_ns" not in result.whole and result.whole["updates"] == 40
    assert result.whole["rare_ns"] >= 400 * MS


LOOKED_AT = """
for i in range(12):
    work(1)
    if i % 4 == 3:
        opt.look(50)
    opt.step()
"""


def test_what_is_the_recorders_is_no_time_of_a_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, LOOKED_AT)
    assert (result["work(1)"], result["opt.look(50)"], result["opt.step()"]) == ((11, 11), (3, 0), (11, 22))
    assert result.whole["watched_ns"] == 33 * MS and result.whole["update_ns"] == [3 * MS] * 11
    before = run(tmp_path, monkeypatch, "opt.look(50)\nwork(4)\nfor i in range(3):\n    opt.step()\n")
    assert before.whole["startup_ns"] == 6 * MS
