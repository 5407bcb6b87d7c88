"""`hotlens report --log`: time to target from a training's log, as a shell calls it."""

from __future__ import annotations

import json
from pathlib import Path

from shell import Run


def mllog(key: str, value: float | None, seconds: int, **facts: object) -> str:
    row = {"namespace": "", "time_ms": 1_700_000_000_000 + 1000 * seconds, "event_type": "POINT_IN_TIME"}
    return ":::MLLOG " + json.dumps({**row, "key": key, "value": value, "metadata": facts}) + "\n"


def test_an_mlperf_log(hotlens: Run, tmp_path: Path) -> None:
    rows = [mllog("run_start", None, 0)]
    rows += [mllog("eval_accuracy", 0.1 * at, 300 * at, epoch_num=at) for at in range(1, 6)]
    (tmp_path / "run.log").write_text("".join(rows))
    found = json.loads(hotlens("report", "--log", "run.log", "--target", "0.4", "--format", "json").stdout)
    assert found["schema"] == "hotlens.target/1"
    assert found["reached"] is True
    assert found["took_ns"] == 1200 * 10**9
    said = hotlens("report", "--log", "run.log", "--target", "0.7").stdout
    assert "so far     25 min" in said
    assert "2.0 epochs × 300 s (by the log's clock) = 10 min" in said


def test_a_pattern_takes_no_longer_than_the_log_is_long(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(("a" * 4000 + "\n") * 100)
    done = hotlens("report", "--log", "run.log", "--loss-pattern", "(a*)*b", "--target", "1")  # the fixture's limit is a minute
    assert done.returncode == 3
    assert "fits no line" in done.stderr


def test_hostile_logs_are_errors_that_say_what_to_do(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "broken.log").write_text(":::MLLOG {nothing\n" * 3)
    (tmp_path / "large.log").touch()
    with (tmp_path / "large.log").open("r+") as file:
        file.truncate(300 << 20)
    for name, code, word in [
        ("none.log", 3, "No such file"),
        ("/dev/zero", 3, "regular file"),
        ("binary.log", 3, "--loss-pattern"),
        ("broken.log", 3, ":::MLLOG"),
        ("large.log", 3, "larger than"),
    ]:
        done = hotlens("report", "--log", name, "--target", "1")
        assert done.returncode == code, (name, done.stderr)
        assert word in done.stderr
    (tmp_path / "ok.log").write_text("loss 3\n\x1b[2Jloss 2\n")
    assert hotlens("report", "--log", "ok.log", "--loss-pattern", "loss (", "--target", "1").returncode == 2
    assert hotlens("report", "--log", "ok.log", "--loss-pattern", "loss ([0-9])").returncode == 2
    assert hotlens("report", "--target", "1").returncode == 2
    done = hotlens("report", "--log", "ok.log", "--loss-pattern", "loss ([0-9])", "--target", "1")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr


def test_a_profile_that_was_named_has_to_be_there(hotlens: Run, tmp_path: Path) -> None:
    (tmp_path / "ok.log").write_text("loss 3\nloss 2\n")
    words = ("--log", "ok.log", "--loss-pattern", "loss ([0-9])", "--target", "1")
    assert hotlens("report", *words).returncode == 0
    assert hotlens("report", "nothing", *words).returncode == 3
