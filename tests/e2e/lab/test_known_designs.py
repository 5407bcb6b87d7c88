"""Designs that most people start from: GANs, autoencoders, diffusion, rotary attention, tables of blocks, recommenders."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import LOOP, edit, predicted, record_all, told_as_run

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

ROTARY = LOOP.replace("model(x), y)", "model(x).flatten(0, 1), y.flatten())").format(
    model="""
from dataclasses import dataclass
@dataclass
class Config:
    width: int = 60
    heads: int = 6
    shared: int = 2
    words: int = 70
    longest: int = 40
def waves(size, length):
    rate = 1.0 / 10000 ** (torch.arange(0, size, 2)[: (size // 2)].float() / size)
    angles = torch.outer(torch.arange(length), rate)
    return torch.cos(angles), torch.sin(angles)
def turned(x, cos, sin):
    a, b = x.reshape(x.shape[:-1] + (-1, 2)).unbind(-1)
    cos, sin = cos.view(1, cos.shape[0], 1, cos.shape[1]), sin.view(1, sin.shape[0], 1, sin.shape[1])
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(3)
def repeated(x, times):
    B, T, H, D = x.shape
    if times == 1:
        return x
    return x[:, :, :, None, :].expand(B, T, H, times, D).reshape(B, T, H * times, D)
class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.shared, self.size = c.heads, c.shared, c.width // c.heads
        self.times = self.heads // self.shared
        self.q, self.o = nn.Linear(c.width, c.width, bias=False), nn.Linear(c.width, c.width, bias=False)
        self.k, self.v = (nn.Linear(c.width, c.shared * self.size, bias=False) for _ in range(2))
    def forward(self, x, cos, sin):
        B, T, _ = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, k = turned(q.view(B, T, self.heads, self.size), cos, sin), turned(k.view(B, T, self.shared, self.size), cos, sin)
        k, v = repeated(k, self.times), repeated(v.view(B, T, self.shared, self.size), self.times)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.o(y.transpose(1, 2).contiguous().view(B, T, -1))
class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed, self.attention, self.head = nn.Embedding(c.words, c.width), Attention(c), nn.Linear(c.width, c.words)
        cos, sin = waves(c.width // c.heads, c.longest)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)
    def forward(self, x):
        T = x.shape[1]
        return self.head(self.attention(self.embed(x), self.cos[:T], self.sin[:T]))
config = Config()
model = Model(config)
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randint(config.words, (n, 20)), torch.randint(config.words, (n, 20)))
"""
)

# Rows of numbers, kept by the model as well; a function that rounds.
TABLE = LOOP.format(
    model="""
def rounded(x, by=4):
    least = max(by, int(x + by / 2) // by * by)
    if least < 0.9 * x:
        least += by
    return least
class Unit(nn.Module):
    def __init__(self, inputs, hidden, outputs, kernel, stride, squeezes):
        super().__init__()
        self.same = stride == 1 and inputs == outputs
        self.conv = nn.Sequential(
            nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU(),
            nn.Conv2d(hidden, hidden, kernel, stride, (kernel - 1) // 2, groups=hidden, bias=False),
            nn.Hardswish() if squeezes else nn.Identity(), nn.Conv2d(hidden, outputs, 1, bias=False))
    def forward(self, x):
        return x + self.conv(x) if self.same else self.conv(x)
class Mobile(nn.Module):
    def __init__(self, rows, classes=10, factor=1.0):
        super().__init__()
        self.rows, inputs = rows, rounded(8 * factor)
        layers, unit = [nn.Conv2d(3, inputs, 3, 2, 1)], Unit
        for kernel, more, outputs, squeezes, stride in self.rows:
            hidden, outputs = rounded(inputs * more), rounded(outputs * factor)
            layers.append(unit(inputs, hidden, outputs, kernel, stride, squeezes))
            inputs = outputs
        self.features, self.head = nn.Sequential(*layers), nn.Linear(inputs, classes)
    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))
def small(**more):
    rows = [
        [3, 2.5, 12, 0, 2],
        [3, 3, 16, 1, 1],
        [5, 3, 16, 1, 1],
        [5, 3, 16, 1, 1],
    ]
    return Mobile(rows, **more)
model = small(classes=10)
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 3, 16, 16), torch.randint(10, (n,)))
"""
)

# Widths in a text; weights that NumPy draws; a layer that a method is given; indices that Python counts in `forward`.
CLICKS = (
    HEADER
    + """
import numpy as np
class Clicks(nn.Module):
    def stack(self, widths):
        layers = nn.ModuleList()
        for at in range(0, widths.size - 1):
            n, m = widths[at], widths[at + 1]
            layer = nn.Linear(int(n), int(m))
            layer.weight.data = torch.tensor(np.random.normal(0, np.sqrt(2 / (m + n)), size=(m, n)).astype(np.float32), requires_grad=True)
            layers.append(layer)
            layers.append(nn.ReLU())
        return nn.Sequential(*layers)
    def __init__(self, rows, bottom, top):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(int(n), int(bottom[-1]), mode="sum") for n in rows])
        self.bottom, self.top = self.stack(bottom), self.stack(top)
    def apply_to(self, x, layers):
        return layers(x)
    def forward(self, x, places, words):
        x = self.apply_to(x, self.bottom)
        all = torch.cat([x] + [t(w, p) for t, w, p in zip(self.tables, words, places)], 1).view(x.shape[0], -1, x.shape[1])
        products = torch.bmm(all, all.transpose(1, 2))
        _, rows, columns = products.shape
        one = torch.tensor([i for i in range(rows) for j in range(i)])
        other = torch.tensor([j for i in range(columns) for j in range(i)])
        return self.apply_to(torch.cat([x, products[:, one, other]], 1), self.top)
