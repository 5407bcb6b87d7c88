"""Models that make pictures: their scripts, as templates of tests."""

from __future__ import annotations

HEADER = """
import torch
from torch import nn
from torch.nn import functional as F
"""

# Two models with an optimizer each; the step makes its own noise.
GAN = (
    HEADER
    + """
noise, made, judged = 24, 8, 10
class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.ConvTranspose2d(noise, 2 * made, 4, bias=False), nn.BatchNorm2d(2 * made), nn.ReLU(),
            nn.ConvTranspose2d(2 * made, 3, 4, 2, 1), nn.Tanh())
    def forward(self, z):
        return self.net(z)
class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, judged, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(judged, 1, 4))
    def forward(self, x):
        return self.net(x).flatten()
maker, judge = Maker(), Judge()
making, judging = (torch.optim.Adam(m.parameters(), 2e-4) for m in (maker, judge))
for _ in range(20):
    real = torch.randn(8, 3, 8, 8)
    judge.zero_grad()
    F.softplus(-judge(real)).mean().backward()
    fake = maker(torch.randn(8, noise, 1, 1))
    F.softplus(judge(fake.detach())).mean().backward()
    judging.step()
    maker.zero_grad()
    F.softplus(-judge(fake)).mean().backward()
    making.step()
"""
)

AUTOENCODER = (
    HEADER
    + """
class Coder(nn.Module):
    def __init__(self, code=16, widths=None):
        super().__init__()
        if widths is None:
            widths = [8, 16]
        layers, inputs = [], 1
        for width in widths:
            layers.append(nn.Sequential(nn.Conv2d(inputs, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU()))
            inputs = width
        self.down = nn.Sequential(*layers)
        self.mean, self.spread = nn.Linear(widths[-1] * 16, code), nn.Linear(widths[-1] * 16, code)
        self.up, self.top = nn.Linear(code, widths[-1] * 16), widths[-1]
        widths.reverse()
        layers = []
        for at in range(len(widths) - 1):
            layers.append(nn.Sequential(nn.ConvTranspose2d(widths[at], widths[at + 1], 2, 2), nn.ReLU()))
        self.back = nn.Sequential(*layers, nn.ConvTranspose2d(widths[-1], 1, 2, 2))
    def forward(self, x):
        x = self.down(x).flatten(1)
        mean, spread = self.mean(x), self.spread(x)
        code = mean + torch.randn_like(spread) * torch.exp(0.5 * spread)
        return self.back(self.up(code).view(-1, self.top, 4, 4)), mean, spread
model = Coder()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(20):
    x = torch.randn(8, 1, 16, 16)
    optimizer.zero_grad()
    y, mean, spread = model(x)
    (F.mse_loss(y, x) + 0.01 * (mean ** 2 + spread.exp() - spread).mean()).backward()
    optimizer.step()
"""
)

# Modules with nothing but attributes, a list that grows at its front, a time that becomes sines, a branch by two sizes.
DIFFUSION = (
    HEADER
    + """
import math
def sines(t, width):
    half = width // 2
    rate = torch.exp(torch.arange(half) * (-math.log(10000) / (half - 1)))
    x = t[:, None] * rate[None, :]
    x = torch.cat([x.sin(), x.cos()], dim=1)
    if width % 2 == 1:
        x = F.pad(x, (0, 1))
    return x
class Block(nn.Module):
    def __init__(self, *, inputs, outputs, times):
        super().__init__()
        self.inputs, self.outputs = inputs, outputs
        self.norm, self.first = nn.GroupNorm(4, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time, self.second = nn.Linear(times, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        if self.inputs != self.outputs:
            self.short = nn.Conv2d(inputs, outputs, 1)
    def forward(self, x, t):
        h = self.first(F.silu(self.norm(x))) + self.time(t)[:, :, None, None]
        h = self.second(F.silu(h))
        if self.inputs != self.outputs:
            x = self.short(x)
        return x + h
class Net(nn.Module):
    def __init__(self, width=16, factors=(1, 2)):
        super().__init__()
        self.width, self.levels = width, len(factors)
        self.times = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU())
        self.inside, before = nn.Conv2d(3, width, 3, padding=1), (1,) + tuple(factors)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for level in range(self.levels):
            part = nn.Module()
            part.block = Block(inputs=width * before[level], outputs=width * factors[level], times=4 * width)
            self.down.append(part)
        for level in reversed(range(self.levels)):
            part = nn.Module()
            part.block = Block(inputs=2 * width * factors[level], outputs=width * before[level], times=4 * width)
            self.up.insert(0, part)
        self.out = nn.Conv2d(width, 3, 3, padding=1)
    def forward(self, x, t):
        t, x, kept = self.times(sines(t, self.width)), self.inside(x), []
        for level in range(self.levels):
            x = self.down[level].block(x, t)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        for level in reversed(range(self.levels)):
            x = F.interpolate(x, scale_factor=2.0)
            x = self.up[level].block(torch.cat([x, kept.pop()], 1), t)
        return self.out(x)
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(20):
    x, t = torch.randn(4, 3, 16, 16), torch.randint(1000, (4,))
    optimizer.zero_grad()
    (model(x, t.float()) - x).square().mean().backward()
    optimizer.step()
"""
)
