"""Training scripts of one loop: recorded, edited, predicted."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

from conftest import HOTLENS, PYTHON, ask

LOOP = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

{model}
for x, y in DataLoader(TensorDataset(*tensors(160)), batch_size=8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


def record(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "train.py").write_text(text)
    command = [HOTLENS, "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def recorded_peak(folder: Path) -> int:
    """Bytes, of the only profile there."""
    (program,) = folder.glob(".hotlens/profiles/*/program.json.gz")
    return int(json.loads(gzip.decompress(program.read_bytes()))["allocator"]["peak_bytes"])


def predicted(folder: Path, *files: str) -> dict[str, Any]:
    done = ask(folder, "--edited", *files, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document
