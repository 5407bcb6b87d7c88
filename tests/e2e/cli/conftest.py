"""The program under test, as a shell would call it, and small traces to give it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shell import Run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "golden"))


VIEWERS = Path(__file__).parent / "viewers"


@pytest.fixture
def hotlens(tmp_path: Path) -> Run:
    """Runs `hotlens ARGUMENTS…` in an empty folder."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [os.environ["HOTLENS_BIN"], *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, dict[str, Any]], Path]:
    """Writes a trace into the test's folder."""

    def to(name: str, trace: dict[str, Any]) -> Path:
        file = tmp_path / name
        file.write_text(json.dumps(trace))
        return file

    return to


@pytest.fixture(scope="session")
def viewers() -> Path:
    """The folder of the browser's side, with its packages installed."""
    if not shutil.which("npm") or not (shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("no npm or no browser")
    if not (VIEWERS / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=VIEWERS, check=True)
    return VIEWERS
