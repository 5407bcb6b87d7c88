"""Two models trained in turn, with pictures drawn every eighth update."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 784))
judge = nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))
maker_optimizer = torch.optim.Adam(maker.parameters(), lr=2e-4)
judge_optimizer = torch.optim.Adam(judge.parameters(), lr=2e-4)
criterion = nn.BCEWithLogitsLoss()
real, fake = torch.ones(128, 1), torch.zeros(128, 1)


def draw(step):
    with torch.no_grad():
        return torch.cat([maker(torch.randn(64, 32)) for _ in range(24 + step % 2)])


for step in range(64):
    images = torch.randn(128, 784)
    judge_optimizer.zero_grad()
    with clock("judge"):
        loss = criterion(judge(images), real) + criterion(judge(maker(torch.randn(128, 32)).detach()), fake)
    with clock("judge backward"):
        loss.backward()
    with clock("judge optimizer"):
        judge_optimizer.step()
    maker_optimizer.zero_grad()
    with clock("maker"):
        loss = criterion(judge(maker(torch.randn(128, 32))), real)
    with clock("maker backward"):
        loss.backward()
    with clock("maker optimizer"):
        maker_optimizer.step()
    updated(loss.item())
    if step % 8 == 7:
        with clock("pictures"):
            draw(step)
