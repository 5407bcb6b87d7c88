"""Training scripts of one loop: recorded, edited, predicted."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

from conftest import HOTLENS, ask
from warm import interpreter

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
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def record_all(place: Path, scripts: dict[str, str]) -> Path:
    """Each in a folder of its name below `place`, which is returned."""
    for name, text in scripts.items():
        record(place / name, text)
    return place


def edit(folder: Path, text: str, old: str, new: str) -> str:
    """The text of the folder's script with `old` replaced, also written there."""
    assert old in text
    (folder / "train.py").write_text(text.replace(old, new))
    return text.replace(old, new)


def recorded_peak(folder: Path) -> int:
    """Bytes, of the only profile there."""
    (program,) = folder.glob(".hotlens/profiles/*/program.json.gz")
    return int(json.loads(gzip.decompress(program.read_bytes()))["allocator"]["peak_bytes"])


def predicted(folder: Path, *files: str) -> dict[str, Any]:
    done = ask(folder, "--edited", *files, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def told_as_run(folder: Path, text: str, truth: Path, *files: str) -> list[str]:
    """The folder's script, or these files, were edited: what is told of that, with the peak of `text` really run in `truth`."""
    document = predicted(folder, *files)
    assert not document["refused"] + document["misfits"]
    record(truth, text)
    assert {edit["peak_bytes"] for edit in document["edits"]} == {recorded_peak(truth)}
    return [edit["what"] for edit in document["edits"]]
