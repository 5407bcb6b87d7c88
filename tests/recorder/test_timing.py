"""The verb `time`: updates of a script as they are, with another text of its files in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import RECORDER

SCRIPT = """\
import time
import torch
import nap

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    time.sleep(nap.SECONDS)
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("reached the end")
"""


def timed(folder: Path, *words: str) -> tuple[dict[str, Any], str]:
    result = folder / "result.json"
    command = [sys.executable, str(RECORDER), "time", "--result", str(result), *words, "--", "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(result.read_text()), done.stdout


def write(folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPT)
    (folder / "nap.py").write_text("SECONDS = 0.01\n")


def test_updates_are_timed_and_the_script_is_stopped(tmp_path: Path) -> None:
    write(tmp_path)
    found, said = timed(tmp_path, "--warmup", "2", "--steps", "5")
    assert len(found["steps_ns"]) == 5
    assert min(found["steps_ns"]) >= 10_000_000
    assert found["startup_ns"] > 2 * 10_000_000
    assert len(found["losses"]) == 5
    assert "reached the end" not in said
    assert not (tmp_path / ".hotlens").exists()


def test_a_script_that_ends_before_leaves_the_updates_that_it_made(tmp_path: Path) -> None:
    write(tmp_path)
    found, said = timed(tmp_path, "--warmup", "2", "--steps", "500")
    assert len(found["steps_ns"]) == 9
    assert "reached the end" in said


def test_other_texts_are_used_in_memory_and_the_files_stay(tmp_path: Path) -> None:
    write(tmp_path)
    plain, _ = timed(tmp_path, "--warmup", "2", "--steps", "5")
    (tmp_path / "slow.txt").write_text("SECONDS = 0.05\n")
    (tmp_path / "other.txt").write_text(SCRIPT.replace("torch.ones", "2 * torch.ones"))
    words = [f"--with={tmp_path / 'nap.py'}={tmp_path / 'slow.txt'}", f"--with={tmp_path / 'train.py'}={tmp_path / 'other.txt'}"]
    found, _ = timed(tmp_path, "--warmup", "2", "--steps", "5", *words)
    assert min(found["steps_ns"]) >= 50_000_000
    assert float.fromhex(found["losses"][0]) != float.fromhex(plain["losses"][0])
    assert (tmp_path / "train.py").read_text() == SCRIPT
    assert (tmp_path / "nap.py").read_text() == "SECONDS = 0.01\n"


def test_losses_of_a_seeded_script_are_the_same_each_time(tmp_path: Path) -> None:
    write(tmp_path)
    one, _ = timed(tmp_path, "--warmup", "2", "--steps", "3")
    other, _ = timed(tmp_path, "--warmup", "2", "--steps", "3")
    assert one["losses"] == other["losses"]