rows = np.fromstring("40-30", dtype=int, sep="-")
bottom = np.fromstring("5-24-8", dtype=int, sep="-")
pairs = (rows.size + 1) * rows.size // 2 + bottom[bottom.size - 1]
model = Clicks(rows, bottom, np.fromstring(str(pairs) + "-16-1", dtype=int, sep="-"))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(20):
    places, words = [torch.arange(0, 16, 2) for _ in range(2)], [torch.randint(20, (16,)) for _ in range(2)]
    optimizer.zero_grad()
    model(torch.rand(8, 5), places, words).mean().backward()
    optimizer.step()
"""
)

SETS = LOOP.format(
    model="""
class Model(nn.Module):
    def __init__(self, width=32, heads=4, seeds=6):
        super().__init__()
        self.width, self.heads = width, heads
        self.inside, self.out = nn.Linear(3, width), nn.Linear(width, 10)
        self.seeds = nn.Parameter(torch.Tensor(1, seeds, width))
        nn.init.xavier_uniform_(self.seeds)
    def forward(self, x):
        size = self.width // self.heads
        x = self.inside(x)
        q = torch.cat(self.seeds.repeat(x.size(0), 1, 1).split(size, 2), 0)
        k = torch.cat(x.split(size, 2), 0)
        x = torch.cat((q.bmm(k.transpose(1, 2)).softmax(2) @ k).split(x.size(0), 0), 2)
        return self.out(x.mean(1))
model = Model()
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 12, 3), torch.randint(10, (n,)))
"""
)

# Lists whose entries take the same: heads that are written out, experts that are weighed, branches with a name for their results.
SIDE_BY_SIDE = LOOP.format(
    model="""
width, heads, experts = 24, 3, 3
class Head(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, size, bias=False) for _ in range(3))
        self.register_buffer("past", torch.tril(torch.ones(20, 20)))
    def forward(self, x):
        T = x.shape[1]
        w = (self.q(x) @ self.k(x).transpose(1, 2)).masked_fill(self.past[:T, :T] == 0, float("-inf"))
        return w.softmax(-1) @ self.v(x)
class Heads(nn.Module):
    def __init__(self, count, size):
        super().__init__()
        self.heads, self.out = nn.ModuleList([Head(size) for _ in range(count)]), nn.Linear(count * size, width)
    def forward(self, x):
        return self.out(torch.cat([head(x) for head in self.heads], dim=-1))
class Experts(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.choice = nn.Linear(width, count)
        self.experts = nn.ModuleList([
            nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)) for _ in range(count)])
    def forward(self, x):
        given = [expert(x) for expert in self.experts]
        return (self.choice(x).softmax(-1).unsqueeze(-1) * torch.stack(given, dim=-2)).sum(-2)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.heads, self.experts = nn.Embedding(50, width), Heads(heads, width // heads), Experts(experts)
        self.out = nn.Linear(width, 10)
    def forward(self, x):
        x = self.embed(x)
        x = x + self.heads(x)
        return self.out((x + self.experts(x)).mean(1))
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randint(50, (n, 16)), torch.randint(10, (n,)))
"""
)

# Causal convolutions that cut what they padded too much; what the last block hands on is dropped.
SEQUENCES = LOOP.format(
    model="""
