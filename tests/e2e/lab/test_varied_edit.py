"""A number edited in a script, with whose other values the profile knows the step (`--vary`): told as the edited script is."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import HOTLENS
from training import edit, predicted, record, recorded_peak
from warm import interpreter

TEXT = """
import torch
from torch import nn
from torch.nn import functional as F

BLOCK = 32  # tokens of a sample
data = torch.randint(50, (4000,))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)
        self.register_buffer("mask", torch.tril(torch.ones(BLOCK, BLOCK)).view(1, 1, BLOCK, BLOCK))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (a.view(b, t, 4, c // 4).transpose(1, 2) for a in self.qkv(self.norm(x)).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)).masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
        return x + self.out((scores @ v).transpose(1, 2).reshape(b, t, c))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(50, 48), nn.Embedding(BLOCK, 48)
        self.blocks = nn.ModuleList(Block(48) for _ in range(2))
        self.head = nn.Linear(48, 50)

    def forward(self, x):
        x = self.token(x) + self.place(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def get_batch():
    rows = torch.randint(len(data) - BLOCK, (8,))
    return torch.stack([data[i : i + BLOCK] for i in rows]), torch.stack([data[i + 1 : i + 1 + BLOCK] for i in rows])


model = Language()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(24):
    x, y = get_batch()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PICTURES = """
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--image-size", type=int, default=32)
size = parser.parse_args().image_size
model = nn.Sequential(
    *(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()),
    *(nn.Flatten(), nn.Linear(16 * (size // 4) ** 2, 10)),
)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for x, y in DataLoader(TensorDataset(torch.randn(200, 3, size, size), torch.randint(10, (200,))), batch_size=8):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""

GRAPH = """
import torch
from torch import nn

nodes = 96
edges = torch.randint(nodes, (2, 4000))
edges[0, 0] = nodes - 1
first, last = nn.Linear(12, 24), nn.Linear(24, 5)
optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()])
x, y = torch.randn(nodes, 12), torch.randint(5, (nodes,))
for step in range(24):
    sent = first(x)
    loss = nn.functional.cross_entropy(last(torch.zeros_like(sent).index_add_(0, edges[1], sent[edges[0]]).relu()), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TIME = """
import torch
from torch import nn

torch.manual_seed(0)
length = 35
data = torch.randint(200, (3000, 10))
cells, table, last = nn.LSTM(24, 32), nn.Embedding(200, 24), nn.Linear(32, 200)
optimizer = torch.optim.SGD([*cells.parameters(), *table.parameters(), *last.parameters()], 0.1)
for i in range(0, len(data) - length, length):
    x, y = data[i : i + length], data[i + 1 : i + 1 + length].reshape(-1)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(last(cells(table(x))[0]).flatten(0, 1), y)
    loss.backward()
    optimizer.step()
"""


def varied(folder: Path, text: str, *options: str) -> Path:
    folder.mkdir()
    (folder / "train.py").write_text(text)
    command = [HOTLENS, "run", "--python", interpreter(), "--warmup", "1", "--steps", "2", *options, "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return folder


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return varied(tmp_path_factory.mktemp("varied") / "language", TEXT, "--vary", "BLOCK")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return varied(tmp_path_factory.mktemp("varied") / "pictures", PICTURES, "--vary", "image_size")


def told(folder: Path) -> dict[str, Any]:
    document = predicted(folder)
    assert not document["refused"], document["refused"]
    (one,) = document["edits"]
    return one


@pytest.mark.parametrize("length", [7, 33, 48, 64])
def test_the_length_of_a_sequence_is_told_as_the_edited_script_is(language: Path, tmp_path: Path, length: int) -> None:
    """A mask has as many elements as a sequence has pairs of tokens."""
    text = edit(language, TEXT, "BLOCK = 32", f"BLOCK = {length}")
    one = told(language)
    assert one["what"] == f"BLOCK 32 → {length}"
    assert text.splitlines()[one["line"]].startswith("BLOCK")
    assert one["low_ns"] <= one["step_ns"] <= one["high_ns"]
    record(tmp_path / "truth", text)
    assert one["peak_bytes"] == recorded_peak(tmp_path / "truth")


@pytest.mark.parametrize("size", [20, 48])
def test_the_size_of_pictures_is_told_as_the_edited_script_is(pictures: Path, tmp_path: Path, size: int) -> None:
    """Also where a layer has as many weights as a picture has pixels, and where it is an argument's default."""
    text = edit(pictures, PICTURES, "default=32", f"default={size}")
    one = told(pictures)
    assert one["what"] == f"image_size 32 → {size}"
    record(tmp_path / "truth", text)
    assert one["peak_bytes"] == recorded_peak(tmp_path / "truth")


@pytest.mark.parametrize(
    ("text", "name", "was", "now"),
    [(GRAPH, "nodes", 96, 40), (GRAPH, "nodes", 96, 300), (TIME, "length", 35, 20), (TIME, "length", 35, 60)],
)
def test_what_a_batch_holds_and_where_it_begins_do_not_matter(tmp_path: Path, text: str, name: str, was: int, now: int) -> None:
    """Indices of nodes, which an edge has as many of as before; a batch that is a part of all data, which stays as large."""
    folder = varied(tmp_path / "recorded", text, "--vary", name)
    edited = edit(folder, text, f"{name} = {was}", f"{name} = {now}")
    one = told(folder)
    assert one["what"] == f"{name} {was} → {now}"
    record(tmp_path / "truth", edited)
    assert one["peak_bytes"] == recorded_peak(tmp_path / "truth")


def test_beside_other_edits_it_is_refused_as_without_other_values(language: Path) -> None:
    edit(language, TEXT, TEXT, TEXT.replace("BLOCK = 32", "BLOCK = 48").replace("range(2)", "range(3)"))
    (refused,) = predicted(language)["refused"]
    assert "get_batch uses BLOCK, which was edited" in refused["reason"]


def test_what_changes_no_step_may_stand_beside(language: Path) -> None:
    edit(language, TEXT, TEXT, TEXT.replace("BLOCK = 32", "BLOCK = 48").replace("range(24)", "range(48)"))
    assert told(language)["what"] == "BLOCK 32 → 48"


def test_a_size_that_the_strides_do_not_divide_does_not_fit(pictures: Path) -> None:
    edit(pictures, PICTURES, "default=32", "default=34")
    (refused,) = predicted(pictures)["refused"]
    assert "mat1 and mat2 shapes cannot be multiplied" in refused["reason"] and refused["operator"] == "aten::linear"


NOISY = """
import torch
from torch import nn

SIZE = 16
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(24):
    x = torch.randn(4, 3, SIZE, SIZE)
    noise = torch.randn_like(x)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x + noise), noise).backward()
    optimizer.step()
"""
DATASET = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE = 16


class Pictures(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, i):
        return torch.randn(3, SIZE, SIZE), i % 10


class Placed(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.zeros(1, (SIZE // 4) ** 2, 24))
        self.patch, self.head = nn.Conv2d(3, 24, 4, 4), nn.Linear(24, 10)

    def forward(self, x):
        return self.head((self.patch(x).flatten(2).transpose(1, 2) + self.places).mean(1))


model = Placed()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for x, y in DataLoader(Pictures(), batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("text", "name", "was", "why"),
    [(TEXT, "BLOCK", 32, "get_batch uses BLOCK"), (NOISY, "SIZE", 16, "no part of the recorded step"), (DATASET, "SIZE", 16, "no part of")],
)
def test_a_number_that_nobody_varied_says_how(tmp_path: Path, text: str, name: str, was: int, why: str) -> None:
    """Also where it makes a batch, in the loop or in a dataset: neither nothing, nor a misfit of what follows."""
    record(tmp_path / "once", text)
    edited = edit(tmp_path / "once", text, f"{name} = {was}", f"{name} = {was + 16}")
    document = predicted(tmp_path / "once")
    (refused,) = document["refused"]
    assert document["misfits"] == [] and why in refused["reason"] and edited.splitlines()[refused["line"]].startswith(name)
    assert refused["reason"].endswith(f"its other values can be recorded: hotlens run --vary {name} train.py")
    assert refused["number"] == name
