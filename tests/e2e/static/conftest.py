"""Bare traces of real models with the truth about their lines, recorded once."""

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

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)
SERVER = os.environ["HOTLENS_BIN"]
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "lsp"))

Recorded = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
    """Gives the folder (models.py, trace.json) and the truth of a model, by its factory's name."""
    known: dict[str, Recorded] = {}

    def recorded(name: str) -> Recorded:
        if name not in known:
            folder = tmp_path_factory.mktemp("recorded") / name
            folder.mkdir()
            shutil.copy(HERE / "models.py", folder)
            environment = {**os.environ, "PYTHONPATH": str(folder), "HF_HUB_OFFLINE": "1"}
            command = [PYTHON, str(HERE / "record.py"), "models", str(folder.parent), name]
            subprocess.run(command, cwd=folder, env=environment, check=True)
            known[name] = folder, json.loads((folder / "truth.json").read_text())
        return known[name]

    return recorded


def check(trace: Path, files: list[Path]) -> dict[str, Any]:
    command = [SERVER, "check", *map(str, files), "--profile", str(trace), "--python", PYTHON, "--format", "json"]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result
