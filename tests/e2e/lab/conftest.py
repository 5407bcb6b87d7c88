"""Recorded steps, the worker that replays them, and the program that asks it. build/cache keeps workers: compiling takes half a minute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripts import SCRIPTS
from warm import interpreter
from worker import Worker

ROOT = Path(__file__).resolve().parents[3]
HOTLENS = os.environ.get("HOTLENS_BIN", str(ROOT / "build/release/bin/hotlens"))
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
CACHE = ROOT / "build" / "cache"

Done = subprocess.CompletedProcess[str]
Record = Callable[[Path, str, int], None]
Predict = Callable[..., Done]


def record(folder: Path, name: str, batch: int, *options: str) -> None:
    """One more profile of the script in the folder."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(SCRIPTS[name])
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", *options, f"{name}.py", str(batch)]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def ask(folder: Path, *arguments: str, **environment: str) -> Done:
    """`hotlens predict ARGUMENTS…` there."""
    command = [HOTLENS, "predict", "--python", PYTHON, *arguments]
    settings = {**os.environ, "XDG_CACHE_HOME": str(CACHE), **environment}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=settings)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders `vision` and `text` with profiles at 6 and 8, and `NAME-24` with what is to be predicted. Copy before changing anything."""
    place = tmp_path_factory.mktemp("recorded")
    for name in ("vision", "text"):
        for batch in (6, 8):
            record(place / name, name, batch)
        record(place / f"{name}-24", name, 24)
    return place


@pytest.fixture
def copied(shared: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        return Path(shutil.copytree(shared / name, tmp_path / name))

    return copy


@pytest.fixture(scope="session")
def worker_program(shared: Path) -> Path:
    """The compiled worker, which the first prediction leaves behind."""
    done = ask(shared / "vision", "--batch-size", "8")
    assert done.returncode == 0, done.stderr
    return max(CACHE.glob("hotlens/lab/*/hotlens-lab"), key=lambda path: path.stat().st_atime)


@pytest.fixture
def worker(worker_program: Path) -> Iterator[Worker]:
    with Worker(worker_program) as running:
        yield running
