"""The ranks of one run below the tracks of one of them: on its axis, with clocks that were corrected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_socket import Json, Page, Server
from small_trace import Trace, small_trace

AHEAD = 7_000_000  # µs: of the second rank's clock
STEPS = 3


def rank_trace(path: Path, rank: int, late: float) -> Path:
    """Every step of 1,000 µs: work, then at 300 + `late` an exchange that all leave at 560."""
    trace = Trace()
    for number in range(STEPS):
        at = number * 1000.0 + rank * AHEAD
        trace.add("user_annotation", f"ProfilerStep#{number}", at, 1000)
        trace.add("cpu_op", "aten::mm", at + 10, 60)
        trace.launch("sgemm", at + 20, at + 40, 100 + late)
        exchange = {"Collective name": "allreduce", "Process Group Name": "0", "Group size": 2, "Seq": number + 1, "In msg nelems": 64}
        trace.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 80, at + 300 + late, 260 - late)
        trace.events[-1]["args"] |= {**exchange, "dtype": "Float"}
    root = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": trace.events}
    path.write_text(json.dumps(root))
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "run").mkdir()
    for rank, late in enumerate((0.0, 200.0)):
        rank_trace(folder / "run" / f"rank{rank}.json", rank, late)
    with Server(folder, "run") as running:
        yield running


def stretches(columns: Json) -> list[tuple[int, int]]:
    return list(zip(columns["start"], columns["duration"], strict=True))


def test_every_rank_of_a_folder_is_a_lane_on_one_axis(page: Page) -> None:
    [first, second] = page.ask("lanes", width=1000, profile="rank0.json")["ranks"]
    assert [(each["rank"], each["shown"], each["profile"]) for each in (first, second)] == [
        (0, True, "rank0.json"),
        (1, False, "rank1.json"),
    ]
    assert second["ahead"] == AHEAD * 1000
    assert stretches(first["work"]) == [(40_000, 100_000)]
    assert stretches(second["work"]) == [(40_000, 300_000)]
    assert stretches(first["waiting"]) == [(300_000, 200_000)]
    assert stretches(second["waiting"]) == []
    assert stretches(first["transferring"]) == stretches(second["transferring"]) == [(500_000, 60_000)]
    assert (first["waits"], second["waits"]) == (200_000, 0)


def test_another_rank_is_shown_on_its_own_axis(page: Page) -> None:
    lanes = page.ask("lanes", width=1000, profile="rank1.json", step=2)["ranks"]
    assert [each["shown"] for each in lanes] == [False, True]
    assert stretches(lanes[0]["waiting"]) == [(300_000, 200_000)]


def test_a_window_cuts_what_ranks_did(page: Page) -> None:
    lane = page.ask("lanes", width=1000, profile="rank0.json", **{"from": 400_000, "to": 520_000})["ranks"][0]
    assert stretches(lane["waiting"]) == [(400_000, 100_000)]
    assert stretches(lane["transferring"]) == [(500_000, 20_000)]
    assert stretches(lane["work"]) == []


def test_profiles_that_exchange_nothing_have_no_ranks(tmp_path: Path) -> None:
    small_trace(tmp_path / "before.json")
    small_trace(tmp_path / "after.json")
    with Server(tmp_path, "before.json", "after.json") as running:
        opened = Page(running, Origin=f"http://{running.host}")
        assert "ranks" not in opened.ask("lanes", width=100)
        opened.close()
