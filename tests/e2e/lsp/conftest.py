"""Fixtures: a profiled copy of an example, and servers that are gone after the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from lsp_client import SERVER, Client
from warm import interpreter

ROOT = Path(__file__).resolve().parents[3]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the residual network example and one profile of it. Shared: copy it before changing anything."""
    folder = tmp_path_factory.mktemp("recorded") / "resnet digits é"
    shutil.copytree(ROOT / "examples" / "resnet_digits", folder, ignore=shutil.ignore_patterns(".hotlens", "__pycache__"))
    command = [SERVER, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py", "--epochs", "1"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def example(recorded: Path, tmp_path: Path) -> Path:
    """A copy of its own, profile included."""
    folder = tmp_path / "work"
    shutil.copytree(recorded, folder)
    name_it(folder, recorded)
    return folder


def name_it(folder: Path, original: Path) -> None:
    """In the paths of its profiles, which name the original."""
    for file in folder.glob(".hotlens/profiles/*/m*.json"):
        text = file.read_text()
        for old, new in ((str(original), str(folder)), (json.dumps(str(original))[1:-1], json.dumps(str(folder))[1:-1])):
            text = text.replace(old, new)
        file.write_text(text)


def move_outside(file: Path, elsewhere: Path) -> None:
    """The workspace keeps a link to it."""
    elsewhere.mkdir()
    shutil.move(file, elsewhere / file.name)
    file.symlink_to(elsewhere / file.name)


@pytest.fixture
def unprofiled(tmp_path: Path) -> Path:
    folder = tmp_path / "fresh"
    shutil.copytree(ROOT / "examples" / "resnet_digits", folder, ignore=shutil.ignore_patterns(".hotlens", "__pycache__"))
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def new(**options: object) -> Client:
        clients.append(Client(**{"cwd": tmp_path, **options}))  # type: ignore[arg-type]
        return clients[-1]

    yield new
    for client in clients:
        client.kill()
