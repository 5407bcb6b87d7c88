"""Two processes of one training: one bundle with a trace of each, whichever way they are started and whoever is first."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import Run, bundles_in, command, environment, record
from hotlens.storage.ranks import Part, member
from test_bundle import check_bundle
from test_interrupts import hear_interrupts
from test_map_step import step_ranges

SCRIPT = """\
import os
import time
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(640, 8), torch.randint(0, 3, (640,)))
test = DataLoader(data, batch_size=64)
steps = 0
for x, y in DataLoader(data, batch_size=8, sampler=DistributedSampler(data)):
    steps += 1
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    if EVALUATES and rank == 0 and steps % 6 == 0:
        model.eval()
        with torch.no_grad():
            for x, y in test:
                model.module(x)
        model.train()
print("end")
"""


def script(folder: Path, evaluates: bool) -> None:
    (folder / "train.py").write_text(SCRIPT.replace("EVALUATES", str(evaluates)))


def check(run: Run) -> None:
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    manifest = run.bundle.manifest
    assert [t["rank"] for t in manifest["traces"]] == [0, 1]
    assert manifest["steps_measured"] == 5 and manifest["map_step_ns"] > 0
    for trace in manifest["traces"]:
        steps = step_ranges(run.bundle.trace(trace["file"]))
        assert len(steps) == len(trace["profiled_step_ns"]) == 5
        names = [e["name"] for e in run.bundle.trace(trace["file"])]
        assert sum("Optimizer.step#SGD.step" in n for n in names) >= 5
    assert [p.name for p in run.bundle.path.parent.iterdir()] == [run.bundle.path.name]


ACCELERATED = """\
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(8, 8)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
for step in range(60):
    optimizer.zero_grad()
    accelerator.backward(model(torch.ones(4, 8)).sum())
    optimizer.step()
