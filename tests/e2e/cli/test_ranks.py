"""Several processes of one training: who waits for whom, in a bundle and in trace files, as a shell asks for it."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from shell import Run
from straggler import Delay, names_module, names_rank, names_stage, rank_set, record


@pytest.mark.parametrize(
    ("ranks", "delay"),
    [
        (2, Delay("forward", rank=1, layer=2, seconds=0.04)),
        (2, Delay("data", rank=0, seconds=0.04)),
        (4, Delay("backward", rank=2, layer=0, seconds=0.08)),
    ],
)
def test_the_late_rank_its_stage_and_its_layer_are_named(tmp_path: Path, ranks: int, delay: Delay) -> None:
    found = rank_set(record(tmp_path, delay, ranks))
    assert names_rank(found, delay), found["sentence"]
    assert names_stage(found, delay), found["sentence"]
    assert names_module(found, delay), found["sentence"]
    assert f"  ranks: {found['sentence']}\n" in (tmp_path / "run.txt").read_text()
    late = found["straggler"]
    assert 0.6e9 * delay.seconds < late["cost_ns"] < 2e9 * delay.seconds
    for rank in found["ranks"]:
        for step in rank["steps"]:
            assert 0 <= step["waiting_ns"] <= step["wall_ns"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("bundle"), Delay("batch", rank=1, seconds=0.04), 2)


def traces_of(bundle: Path, folder: Path) -> list[Path]:
    folder.mkdir(exist_ok=True)
    return [Path(shutil.copy(bundle / f"trace-{rank}.json.gz", folder)) for rank in (0, 1)]


def document(hotlens: Run, *arguments: object) -> dict[str, Any]:
    done = hotlens(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def test_a_folder_a_pattern_and_files_are_the_ranks_of_one_run(hotlens: Run, bundle: Path, tmp_path: Path) -> None:
    files = traces_of(bundle, tmp_path / "run")
    asked: list[list[object]] = [[tmp_path / "run"], ["run/*.json.gz"], list(files), list(reversed(files))]
    found = [document(hotlens, "report", *each) for each in asked]
    assert {each["rank_set"]["straggler"]["rank"] for each in found} == {1}
    assert len({each["rank_set"]["sentence"] for each in found}) == 1
    text = hotlens("report", tmp_path / "run").stdout
    assert text.startswith("Ranks: rank 0 waits ")
    assert "for rank 1; longer there: host code before zero_grad" in text.splitlines()[0]


def test_one_rank_is_shown_and_another_can_be_asked_for(hotlens: Run, bundle: Path, tmp_path: Path) -> None:
    traces_of(bundle, tmp_path / "run")
    first = document(hotlens, "report", tmp_path / "run")["profile"]["id"]
    second = document(hotlens, "report", tmp_path / "run", "--rank", 1)["profile"]["id"]
    assert (first, second) == ("trace-0.json.gz", "trace-1.json.gz")
    refused = hotlens("report", tmp_path / "run", "--rank", 7)
    assert refused.returncode == 2
    assert "there is no rank 7" in refused.stderr


def test_a_clock_that_is_ahead_is_told_and_changes_nothing_else(hotlens: Run, bundle: Path, tmp_path: Path) -> None:
    files = traces_of(bundle, tmp_path / "run")
    before = document(hotlens, "report", tmp_path / "run")["rank_set"]
    trace = json.loads(gzip.decompress(files[1].read_bytes()))
    trace["baseTimeNanoseconds"] = trace.get("baseTimeNanoseconds", 0) + 3_000_000_000
    files[1].write_bytes(gzip.compress(json.dumps(trace).encode()))
    after = document(hotlens, "report", tmp_path / "run")["rank_set"]
    assert abs(after["ranks"][1]["clock_ahead_ns"] - 3_000_000_000) < 10_000_000
    assert after["straggler"]["rank"] == before["straggler"]["rank"] == 1
    assert abs(after["straggler"]["cost_ns"] - before["straggler"]["cost_ns"]) < 10_000_000


def test_the_waiting_rank_is_bound_by_communication(hotlens: Run, bundle: Path) -> None:
    waits = document(hotlens, "report", bundle, "--rank", 0)
    assert waits["verdict"]["kind"] == "communication"
    rows = {row["name"]: row["wall_ns"] for row in waits["buckets"]}
    assert rows["communication"] > 0.5 * waits["totals"]["wall_ns"]


def test_two_runs_of_several_ranks_are_compared_rank_by_rank(hotlens: Run, bundle: Path, tmp_path: Path) -> None:
    traces_of(bundle, tmp_path / "run")
    ranks = document(hotlens, "diff", bundle, tmp_path / "run")["ranks"]
    assert [row["rank"] for row in ranks["rows"]] == [0, 1]
    assert all(row["old_wall_ns"] == row["new_wall_ns"] for row in ranks["rows"])
    assert "rank 1" in hotlens("diff", bundle, tmp_path / "run", "--rank", 1).stdout


def test_check_takes_a_folder_and_a_rank(hotlens: Run, bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text((bundle.parents[2] / "train.py").read_text())
    traces_of(bundle, tmp_path / "run")
    assert hotlens("check", "train.py", "--profile", tmp_path / "run").returncode == 0
    assert document(hotlens, "check", "train.py", "--profile", tmp_path / "run", "--rank", 1)["profile"] == "trace-1.json.gz"
    assert hotlens("check", "train.py", "--profile", bundle, "--rank", 5).returncode == 2


def test_recordings_of_one_rank_are_not_put_together(hotlens: Run, bundle: Path, tmp_path: Path) -> None:
    files = traces_of(bundle, tmp_path / "run")
    shutil.copy(files[0], tmp_path / "run" / "again.json.gz")
    refused = hotlens("report", tmp_path / "run")
    assert refused.returncode == 2
    assert "two recordings are of rank 0" in refused.stderr
