"""Denoising with an average of the weights, and pictures sampled through 30 denoising steps every 16th update."""

import copy

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
NOISES = 30


class Denoiser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.time = nn.Embedding(NOISES, width)
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.leave = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        x = self.enter(x) + self.time(t)[:, :, None, None]
        for layer in self.middle:
            x = x + torch.relu(layer(x))
        return self.leave(x)


model = Denoiser()
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
kept = torch.linspace(0.99, 0.2, NOISES)


@torch.no_grad()
def follow(decay):
    for mean, new in zip(average.parameters(), model.parameters(), strict=True):
        mean.lerp_(new, 1 - decay)


@torch.no_grad()
def sample(count):
    average.eval()
    x = torch.randn(count, 1, 16, 16)
    for t in reversed(range(NOISES)):
        noise = average(x, torch.full((count,), t))
        x = (x - (1 - kept[t]) * noise) / kept[t].sqrt() + 0.01 * torch.randn_like(x)
    return x


for step in range(48):
    images = torch.randn(32, 1, 16, 16)
    with clock("noise"):
        t = torch.randint(0, NOISES, (32,))
        noise = torch.randn_like(images)
    noisy = images * kept[t].view(-1, 1, 1, 1) + noise * (1 - kept[t]).view(-1, 1, 1, 1)
    with clock("forward"):
        loss = nn.functional.mse_loss(model(noisy, t), noise)
    with clock("backward"):
        loss.backward()
    with clock("optimizer"):
        optimizer.step()
    optimizer.zero_grad()
    with clock("average"):
        follow(0.995)
    updated(loss.item())
    if step % 16 == 15:
        with clock("sampling"):
            sample(24)
