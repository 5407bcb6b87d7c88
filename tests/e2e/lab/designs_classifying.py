"""Models that tell classes: their scripts, as templates of tests."""

from __future__ import annotations

from designs_generative import HEADER
from training import LOOP

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