"""


@pytest.mark.parametrize("launcher", [["accelerate", "launch"], ["-m", "accelerate.commands.launch"]], ids=" ".join)
def test_accelerate_as_the_launcher(tmp_path: Path, launcher: list[str]) -> None:
    (tmp_path / "train.py").write_text(ACCELERATED)
    run = record(tmp_path, [*launcher, "--cpu", "train.py", "--lr", "1"])
    assert run.code == 0, run.err
    check_bundle(run.bundle)
    assert run.bundle.manifest["argv"] == ["train.py", "--lr", "1"] and run.bundle.manifest["steps_measured"] == 5
    assert run.progress[-1] == {"phase": "done", "bundle": str(run.bundle.path)}


@pytest.mark.parametrize("evaluates", [False, True], ids=["alike", "only rank 0 evaluates"])
def test_a_launcher_as_the_program(tmp_path: Path, evaluates: bool) -> None:
    script(tmp_path, evaluates)
    run = record(tmp_path, ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py", "--lr", "1"])
    check(run)
    assert run.bundle.manifest["argv"] == ["train.py", "--lr", "1"]
    assert run.progress[-1] == {"phase": "done", "bundle": str(run.bundle.path)}
    assert {w["code"] for w in run.bundle.manifest["warnings"]} == ({"steps_left_out"} if evaluates else set())


def test_the_recorder_under_a_launcher(tmp_path: Path) -> None:
    """As any launcher does it: the variables are set, both processes run the recorder."""
    script(tmp_path, False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = environment(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
    arguments = command(tmp_path, ["train.py"])
    started = [
        subprocess.Popen(arguments, cwd=tmp_path, env={**common, "RANK": r, "LOCAL_RANK": r}, stderr=subprocess.PIPE, text=True)
        for r in ("1", "0")
    ]
    messages = [p.communicate(timeout=300)[1] for p in started]
    check(Run(max(p.returncode for p in started), "", "".join(messages), [], tmp_path, bundles_in(tmp_path)))


def test_a_worker_that_fails_fails_the_launcher(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise ValueError('boom')\n")
    run = record(tmp_path, ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py"])
    assert run.code == 1 and "boom" in run.err and run.bundles == []
    assert run.progress[-1]["phase"] == "failed"
    assert list((tmp_path / ".hotlens" / "profiles").iterdir()) == []


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


@pytest.mark.parametrize("number, name", [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_a_launcher_that_is_told_to_end_keeps_what_was_measured(tmp_path: Path, number: int, name: str) -> None:
    slow = "    steps += 1\n    time.sleep(0.1)\n    open('steps', 'a').write('.' * (rank == 0))\n"
    (tmp_path / "train.py").write_text(SCRIPT.replace("EVALUATES", "False").replace("    steps += 1\n", slow))
    arguments = command(tmp_path, ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py"])
    launcher = subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_interrupts
    )
    steps, until = tmp_path / "steps", time.monotonic() + 60
    while not (steps.exists() and steps.stat().st_size > 10) and time.monotonic() < until:
        time.sleep(0.02)
    launcher.send_signal(number)
    messages = launcher.communicate(timeout=60)[1]
    (bundle,) = bundles_in(tmp_path)
    check_bundle(bundle)
    manifest = bundle.manifest
    assert launcher.returncode == 1 and f"{name} stopped the run after" in messages
    assert manifest["stopped_by"] == name and manifest["exit_code"] == 128 + number
    assert [t["rank"] for t in manifest["traces"]] == [0, 1] and manifest["steps_measured"] >= 1
    assert "rank_missing" not in {w["code"] for w in manifest["warnings"]}
    assert [p.name for p in bundle.path.parent.iterdir()] == [bundle.path.name]


@pytest.mark.skipif(sys.platform != "linux", reason="nothing else tells a process that its parent was killed")
def test_workers_end_with_a_launcher_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os, time\nopen(f'started-{os.getpid()}', 'w').close()\ntime.sleep(600)\n")
    arguments = command(tmp_path, ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py"])
    launcher = subprocess.Popen(arguments, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL, start_new_session=True)
    workers: list[int] = []
    until = time.monotonic() + 60
    while len(workers) < 2 and time.monotonic() < until:
        workers = [int(p.name.partition("-")[2]) for p in tmp_path.glob("started-*")]
        time.sleep(0.05)
    assert len(workers) == 2
    launcher.kill()
    launcher.wait()
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    left = [pid for pid in workers if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"RANK": "0", "WORLD_SIZE": "2"},  # one process on each of two machines
        {"RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"},
        {"RANK": "x", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"},
        {"RANK": "2", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2"},
    ],
)
def test_a_process_alone_has_no_ranks(variables: dict, tmp_path: Path) -> None:
    assert member(str(tmp_path), variables) is None


def test_what_is_delivered_is_collected(tmp_path: Path) -> None:
    places = [
        member(str(tmp_path), {"RANK": str(4 + i), "WORLD_SIZE": "8", "LOCAL_RANK": str(i), "LOCAL_WORLD_SIZE": "3"}) for i in range(3)
    ]
    leader, *followers = [p for p in places if p is not None]
    assert leader.leads and not any(f.leads for f in followers) and followers[0].stops_at() is None
    leader.announce_stop(14)
    assert followers[0].stops_at() == 14
    parts = [Part(5, "trace", [1], [2, 3]), Part(6, failure="no step")]
    for follower, part in zip(followers, parts):
        follower.deliver(part)
    assert leader.collect() == parts
    leader.clear()
    assert json.dumps(os.listdir(tmp_path)) == "[]"


def test_an_announcement_stays_until_everybody_has_read_it(tmp_path: Path) -> None:
    leader, follower = (member(str(tmp_path), {"RANK": r, "WORLD_SIZE": "2", "LOCAL_RANK": r, "LOCAL_WORLD_SIZE": "2"}) for r in "01")
    assert leader is not None and follower is not None
    leader.announce_stop(14)
    clearing = threading.Thread(target=leader.clear)
    clearing.start()
    time.sleep(0.3)
    assert follower.stops_at() == 14
    follower.leave()
    clearing.join()
    assert os.listdir(tmp_path) == []
