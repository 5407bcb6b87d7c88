"""A run that is stopped from outside keeps what it has measured, says so, and ends as a Python without a recorder ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import RECORDER, Bundle, bundles_in, command, environment, record_text
from scripts import STEP, loop
from test_bundle import check_bundle

# The first signal comes while the script sleeps: `import torch` itself loses some, with a plain python as well.
SLOW = "import time\ntime.sleep(1)\n" + loop(step="time.sleep(0.05)\n" + STEP)
# Steps of unknown number: the map step comes early. A plain Python leaves its `finally` on Ctrl-C, and not on SIGTERM.
ENDLESS = (
    "import itertools, time\n"
    + loop("((x, y) for _ in itertools.count() for x, y in loader(8))", step="time.sleep(0.05)\n" + STEP)
    .replace("for x, y in (", "try:\n  for x, y in (")
    .replace("\n    ", "\n      ")
    + "finally:\n  print('closed')\n"
)


@dataclass
class Stopped:
    code: int
    out: str
    err: str
    bundles: list[Bundle]


def hear_interrupts() -> None:
    """A shell without job control starts its background jobs deaf to Ctrl-C, and so what they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stop(folder: Path, script: str, at: str, *signals: int, pause: float = 0.0) -> Stopped:
    """Records `script` and sends the signals at the first progress of phase `at`."""
    (folder / "train.py").write_text(script)
    reading, writing = os.pipe()
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    child = subprocess.Popen(
        command(folder, ["train.py"], fd=writing),
        cwd=folder,
        pass_fds=(writing,),
        env=environment(),
        preexec_fn=hear_interrupts,
        **streams,
    )
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as progress:
        next(line for line in progress if f'"phase": "{at}"' in line)
        time.sleep(pause)
        for number in signals:
            child.send_signal(number)
            time.sleep(0.01)
        out, err = child.communicate(timeout=60)
    return Stopped(child.returncode, out, err, bundles_in(folder))


def leftovers(folder: Path) -> list[str]:
    profiles = folder / ".hotlens" / "profiles"
    return [p.name for p in profiles.iterdir() if not (p / "manifest.json").exists()] if profiles.exists() else []


@pytest.mark.parametrize("at, pause", [("start", 0.4), ("plain", 0.0)])
def test_ctrl_c_before_a_measured_step_leaves_nothing(tmp_path: Path, at: str, pause: float) -> None:
    run = stop(tmp_path, SLOW, at, signal.SIGINT, pause=pause)
    assert run.code == -signal.SIGINT and run.bundles == [] and leftovers(tmp_path) == []
    assert "KeyboardInterrupt" in run.err and "recorder/hotlens/" not in run.err  # no frames of ours
    assert "Ctrl-C stopped the run before a step was measured" in run.err


