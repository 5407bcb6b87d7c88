"""Profiles that were recorded elsewhere come into the workspace, whole or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

HOTLENS = os.environ["HOTLENS_BIN"]
TRAINS = """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    loss = model(torch.randn(4, 8)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
# What ssh and scp do, without a machine at the other end: the command runs in a shell, in the home of that account.
SSH = """#!/bin/sh
[ "$1" = -- ] && [ "$2" = cluster ] || { echo "ssh: Could not resolve hostname $2" >&2; exit 255; }
cd "$ACCOUNT" && exec sh -c "$3"
"""
SCP = """#!/bin/sh
[ "$1" = -rq ] && [ "$2" = -- ] || exit 1
exec cp -r "$ACCOUNT/${3#cluster:}" "$4"
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(TRAINS)
    subprocess.run([HOTLENS, "run", "--python", sys.executable, "train.py"], cwd=folder, capture_output=True, check=True, timeout=120)
    (bundle,) = (folder / ".hotlens/profiles").iterdir()
    return bundle


@pytest.fixture
def account(tmp_path: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home on the other machine; its workspace "my project" has two profiles."""
    tools, home = tmp_path / "tools", tmp_path / "home"
    tools.mkdir()
    for name, text in {"ssh": SSH, "scp": SCP}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(stat.S_IRWXU)
    store = home / "my project" / ".hotlens" / "profiles"
    store.mkdir(parents=True)
    shutil.copytree(recorded, store / "20260101T000000Z-aaaaaa")
    shutil.copytree(recorded, store / "20260102T000000Z-bbbbbb")
    (store / "20260103T000000Z-cccccc.partial").mkdir()
    (store / "; touch evil").mkdir()
    monkeypatch.setenv("ACCOUNT", str(home))
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    return home


def pull(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return subprocess.run([HOTLENS, "pull", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / ".hotlens" / "profiles").iterdir())


@pytest.mark.parametrize("remote", [True, False])
def test_the_newest_comes_once_and_all_where_they_are_wanted(account: Path, tmp_path: Path, remote: bool) -> None:
    here = tmp_path / "here"
    source = "cluster:~/my project" if remote else str(account / "my project")
    first = pull(here, source)
    assert first.returncode == 0 and first.stdout.startswith("20260102T000000Z-bbbbbb  ") and "/step" in first.stdout, first
    assert names(here) == ["20260102T000000Z-bbbbbb"]
    again = pull(here, source)
    assert again.returncode == 0 and again.stdout == "" and "nothing new" in again.stderr
    assert pull(here, source, "--all").returncode == 0
    assert names(here) == ["20260101T000000Z-aaaaaa", "20260102T000000Z-bbbbbb"]
    assert not list(account.rglob("evil*")) or not (here / "evil").exists()
    assert sorted(path.name for path in (here / ".hotlens").iterdir()) == [".gitignore", "profiles"]
    report = subprocess.run([HOTLENS, "report", "20260101T000000Z-aaaaaa"], cwd=here, capture_output=True, text=True, timeout=60)
    assert report.returncode == 0 and "forward" in report.stdout


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nowhere:project", "Could not resolve hostname nowhere"),
        ("cluster:no/such", "No such file"),
        ("/no/such", "there is no such folder"),
    ],
)
def test_what_cannot_be_read_is_said_and_leaves_nothing(account: Path, tmp_path: Path, source: str, sentence: str) -> None:
    done = pull(tmp_path / "here", source)
    assert done.returncode == 3 and sentence in done.stderr and "cannot be read" in done.stderr
    assert not (tmp_path / "here" / ".hotlens").exists()


def test_half_a_bundle_does_not_come(account: Path, tmp_path: Path) -> None:
    newest = account / "my project/.hotlens/profiles/20260102T000000Z-bbbbbb"
    (newest / "manifest.json").write_text('{"schema": "hotlens.bundle/1"')
    done = pull(tmp_path / "here", "cluster:my project")
    assert done.returncode == 3 and "manifest.json" in done.stderr
    assert [path.name for path in (tmp_path / "here/.hotlens").iterdir()] == [".gitignore"]


def test_who_watches_gets_what_is_recorded_later(account: Path, tmp_path: Path, recorded: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    command = [HOTLENS, "pull", "cluster:my project", "--watch", "--every", "0.2"]
    heeds = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # a job in the background ignores it
    with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True, **heeds) as watching:
        assert watching.stdout is not None
        limit = threading.Timer(30, watching.kill)
        limit.start()
        assert watching.stdout.readline().startswith("20260102T000000Z-bbbbbb")
        late = account / "my project/.hotlens/profiles/20260104T000000Z-dddddd"
        shutil.copytree(recorded, late.with_suffix(".partial"))
        time.sleep(0.5)
        late.with_suffix(".partial").rename(late)
        assert watching.stdout.readline().startswith("20260104T000000Z-dddddd")
        watching.send_signal(signal.SIGINT)
        watching.wait(10)
        limit.cancel()
    assert names(here) == ["20260102T000000Z-bbbbbb", "20260104T000000Z-dddddd"]
