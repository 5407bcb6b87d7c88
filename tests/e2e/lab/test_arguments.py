"""Arguments of losses and of attention that one operator takes as they are: peaks as of the edited script when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import edit, predicted, record, told_as_run

TEXT = """
import torch
from torch import nn
from torch.nn import functional as F
class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.both, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
    def forward(self, x):
        q, k, v = (one.unflatten(-1, (4, 8)).transpose(1, 2) for one in self.both(x).chunk(3, -1))
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(x.transpose(1, 2).flatten(2))
model = nn.Sequential(nn.Embedding(50, 32), Block(), Block(), nn.Linear(32, 50))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    x = torch.randint(50, (4, 20))
    loss = criterion(model(x).flatten(0, 1), x.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CRITERION, ATTENTION = "nn.CrossEntropyLoss()", "is_causal=True)"
EDITS = {  # what stands there, what stands there then, and how it is told
    "smoothing": (CRITERION, "nn.CrossEntropyLoss(label_smoothing=0.1)", ["CrossEntropyLoss(label_smoothing=0.0 → 0.1)"]),
    "a sum": (CRITERION, "nn.CrossEntropyLoss(\n    reduction='sum',\n)", ["CrossEntropyLoss(reduction='mean' → 'sum')"]),
    "dropout": (ATTENTION, "is_causal=True, dropout_p=0.2)", ["scaled_dot_product_attention(dropout_p=0.0 → 0.2)"]),
    "no mask": (", " + ATTENTION, ")", ["scaled_dot_product_attention(is_causal=True → False)"]),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arguments")
    record(folder, TEXT)
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_another_argument(recorded: Path, tmp_path: Path, name: str) -> None:
    was, now, told = EDITS[name]
    assert told_as_run(recorded, edit(recorded, TEXT, was, now), tmp_path) == told


def test_beside_edited_layers(recorded: Path, tmp_path: Path) -> None:
    text = TEXT.replace(CRITERION, "nn.CrossEntropyLoss(label_smoothing=0.1)").replace(ATTENTION, "dropout_p=0.2 if self.training else 0)")
    text = edit(recorded, TEXT, TEXT, text.replace("Block(), Block()", "Block(), nn.ReLU(), Block()"))
    assert len(told_as_run(recorded, text, tmp_path)) == 4


def test_what_no_operator_needs_to_know_is_no_edit(recorded: Path) -> None:
    edit(recorded, TEXT, CRITERION, "nn.CrossEntropyLoss(ignore_index=0)")
    answer = predicted(recorded)
    assert not answer["edits"] and not answer["refused"] and not answer["misfits"]


@pytest.mark.parametrize(
    ("was", "now", "why"),
    [
        (CRITERION, "nn.CrossEntropyLoss(reduction='none')", "something else than layers of the model was edited: CrossEntropyLoss"),
        (ATTENTION, "dropout_p=float('0.1'))", "what was there takes more than one tensor"),
    ],
)
def test_what_is_not_followed_is_refused(recorded: Path, was: str, now: str, why: str) -> None:
    edit(recorded, TEXT, was, now)
    (refused,) = predicted(recorded)["refused"]
    assert why in refused["reason"]