@pytest.mark.parametrize("number, name", [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_measured_steps_are_kept(tmp_path: Path, number: int, name: str) -> None:
    run = stop(tmp_path, SLOW, "measured", number)
    assert run.code == -number and leftovers(tmp_path) == []
    (bundle,) = run.bundles
    check_bundle(bundle)
    manifest = bundle.manifest
    assert 1 <= manifest["steps_measured"] == len(manifest["profiled_step_ns"]) < 5 == manifest["steps_asked"]
    assert manifest["stopped_by"] == name and manifest["exit_code"] == 128 + number and not manifest["stopped_early"]
    assert manifest["error"]["type"] == ("KeyboardInterrupt" if number == signal.SIGINT else name)
    assert {w["code"] for w in manifest["warnings"]} == {"stopped", "no_map_step"}
    assert f"{name} stopped the run after {manifest['steps_measured']} of 5 measured steps" in run.err
    assert f"{name} stopped the run before the map step" in run.err


@pytest.mark.parametrize("number, out", [(signal.SIGINT, "closed\n"), (signal.SIGTERM, "")])
def test_the_map_step_is_kept_and_the_script_ends_in_its_own_way(tmp_path: Path, number: int, out: str) -> None:
    run = stop(tmp_path, ENDLESS, "plain", number, pause=0.12)  # past the plain step between the profilers
    assert run.code == -number and run.out == out and leftovers(tmp_path) == []
    (bundle,) = run.bundles
    check_bundle(bundle)
    assert bundle.manifest["steps_measured"] == 1


@pytest.mark.parametrize("at", ["map", "write"])
def test_a_recording_that_is_complete_stays_complete(tmp_path: Path, at: str) -> None:
    run = stop(tmp_path, SLOW, at, signal.SIGINT)
    assert leftovers(tmp_path) == []
    (bundle,) = run.bundles
    check_bundle(bundle)
    assert bundle.manifest["steps_measured"] == 5 and bundle.manifest["map_step_ns"] is not None


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    slow_to_settle = SLOW.replace("import time\n", "import time, gzip\ngzip.open = lambda *a, **k: time.sleep(50)\n", 1)
    begin = time.monotonic()
    run = stop(tmp_path, slow_to_settle, "measured", signal.SIGINT, *[0] * 50, signal.SIGINT)
    assert run.code == -signal.SIGINT and run.bundles == [] and time.monotonic() - begin < 30


BETWEEN_STEPS = """\
import os, signal, torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
enter = torch.autograd.profiler.record_function.__enter__
def interrupted(self):
    if self.name == "ProfilerStep#2":
        os.kill(os.getpid(), signal.SIGINT)
    return enter(self)
torch.autograd.profiler.record_function.__enter__ = interrupted
"""


def test_a_signal_while_a_step_begins_tears_nothing_apart(tmp_path: Path) -> None:
    run = record_text(tmp_path, BETWEEN_STEPS + loop(), fresh=True)
    assert run.code == -signal.SIGINT
    check_bundle(run.bundle)
    assert run.bundle.manifest["steps_measured"] == 2 and run.bundle.manifest["stopped_by"] == "Ctrl-C"


def test_a_handler_of_the_scripts_own_is_left_alone(tmp_path: Path) -> None:
    own = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    run = stop(tmp_path, own + SLOW, "measured", signal.SIGTERM)
    assert run.code == 7 and run.bundles[0].manifest["exit_code"] == 7 and run.bundles[0].manifest["stopped_by"] is None


def test_workers_of_the_script_end_at_once_when_told_to(tmp_path: Path) -> None:
    worker = "import os, signal\nassert os.fork() or signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and not os._exit(0)\n"
    run = stop(tmp_path, SLOW.replace("criterion", worker + "assert os.wait()[1] == 0\ncriterion", 1), "measured", signal.SIGINT)
    assert "AssertionError" not in run.err and len(run.bundles) == 1


STUCK = """\
import sys, torch
from hotlens.process import interrupts
interrupts.settle_first(lambda number: print("settled", flush=True), patience=0.5)
print("waits", flush=True)
{wait}
"""


@pytest.mark.parametrize(
    "wait, code, said",
    [
        ("torch.futures.Future().wait()", 128 + signal.SIGTERM, "waits\n"),  # in C++: no line of Python comes to handle the signal
        ("import time; time.sleep(60)", -signal.SIGTERM, "waits\nsettled\n"),
        ("import signal, time; signal.signal(signal.SIGTERM, lambda *_: time.sleep(2) or sys.exit(7)); time.sleep(60)", 7, "waits\n"),
    ],
    ids=["stuck", "idle", "its own handler"],
)
def test_a_worker_that_comes_to_nothing_ends_without(wait: str, code: int, said: str) -> None:
    script = STUCK.format(wait=wait)
    environment_ = environment(PYTHONPATH=str(RECORDER.parents[1]))
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment_)
    assert worker.stdout is not None
    first = worker.stdout.readline()
    time.sleep(0.5)
    worker.terminate()
    out = worker.communicate(timeout=30)[0]
    assert (worker.returncode, first + out) == (code, said)
