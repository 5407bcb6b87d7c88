"""What goes wrong is said in one sentence with the next step, and nothing half-made stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import bundles_in, command, environment
from conftest import fresh_record as record
from conftest import fresh_record_text as record_text
from scripts import MODEL, STEP, counted_loop, indent, loop
from test_bundle import check_bundle


def leftovers(folder: Path) -> list:
    profiles = folder / ".hotlens" / "profiles"
    return [p.name for p in profiles.iterdir() if not (p / "manifest.json").exists()] if profiles.exists() else []


def test_an_exception_before_the_first_step(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + "raise ValueError('too early')\n")
    assert run.code == 1 and run.bundles == [] and leftovers(tmp_path) == []
    failed = run.progress[-1]
    assert failed["phase"] == "failed" and failed["error"]["type"] == "ValueError"
    assert failed["error"]["file"] == str(tmp_path / "train.py")
    assert failed["error"]["line"] == len(MODEL.splitlines())
    assert "too early" in failed["error"]["traceback"] and "hotlens" not in failed["error"]["traceback"]


SPAWN = """\
import torch.multiprocessing as mp

def train(rank):
    pass  # whatever it does, it does elsewhere

if __name__ == "__main__":
    mp.spawn(train, nprocs=1)
"""


def test_a_script_that_trains_in_processes_of_its_own_says_how_to_start_them(tmp_path: Path) -> None:
    run = record_text(tmp_path, SPAWN)
    assert run.bundles == [] and leftovers(tmp_path) == []
    assert "started 1 other" in run.err and "hotlens run -m torch.distributed.run --nproc_per_node 1" in run.err


@pytest.mark.parametrize("step", [1, 3, 6])
def test_an_exception_before_a_measured_step_leaves_no_bundle(tmp_path: Path, step: int) -> None:
    run = record_text(tmp_path, "count = 0\n" + loop(step=f"count += 1\nassert count != {step}, 'boom'\n" + STEP))
    assert run.code == 1 and run.bundles == [] and leftovers(tmp_path) == []
    assert run.err.rstrip().endswith("AssertionError: boom")


def test_an_exception_after_measured_steps_keeps_them(tmp_path: Path) -> None:
    run = record_text(tmp_path, "count = 0\n" + loop(step="count += 1\nassert count != 11, 'boom'\n" + STEP))
    assert run.code == 1
    check_bundle(run.bundle)
    manifest = run.bundle.manifest
    assert manifest["error"]["type"] == "AssertionError" and manifest["steps_measured"] == 4 and manifest["exit_code"] == 1
    assert [p["phase"] for p in run.progress][-2:] == ["done", "failed"]
    assert run.progress[-1]["error"]["type"] == "AssertionError"
    assert {w["code"] for w in manifest["warnings"]} == {"fewer_steps", "no_map_step"}


@pytest.mark.parametrize("steps, measured", [(5, 1), (8, 1), (11, 2), (13, 4)])
def test_fewer_steps_than_asked_are_used_and_said(tmp_path: Path, steps: int, measured: int) -> None:
    run = record_text(tmp_path, counted_loop(steps, after="print('end')\n"))
    assert run.code == 0 and run.out == "end\n"
    check_bundle(run.bundle)
    assert run.bundle.manifest["steps_measured"] == measured
    assert run.bundle.manifest["stopped_early"] is False
    assert f"after {measured} of 5 measured steps" in run.err


def test_a_short_loader_is_used_too(tmp_path: Path) -> None:
    run = record_text(tmp_path, loop("loader(64)"))
    check_bundle(run.bundle)
    assert run.bundle.manifest["steps_measured"] == 1 and run.bundle.manifest["map_step_ns"] > 0


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
@pytest.mark.parametrize("data", [None, "loader({n}, drop_last=True)"])
def test_too_few_steps_say_how_to_get_a_profile_and_it_helps(tmp_path: Path, steps: int, data: str | None) -> None:
    script = counted_loop(steps) if data is None else loop(data.format(n=8 * steps))
    run = record_text(tmp_path, script)
    assert run.code == 0 and (run.bundles == [] or steps == 4)
    if run.bundles == []:
        assert "training ended" in run.err and "from the first step: --warmup 0" in run.err
    again = record(tmp_path, ["train.py"], ["--warmup", "0"], out=tmp_path / "again")
    check_bundle(again.bundle)
    manifest = again.bundle.manifest
    assert manifest["steps_measured"] == 1 and ("map_trace" in manifest) == (steps >= 3)
    assert "first_step" in {w["code"] for w in manifest["warnings"]}


def test_all_steps_of_a_long_script_without_warm_up(tmp_path: Path) -> None:
    bundle = record_text(tmp_path, loop(), ["--warmup", "0", "--steps", "3"]).bundle
    check_bundle(bundle)
    assert bundle.manifest["steps_measured"] == 3 and bundle.manifest["warnings"] == []


def test_a_first_step_waits_for_every_optimizer(tmp_path: Path) -> None:
    second = "more = nn.Linear(3, 3)\nslow = torch.optim.SGD(more.parameters(), lr=0.1)\n"
    step = STEP.replace("model(x)", "more(model(x))") + "print('between')\nslow.step()\n"
    run = record_text(tmp_path, counted_loop(1, step=step).replace("for i in", second + "for i in"), ["--warmup", "0"])
    names = [e["name"] for e in run.bundle.trace("trace-0.json.gz")]
    assert sum(name.startswith("Optimizer.step#") for name in names) == 2
    assert run.bundle.manifest["step"]["by"] == "optimizer"


@pytest.mark.parametrize(
    "script, said", [("print('hi')\n", "never imported torch"), ("import torch\nprint(torch.ones(2).sum())\n", "no training step")]
)
def test_a_script_that_never_trains(tmp_path: Path, script: str, said: str) -> None:
    run = record_text(tmp_path, script)
    assert run.code == 0 and said in run.err and run.progress[-1]["phase"] == "failed"


def test_a_script_that_swallows_everything_is_stopped(tmp_path: Path) -> None:
    body = (
        "try:\n"
        + indent("x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n" + STEP)
        + "except BaseException as error:\n    print(type(error).__name__)\n"
    )
    run = record_text(tmp_path, MODEL + "while True:\n" + indent(body))
    assert run.code == 0 and run.out == "SystemExit\n" * 3
    check_bundle(run.bundle)


def test_finally_blocks_run_when_the_script_is_stopped(tmp_path: Path) -> None:
    run = record_text(tmp_path, MODEL + "try:\n" + indent("for x, y in loader():\n" + indent(STEP)) + "finally:\n    print('closed')\n")
    assert run.out == "closed\n" and run.code == 0


def test_no_torch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", *command(tmp_path, ["train.py"])[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=""),
        check=False,
    )
    assert done.returncode == 3
    (tmp_path / "train.py").write_text("import torch\n")
    done = subprocess.run(
        [sys.executable, "-S", *command(tmp_path, ["train.py"])[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=""),
        check=False,
    )
    assert done.returncode == 3 and "PyTorch is not installed" in done.stderr and "--python" in done.stderr


def test_an_old_torch(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "version.py").write_text("__version__ = '1.13.1+cu117'\n")
    run = record_text(tmp_path, "import torch\n")
    assert run.code == 3 and "1.13.1 is too old" in run.err


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    run = record(tmp_path, ["nothing.py"])
    assert run.code == 3 and "nothing.py does not exist" in run.err


@pytest.mark.parametrize("arguments", [["record"], ["record", "--steps", "0", "--", "x.py"], ["nonsense"]])
def test_wrong_usage(tmp_path: Path, arguments: list) -> None:
    from conftest import RECORDER

    done = subprocess.run([sys.executable, str(RECORDER), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage:" in done.stderr


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "train.py").write_text(loop())
    run = record(tmp_path, ["train.py"], out=tmp_path / "file")
    assert run.code == 3 and "--out DIR" in run.err and run.progress[-1]["phase"] == "failed"


FULL_DISK = """
import errno, gzip
real = gzip.open
def full(*a, **k):
    raise OSError(errno.ENOSPC, "No space left on device")
gzip.open = full
"""


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    run = record_text(tmp_path, FULL_DISK + loop("loader(80_000)"))
    assert run.code == 3 and "No space left on device" in run.err and "Free some space" in run.err
    assert run.bundles == [] and leftovers(tmp_path) == [] and run.progress[-1]["phase"] == "failed"


def test_gigabytes_of_output_pass_through(tmp_path: Path) -> None:
    run = record_text(tmp_path, loop(step="print('x' * 1_000_000)\n" + STEP))
    assert run.code == 0 and len(run.out) >= 14_000_000
    check_bundle(run.bundle)


def test_a_reader_of_progress_that_went_away_does_not_stop_the_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(loop())
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command(tmp_path, ["train.py"], fd=writing),
        cwd=tmp_path,
        pass_fds=(writing,),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0 and bundles_in(tmp_path)
