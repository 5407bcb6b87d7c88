"""Edits of a script that change no step are none, whatever layers are edited beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import edit, predicted, record

TEXT = """
import argparse
import time
import torch
from torch import nn
from torch.nn import functional as F
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()
EVERY = 10
class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body, self.last, self.side = nn.Linear(16, width), nn.Linear(width, 4), nn.Linear(width, 1)
    def forward(self, x):
        x = F.relu(self.body(x))
        return self.last(x), self.side(x).mean()
def train(model, optimizer, criterion, rounds=15):
    losses = []
    for number in range(rounds):
        x, y = torch.randn(8, 16), torch.randint(4, (8,))
        for again in range(2):
            out, side = model(x)
            loss = (criterion(out, y) + 0.1 * side) / 2
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if number % EVERY == 0:
            print(number, loss.item())
    return losses
def main():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(args.epochs):
        train(model, optimizer, criterion)
        scheduler.step()
    print("done")
main()
"""
QUIET = {  # what stands there, and what stands there then
    "epochs": ("default=2", "default=7"),
    "rounds": ("rounds=15", "rounds=20"),
    "how often it prints": ("EVERY = 10", "EVERY = 5"),
    "what it prints": ("print(number, loss.item())", 'print(f"{number}: {loss.item():.3f}", time.time())'),
    "no print": ("        if number % EVERY == 0:\n            print(number, loss.item())\n", ""),
    "clipping": ("parameters(), 1.0)", "parameters(), 0.5)"),
    "a term of the loss": ("0.1 * side", "0.3 * side"),
    "smoothing": ("label_smoothing=0.1", "label_smoothing=0.2"),
    "numbers that are kept": ("optimizer.step()\n", "optimizer.step()\n        losses.append(loss.item())\n"),
    "no schedule": ("        scheduler.step()\n", ""),
    "another schedule": ("StepLR(optimizer, 10)", "CosineAnnealingLR(optimizer, T_max=5)"),
    "gradients that are let go": ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=True)"),
    "a number that is kept up": (
        "    for number in range(rounds):\n",
        "    mean = 0.0\n    for number in range(rounds):\n        mean = 0.9 * mean + 0.1\n",
    ),
    "the time": ("losses = []\n", "losses = []\n    start = time.time()\n"),
    "a mode that it has": ("    criterion = nn", "    model.train()\n    criterion = nn"),
    "how many weights": (
        "    criterion = nn",
        "    weights = sum(p.numel() for p in model.parameters())\n    print(weights)\n    criterion = nn",
    ),
    "what comes after the last step": (
        'print("done")',
        "model.eval()\n    with torch.no_grad():\n        print(model(torch.randn(2, 16))[0])\n    torch.save(model, 'net.pt')",
    ),
}
LAYER = ("nn.Linear(width, 4)", "nn.Linear(width, 4, bias=False)")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quiet")
    record(folder, TEXT)
    return folder


@pytest.mark.parametrize("name", QUIET)
def test_what_changes_no_step_is_no_edit(recorded: Path, name: str) -> None:
    edit(recorded, TEXT, *QUIET[name])
    answer = predicted(recorded)
    assert not answer["edits"] and not answer["refused"] and not answer["misfits"]


def test_layers_are_predicted_beside_all_of_them(recorded: Path) -> None:
    edit(recorded, TEXT, *LAYER)
    alone = {one["peak_bytes"] for one in predicted(recorded)["edits"]}
    text = TEXT
    for name, (was, now) in QUIET.items():
        if name not in ("what it prints", "how many weights", "a mode that it has"):  # these stand where others do, or ask for no `eval()`
            text = text.replace(was, now, 1)
    edit(recorded, TEXT, TEXT, text.replace(*LAYER))
    answer = predicted(recorded)
    assert not answer["refused"] and {one["peak_bytes"] for one in answer["edits"]} == alone and len(alone) == 1


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("range(2)", "range(3)", "for again in range(3):"),  # gradients are accumulated
        ("optimizer.step()\n", "optimizer.step()\n        losses.append(loss)\n", "losses.append(loss)"),
        ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)", "set_to_none=False"),
        ("        scheduler.step()\n", "        scheduler.step()\n        torch.save(model, 'net.pt')\n", "torch.save(model, 'net.pt')"),
        ("print(number, loss.item())", "print(number, loss.item(), model(x)[0].sum().item())", "if number % EVERY == 0:"),
    ],
)
def test_what_may_change_a_step_is_refused(recorded: Path, was: str, now: str, told: str) -> None:
    edit(recorded, TEXT, was, now)
    (refused,) = predicted(recorded)["refused"]
    assert told in refused["reason"]
