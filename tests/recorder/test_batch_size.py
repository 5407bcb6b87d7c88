"""The batch size that the manifest knows: of the loader, or of the number that is called so where the models get that many samples."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import record_text

HEAD = """
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
critic = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*net.parameters(), *critic.parameters()], lr=0.1)


def update(*losses):
    for loss in losses:
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
NUMBER = """
batch_size = 12
for i in range(60):
    update(net(torch.randn(batch_size, 8)).square().mean())
"""
ACCUMULATED = """
batch_size = 12
for i in range(60):
    update(*(net(torch.randn(batch_size, 8)).square().mean() for _ in range(4)))
"""
TWO_MODELS = """
batch_size = 12
for i in range(60):
    x = torch.randn(batch_size, 8)
    update(net(x).square().mean(), critic(x).mean() - critic(torch.randn(batch_size, 8)).mean())
"""
ACTS = """
batch_size = 12
for i in range(60):
    action = net(torch.randn(1, 8)).argmax().item()
    update(net(torch.randn(batch_size, 8)).square().mean())
"""
LISTS = """
class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(8, 4), nn.Linear(4, 1)
    def forward(self, rows):
        return self.head(self.layer(torch.tensor(rows)))

judge = Judge()
batch_size = 12
for i in range(60):
    judge.forward(torch.randn(1, 8).tolist()).item()
    update(*(judge.forward(torch.randn(batch_size, 8).tolist()).mean() for _ in range(2)))
"""
ANOTHER_NUMBER = """
batch_size = 12
for i in range(60):
    update(net(torch.randn(20, 8)).square().mean())
"""
TWO_NUMBERS = """
batch_size, val_batch_size = 12, 20
batch_size = 12
train_batch_size = 20
for i in range(60):
    update(net(torch.randn(batch_size, 8)).square().mean())
"""
ARGUMENT = """
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=12)
batch_size = parser.parse_args().batch_size
for i in range(60):
    update(net(torch.randn(batch_size, 8)).square().mean())
"""
LOADER = """
loader = DataLoader(TensorDataset(torch.randn(4000, 8)), batch_size=12)
for i, (x,) in enumerate(loader):
    net(x).square().mean().backward()
    if i % 4 == 3:
        update()
"""


@pytest.mark.parametrize(
    ("script", "arguments", "known"),
    [
        (NUMBER, [], (12, 12)),
        (ACCUMULATED, [], (12, 48)),
        (TWO_MODELS, [], (12, 12)),
        (ACTS, [], (12, 12)),
        (LISTS, [], (12, 24)),
        (ANOTHER_NUMBER, [], (None, None)),
        (TWO_NUMBERS, [], (None, None)),
        (ARGUMENT, [], (12, 12)),
        (ARGUMENT, ["--batch-size", "6"], (6, 6)),
        (LOADER, [], (12, 48)),
    ],
)
def test_the_batch_size(tmp_path: Path, script: str, arguments: list[str], known: tuple[int | None, int | None]) -> None:
    manifest = record_text(tmp_path, HEAD + script, arguments=arguments).bundle.manifest
    assert (manifest["batch_size"], manifest["samples_per_step"]) == known
