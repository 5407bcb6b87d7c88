"""Number types that a script casts its model and batches to, and the default type: peaks as of the edited script when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ask
from training import edit, predicted, record, told_as_run

# Batches of a loader, whose loss takes real targets; noise that forward makes; a result that the loop holds over to the next step.
TEXT = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
DTYPE = torch.float32
class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(20, width), nn.BatchNorm1d(width), nn.Linear(width, 3)
    def forward(self, x):
        noise = torch.randn(x.shape[0], 1)
        return self.last(F.gelu(self.norm(self.first(x)))) + noise
def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = F.mse_loss(out, y)
        loss.backward()
        optimizer.step()
def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64 * 24, 20), torch.randn(64 * 24, 3))
    model = Net().to(DTYPE)
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, DataLoader(data, batch_size=64), optimizer)
main()
"""
IN_LOOP = "optimizer.zero_grad()\n        out"
EDITS = {  # texts that stand there, what stands there then, and how it is told
    "model and batch": (
        ["to(DTYPE)", IN_LOOP],
        ["bfloat16()", "x, y = x.bfloat16(), y.bfloat16()\n        " + IN_LOOP],
        "dtype float32 → bfloat16",
    ),
    "in the call": (["to(DTYPE)", "model(x)"], ["to(dtype=torch.float64)", "model(x.double())"], "dtype float32 → float64"),
    "results": (
        ["to(DTYPE)", IN_LOOP, "(out, y)"],
        ["half()", "x = x.to(torch.float16)\n        " + IN_LOOP, "(out.float(), y)"],
        "dtype float32 → float16",
    ),
    "results that are held": (["out = model(x)"], ["out = model(x).double()"], "dtype of `out` → float64"),
    "the default": (
        ["    torch.manual_seed(0)", ".to(DTYPE)"],
        ["    torch.set_default_dtype(torch.float64)\n    torch.manual_seed(0)", ""],
        "dtype float32 → float64",
    ),
    "a layer too": (
        ["DTYPE = torch.float32", "width=48", IN_LOOP],
        ["DTYPE = torch.double", "width=64", "x = x.to(DTYPE)\n        " + IN_LOOP],
        "",
    ),
}


def edited(was: list[str], now: list[str]) -> str:
    text = TEXT
    for one, other in zip(was, now, strict=True):
        assert one in text
        text = text.replace(one, other, 1)
    return text


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("casts")
    record(folder, TEXT)
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_another_number_type(recorded: Path, tmp_path: Path, name: str) -> None:
    was, now, told = EDITS[name]
    said = told_as_run(recorded, edit(recorded, TEXT, TEXT, edited(was, now)), tmp_path)
    assert said == [told] if told else "dtype float32 → float64" in said and len(said) > 1


def test_a_cast_that_changes_no_type_is_no_edit(recorded: Path) -> None:
    edit(recorded, TEXT, ".to(DTYPE)", "")
    answer = predicted(recorded)
    assert not answer["edits"] and not answer["refused"] and not answer["misfits"]


@pytest.mark.parametrize(
    ("was", "now", "misfit", "reason"),
    [
        ("to(DTYPE)", "bfloat16()", True, "must have the same dtype, but got Float and BFloat16"),
        (
            "    train(",
            "    torch.set_default_dtype(torch.float64)\n    train(",
            False,
            "whether the batch has the default type cannot be told",
        ),
        ("out = model(x)", "out = model(x)\n        x = x.double()", False, "something else than layers was edited: x = x.double()"),
    ],
)
def test_what_does_not_fit_or_cannot_be_told(recorded: Path, was: str, now: str, misfit: bool, reason: str) -> None:
    edit(recorded, TEXT, was, now)
    answer = predicted(recorded)
    (why,) = answer["misfits"] if misfit else answer["refused"]
    assert reason in why["reason"]


def test_people_read_an_edit_that_is_of_no_layer(recorded: Path) -> None:
    edit(recorded, TEXT, "out = model(x)", "out = model(x).double()")
    done = ask(recorded, "--edited")
    assert done.returncode == 0 and done.stdout.startswith("dtype of `out` → float64  train.py:17\n"), done.stdout + done.stderr


def test_the_type_of_a_batch_without_its_cast_is_not_guessed(tmp_path: Path) -> None:
    text = TEXT.replace("model(x)", "model(x.float())")
    record(tmp_path, text)
    edit(tmp_path, text, "x.float()", "x")
    (refused,) = predicted(tmp_path)["refused"]
    assert refused["reason"] == "what type `x` has without this cast is not known"
