"""`hotlens predict --batch-size` on real recordings, against real runs at the predicted size."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import HOTLENS, ask, record

Copied = Callable[[str], Path]


def programs(folder: Path) -> list[Path]:
    return sorted(folder.glob(".hotlens/profiles/*/program.json.gz"))


def change(file: Path, by: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(gzip.decompress(file.read_bytes()))
    by(document)
    file.write_bytes(gzip.compress(json.dumps(document).encode()))


def predicted(folder: Path, sizes: str) -> dict[str, Any]:
    done = ask(folder, "--batch-size", sizes, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("name", ["vision", "text"])
def test_the_unchanged_replay_takes_what_the_script_took_to_the_byte(shared: Path, name: str) -> None:
    checks = predicted(shared / name, "8")["self_check"]
    assert sorted(check["batch_size"] for check in checks) == [6, 8]
    for check in checks:
        assert check["peak_bytes_real"] == check["peak_bytes_replayed"] > 0
        assert check["ok"]


@pytest.mark.parametrize("name", ["vision", "text"])
def test_the_peak_at_another_size_is_that_of_a_real_run(shared: Path, name: str) -> None:
    (truth,) = programs(shared / f"{name}-24")
    real = json.loads(gzip.decompress(truth.read_bytes()))["allocator"]["peak_bytes"]
    points = {point["batch_size"]: point for point in predicted(shared / name, "24")["points"]}
    assert points[24]["peak_bytes"] == pytest.approx(real, rel=0.001)
    assert points[24]["method"] == "replay"


def test_one_run_with_another_batch_size_beside_it_is_enough(shared: Path, tmp_path: Path) -> None:
    record(tmp_path, "vision", 8, "--batch-sizes", "6,8")
    (truth,) = programs(shared / "vision-24")
    real = json.loads(gzip.decompress(truth.read_bytes()))["allocator"]["peak_bytes"]
    document = predicted(tmp_path, "24")
    assert sorted(check["batch_size"] for check in document["self_check"]) == [6, 8]
    assert {point["batch_size"]: point for point in document["points"]}[24]["peak_bytes"] == real

    # A run of that size says what came of the prediction, and the ledger keeps it: once.
    record(tmp_path, "vision", 24)
    told = subprocess.run([HOTLENS, "report", "--track-record", "--format", "json"], cwd=tmp_path, capture_output=True, check=True)
    (outcome,) = json.loads(told.stdout)["outcomes"]
    assert outcome["kind"] == "batch_size" and outcome["method"] == "replay" and outcome["step_ns"] > 0
    assert outcome["predicted"]["low"] < outcome["predicted"]["ratio"] < outcome["predicted"]["high"]
    ledger = (tmp_path / ".hotlens/ledger.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in ledger] == ["predicted", "seen"]


def test_points_are_in_order_and_times_grow_with_the_batch(shared: Path) -> None:
    points = predicted(shared / "vision", "256,64,64,8")["points"]
    assert [point["batch_size"] for point in points] == [8, 64, 256]
    assert [point["measured"] for point in points] == [True, False, False]
    assert points[0]["step_ns"] < points[1]["step_ns"] < points[2]["step_ns"]
    for point in points:
        assert point["low_ns"] <= point["step_ns"] <= point["high_ns"]
        assert point["samples_per_s"] == pytest.approx(point["batch_size"] / point["step_ns"] * 1e9)


def test_predictions_are_kept_in_the_bundle_beside_earlier_ones(copied: Copied) -> None:
    folder = copied("vision")
    for left in folder.glob(".hotlens/profiles/*/batch_sizes.json"):
        left.unlink()
    first, second = predicted(folder, "16"), predicted(folder, "32")
    assert [point["batch_size"] for point in second["points"]] == [8, 32]
    (kept,) = folder.glob(".hotlens/profiles/*/batch_sizes.json")
    document = json.loads(kept.read_text())
    assert [point["batch_size"] for point in document["points"]] == [8, 16, 32]
    assert document["profile"] == kept.parent.name
    assert document["points"][1] == first["points"][1]


def test_a_bundle_that_cannot_be_written_to_is_predicted_all_the_same(copied: Copied) -> None:
    folder = copied("vision")
    for bundle in folder.glob(".hotlens/profiles/*"):
        (bundle / "batch_sizes.json").unlink(missing_ok=True)
        (bundle / "batch_sizes.json").mkdir()
    assert len(predicted(folder, "16")["points"]) == 2


def test_a_table_for_people(shared: Path) -> None:
    done = ask(shared / "vision", "--batch-size", "16")
    assert done.returncode == 0
    assert "samples/s" in done.stdout
    assert done.stdout.splitlines()[1].split()[0] == "8"
    assert "measured" in done.stdout
    assert "replaying" in done.stderr


def test_where_memory_ends_is_told_of_this_machine_or_of_what_is_given(shared: Path) -> None:
    document = predicted(shared / "vision", "8,24")
    peaks = {point["batch_size"]: point["peak_bytes"] for point in document["points"]}
    assert document["memory"]["of"] == "this machine"
    assert document["memory"]["largest_batch_size"] > 1000
    done = ask(shared / "vision", "--batch-size", "24", "--memory", str(peaks[24]), "--format", "json")
    assert json.loads(done.stdout)["memory"] == {"bytes": peaks[24], "of": "", "largest_batch_size": 24}
    done = ask(shared / "vision", "--batch-size", "24", "--memory", "1kB")
    assert "Not even batch size 1 fits into 1.00 kB." in done.stdout


def test_a_size_that_does_not_fit_is_told_and_not_tried(shared: Path) -> None:
    document = predicted(shared / "vision", "50000000")
    point = document["points"][-1]
    assert point["method"] == "line"
    assert point["peak_bytes"] > 10**12
    assert "step_ns" not in point
    assert "not tried" in point["note"]


def test_a_size_beyond_all_numbers_is_refused_with_its_reason(shared: Path) -> None:
    (refusal,) = predicted(shared / "vision", str(2**62))["refused"]
    assert refusal["batch_size"] == 2**62
    assert refusal["reason"]


@pytest.mark.parametrize("sizes", ["0", "-4", "8,", "many", "8.5", "99999999999999999999"])
def test_sizes_that_are_none_are_wrong_usage(shared: Path, sizes: str) -> None:
    done = ask(shared / "vision", f"--batch-size={sizes}")
    assert done.returncode == 2
    assert "whole numbers above 0" in done.stderr


def test_one_recording_alone_says_which_command_records_two(copied: Copied) -> None:
    folder = copied("vision-24")
    done = ask(folder, "--batch-size", "32")
    assert done.returncode == 3
    assert "hotlens run --batch-sizes" in done.stderr
    assert done.stdout == ""


def test_a_script_that_does_something_else_at_another_size_is_refused(tmp_path: Path) -> None:
    for batch in (6, 8):
        record(tmp_path, "branching", batch)
    done = ask(tmp_path, "--batch-size", "32")
    assert done.returncode == 3
    assert "differ" in done.stderr


def test_sizes_that_depend_on_values_follow_no_batch_size(tmp_path: Path) -> None:
    for batch in (6, 8):
        record(tmp_path, "counting", batch)
    done = ask(tmp_path, "--batch-size", "32")
    assert done.returncode == 3
    assert "hotlens::input" in done.stderr and "is not the same" in done.stderr


def test_a_replay_that_is_another_step_than_the_recorded_one_predicts_nothing(copied: Copied) -> None:
    folder = copied("vision")
    for file in programs(folder):
        change(file, lambda document: document["allocator"].update(peak_bytes=document["allocator"]["peak_bytes"] * 2))
    done = ask(folder, "--batch-size", "32")
    assert done.returncode == 3
    assert "nothing is predicted" in done.stderr


def test_an_operator_that_fails_is_named_with_its_own_words(copied: Copied) -> None:
    folder = copied("text")

    def break_view(document: dict[str, Any]) -> None:
        views = [
            op for op in document["operators"] if op["op"] == "aten::view" and isinstance(op["args"][1], list) and len(op["args"][1]) == 3
        ]
        views[-1]["args"][1] = [7, 7, 7]

    for file in programs(folder):
        change(file, break_view)
    done = ask(folder, "--batch-size", "32")
    assert done.returncode == 3
    assert "cannot be replayed at aten::view" in done.stderr
    assert "shape '[7, 7, 7]' is invalid" in done.stderr


def test_an_operator_of_an_extension_is_named(copied: Copied) -> None:
    folder = copied("vision")
    for file in programs(folder):
        change(file, lambda document: document["operators"][1].update(op="mine::fused"))
    done = ask(folder, "--batch-size", "32")
    assert done.returncode == 3
    assert "mine::fused is not an operator of this torch" in done.stderr


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", gzip.compress(b"[]"), gzip.compress(b"{"), gzip.compress(b'{"format": 1}'), b"\x1f\x8b\x08garbage"],
    ids=["empty", "no gzip", "a list", "cut short", "without operators", "no gzip inside"],
)
def test_a_broken_program_is_an_error(copied: Copied, content: bytes) -> None:
    folder = copied("vision")
    for file in programs(folder):
        file.write_bytes(content)
    done = ask(folder, "--batch-size", "32")
    assert done.returncode == 3
    assert done.stderr.startswith("hotlens: ")


def test_the_reason_of_the_recorder_is_passed_on(copied: Copied) -> None:
    folder = copied("vision")
    for file in programs(folder):
        change(file, lambda document: document.update(refused="it uses vmap", operators=[], tensors=[]))
    done = ask(folder, "--batch-size", "32")
    assert done.returncode == 3
    assert "it uses vmap" in done.stderr


def test_a_profile_of_another_torch_is_not_replayed_with_this_one(copied: Copied) -> None:
    folder = copied("vision")
    for file in folder.glob(".hotlens/profiles/*/manifest.json"):
        manifest = json.loads(file.read_text())
        manifest["libraries"]["torch"] = "1.13.1"
        file.write_text(json.dumps(manifest) + "\n")
    done = ask(folder, "--batch-size", "32")
    assert done.returncode == 3
    assert "recorded with torch 1.13.1" in done.stderr
    assert "--python" in done.stderr


def test_without_a_compiler_it_says_what_to_install(shared: Path, tmp_path: Path) -> None:
    done = ask(shared / "vision", "--batch-size", "32", XDG_CACHE_HOME=str(tmp_path), PATH="/nonexistent", CXX="")
    assert done.returncode == 3
    assert "C++ compiler" in done.stderr
    assert "Everything else works" in done.stderr


def test_a_compiler_that_fails_is_passed_on(shared: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho 'worker.cpp:1: error: unknown flag' >&2\nexit 1\n")
    compiler.chmod(0o755)
    done = ask(shared / "vision", "--batch-size", "32", XDG_CACHE_HOME=str(tmp_path / "cache"), PATH=str(tmp_path), CXX="")
    assert done.returncode == 3
    assert "error: unknown flag" in done.stderr
    assert not list(tmp_path.glob("cache/**/*.partial"))


def test_nothing_of_the_users_code_is_needed_or_run(copied: Copied) -> None:
    folder = copied("vision")
    (folder / "vision.py").write_text("raise SystemExit('this must not run')")
    done = ask(folder, "--batch-size", "12")
    assert done.returncode == 0
    assert "this must not run" not in done.stdout + done.stderr