class Cut(nn.Module):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount
    def forward(self, x):
        return x[:, :, : -self.amount].contiguous()
class Padded(nn.Conv1d):
    def __init__(self, inputs, outputs, kernel, step):
        self.left = (kernel - 1) * step
        super().__init__(inputs, outputs, kernel, dilation=step)
    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))
class Unit(nn.Module):
    def __init__(self, width, kept, step, kernel):
        super().__init__()
        self.inner = Padded(width, 2 * width, kernel, step)
        self.on, self.kept = nn.Conv1d(width, width, 1), nn.Conv1d(width, kept, 1)
    def forward(self, x):
        gate, value = self.inner(x).chunk(2, 1)
        y = torch.sigmoid(gate) * torch.tanh(value)
        return x + self.on(y), self.kept(y)
class Net(nn.Module):
    def __init__(self, width=12, kept=10, units=3, sums=4, kernel=3, widths=(8, 8, 8)):
        super().__init__()
        layers, inputs = list(), 4
        for at, wide in enumerate(widths):
            more = (kernel - 1) * 2 ** at
            layers += [nn.Conv1d(inputs, wide, kernel, padding=more, dilation=2 ** at), Cut(more), nn.ReLU()]
            inputs = wide
        self.first = nn.Sequential(*layers, nn.Conv1d(inputs, width, 1))
        self.units = nn.ModuleList([Unit(width, kept, 2 ** at, kernel) for at in range(units)])
        self.adding = nn.ModuleList([Unit(width, kept, 2 ** at, kernel) for at in range(sums)])
        self.last = nn.Conv1d(kept, 5, 1)
    def forward(self, x):
        x = self.first(x)
        kept = []
        for unit in self.units:
            x, some = unit(x)
            kept.append(some)
        y = x
        total = 0
        for unit in self.adding:
            y, some = unit(y)
            total = total + some
        return self.last(total + torch.stack(kept).sum(0)).mean(2)
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(n, 4, 24), torch.randint(5, (n,)))
"""
)

# Layers that are there or not, loops that count, a recurrent layer whose state is thrown away but held.
OPTIONAL = LOOP.format(
    model="""
class Block(nn.Module):
    def __init__(self, width, drop, norm):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width) if norm else None
        self.drop = nn.Dropout(drop) if drop is not None else None
    def forward(self, x):
        y = F.relu(self.fc(x))
        if self.norm is not None:
            y = self.norm(y)
        if self.drop is not None:
            y = self.drop(y)
        return x + y
class Net(nn.Module):
    def __init__(self, width=24, depth=3, drop=None, norm=True, before=None, places=[1], layers=1):
        super().__init__()
        self.depth, self.places = depth, places
        self.before = nn.Linear(width, width) if before else None
        self.blocks = nn.ModuleList([Block(width, drop, norm) for _ in range(depth)])
        self.entry = nn.Linear(width, width)
        self.rnn = nn.GRU(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, 5)
    def forward(self, x):
        if self.before is not None:
            x = self.before(x)
        x = self.entry(x)
        for i in range(self.depth):
            x = self.blocks[i](x)
        y, _ = self.rnn(x)
        if 1 in self.places:
            y = torch.tanh(y)
        return self.head(torch.relu(y).mean(1))
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(n, 6, 24), torch.randint(5, (n,)))
"""
)

SCRIPTS = {
    "gan": GAN, "coder": AUTOENCODER, "diffusion": DIFFUSION, "rotary": ROTARY, "table": TABLE, "clicks": CLICKS, "sets": SETS,
    "beside": SIDE_BY_SIDE, "sequences": SEQUENCES, "optional": OPTIONAL,
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("designs"), SCRIPTS)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("gan", "judged = 24, 8, 10", "judged = 24, 8, 14", "Conv2d(3, 10 → 14, 4, stride=2, padding=1)"),
        ("gan", "judged = 24, 8, 10", "judged = 36, 8, 10", "ConvTranspose2d(24 → 36, 16, 4, bias=False)"),
        ("gan", "            nn.Conv2d(judged, 1, 4))", "            nn.Conv2d(judged, judged, 3, padding=1), nn.Conv2d(judged, 1, 4))",
         "Conv2d(10, 10) added"),
        ("coder", "[8, 16]", "[8, 24]", "ConvTranspose2d(16 → 24, 8, 2, stride=2)"),
        ("coder", "Coder()", "Coder(widths=[4, 8])", "Linear(256 → 128, 16)"),
        ("diffusion", "width=16", "width=24", "Net.width 16 → 24"),
        ("diffusion", "GroupNorm(4,", "GroupNorm(8,", "GroupNorm(4 → 8, 16)"),
        ("rotary", "width: int = 60", "width: int = 84", "Embedding(70, 60 → 84)"),
        ("rotary", "shared: int = 2", "shared: int = 3", "Attention.times 3 → 2"),
        ("rotary", "longest: int = 40", "longest: int = 80", "Model.cos"),
        ("rotary", "words: int = 70", "words: int = 90", "Embedding(70 → 90, 60)"),
        ("table", "[3, 3, 16, 1, 1]", "[3, 4, 16, 1, 1]", "Conv2d(12, 36 → 48, 1, bias=False)"),
        ("table", "        [5, 3, 16, 1, 1],\n    ]", "    ]", "Unit() removed"),
        ("table", "factor=1.0", "factor=2.0", "Linear(16 → 32, 10)"),
        ("clicks", '"5-24-8"', '"5-40-8"', "Linear(5, 24 → 40)"),
        ("clicks", '"5-24-8"', '"5-24-24-8"', "Linear(24, 24) added"),
        ("clicks", '"40-30"', '"80-30"', "EmbeddingBag(40 → 80, 8)"),
        ("sets", "seeds=6", "seeds=9", "Model.seeds"),
        ("beside", "24, 3, 3", "24, 4, 3", "Head() added"),
        ("beside", "24, 3, 3", "24, 2, 3", "Head() removed"),
        ("beside", "24, 3, 3", "24, 3, 5", "Sequential() added"),
        ("beside", "24, 3, 3", "24, 3, 2", "Sequential() removed"),
        ("sequences", "kernel=3", "kernel=2", "Cut.amount 8 → 4"),
        ("sequences", "widths=(8, 8, 8)", "widths=(8, 8, 8, 8)", "Cut() added"),
        ("sequences", "widths=(8, 8, 8)", "widths=(8, 12)", "ReLU() removed"),
        ("sequences", "units=3", "units=5", "Unit() added"),
        ("sequences", "units=3", "units=2", "Unit() removed"),
        ("sequences", "sums=4", "sums=5", "Unit() added"),
        ("sequences", "sums=4", "sums=3", "Unit() removed"),
        ("optional", "norm=True", "norm=False", "LayerNorm(24) not called"),
        ("optional", "drop=None", "drop=0.1", "Dropout(0.1) called"),
        ("optional", "before=None", "before=True", "Linear(24, 24) called"),
        ("optional", "depth=3", "depth=4", "Block() added"),
        ("optional", "depth=3", "depth=2", "Net.depth 3 → 2"),
        ("optional", "layers=1", "layers=2", "GRU(24, 24, num_layers=1 → 2, batch_first=True)"),
        ("optional", "nn.GRU", "nn.LSTM", "GRU → LSTM"),
    ],
)  # fmt: skip
def test_the_peak_is_that_of_the_script_really_edited_so(recorded: Path, tmp_path: Path, name: str, old: str, new: str, what: str) -> None:
    text = edit(recorded / name, SCRIPTS[name], old, new)
    assert what in told_as_run(recorded / name, text, tmp_path / "truth")


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("sets", "heads=4", "heads=8", "into how many parts it splits"),
        ("rotary", "shared: int = 2", "shared: int = 6", "uses times, which was edited"),
        ("clicks", '"40-30"', '"40-30-20"', "where its entries come and go"),
        ("optional", "places=[1]", "places=[2]", "uses places, which was edited"),
        ("sequences", "total = 0", "total = 1", "Net.forward was edited"),
        ("clicks", "int(bottom[-1]), mode", "2 * int(bottom[-1]), mode", "it picks by numbers that Python makes"),
    ],
)
def test_what_would_be_another_step_is_refused(recorded: Path, name: str, old: str, new: str, why: str) -> None:
    edit(recorded / name, SCRIPTS[name], old, new)
    (refused,) = predicted(recorded / name)["refused"]
    assert why in refused["reason"]
