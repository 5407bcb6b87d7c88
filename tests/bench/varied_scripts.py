"""Scripts with a number that sets how large a sample is: what varied_numbers.py varies."""

GPT = """
import math
from dataclasses import dataclass
import torch, torch.nn as nn
from torch.nn import functional as F
@dataclass
class GPTConfig:
    block_size: int = 64
    vocab_size: int = 96
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 48
    dropout: float = 0.1
class Attn(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.attn_dropout = nn.Dropout(config.dropout)
        size = config.block_size
        self.register_buffer("bias", torch.tril(torch.ones(size, size)).view(1, 1, size, size))
    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn = Attn(config)
        wide = 4 * config.n_embd
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, wide), nn.GELU(), nn.Linear(wide, config.n_embd), nn.Dropout(config.dropout))
    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte, self.wpe = nn.Embedding(config.vocab_size, config.n_embd), nn.Embedding(config.block_size, config.n_embd)
        self.drop, self.h = nn.Dropout(config.dropout), nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f, self.lm_head = nn.LayerNorm(config.n_embd), nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
    def forward(self, idx, targets=None):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
config = GPTConfig()
model = GPT(config)
data = torch.randint(config.vocab_size, (5000,))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
for it in range(24):
    ix = torch.randint(len(data) - config.block_size, (6,))
    x = torch.stack([data[i:i + config.block_size] for i in ix])
    y = torch.stack([data[i + 1:i + 1 + config.block_size] for i in ix])
    logits, loss = model(x, y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
"""

VIT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
IMG = 32
PATCH = 4
class ViT(nn.Module):
    def __init__(self, dim=64, depth=2, heads=4, classes=10):
        super().__init__()
        n = (IMG // PATCH) ** 2
        self.patch = nn.Conv2d(3, dim, PATCH, PATCH)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)
    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.encoder(x)[:, 0])
class Data(Dataset):
    def __len__(self): return 300
    def __getitem__(self, i): return torch.randn(3, IMG, IMG), i % 10
model = ViT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
for x, y in DataLoader(Data(), batch_size=8, shuffle=True):
    opt.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    opt.step()
"""

DIFFUSION = """
import torch
from torch import nn
import torch.nn.functional as F
SIZE = 32
def block(i, o): return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())
class Att(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n, self.qkv, self.o = nn.GroupNorm(4, c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)
    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.n(x)).view(b, 3, c, h * w).unbind(1)
        a = torch.softmax(torch.einsum("bci,bcj->bij", q, k) * c**-0.5, -1)
        return x + self.o(torch.einsum("bij,bcj->bci", a, v).view(b, c, h, w))
class UNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.d1, self.d2, self.d3 = block(3, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.att = Att(4 * c)
        self.u2, self.u1 = block(6 * c, 2 * c), block(3 * c, c)
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 4 * c))
        self.out = nn.Conv2d(c, 3, 1)
    def forward(self, x, t):
        f = torch.exp(-torch.arange(16) / 16 * 9.2)
        e = t[:, None].float() * f[None]
        e = self.time(torch.cat([e.sin(), e.cos()], -1))
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.att(self.d3(F.avg_pool2d(b, 2)) + e[:, :, None, None])
        b = self.u2(torch.cat([F.interpolate(c, scale_factor=2, mode="nearest"), b], 1))
        return self.out(self.u1(torch.cat([F.interpolate(b, scale_factor=2, mode="bilinear"), a], 1)))
model = UNet()
opt = torch.optim.Adam(model.parameters(), 1e-4)
betas = torch.linspace(1e-4, 0.02, 1000)
ac = torch.cumprod(1 - betas, 0)
for _ in range(24):
    x = torch.randn(4, 3, SIZE, SIZE)
    t = torch.randint(1000, (4,))
    noise = torch.randn_like(x)
    a = ac[t].view(-1, 1, 1, 1)
    xt = a.sqrt() * x + (1 - a).sqrt() * noise
    loss = F.mse_loss(model(xt, t), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

RECURRENT = """
import torch
from torch import nn
SEQ = 35
EMB = 48
class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(200, EMB), nn.LSTM(EMB, 64, 2, dropout=0.2), nn.Linear(64, 200)
    def forward(self, x, h):
        y, h = self.r(self.e(x), h)
        return self.o(y), h
model = RNN()
data = torch.randint(200, (3000, 10))
opt = torch.optim.SGD(model.parameters(), 1.0)
crit = nn.CrossEntropyLoss()
h = (torch.zeros(2, 10, 64), torch.zeros(2, 10, 64))
for i in range(0, data.size(0) - 1 - SEQ, SEQ):
    x, y = data[i:i + SEQ], data[i + 1:i + 1 + SEQ].reshape(-1)
    h = tuple(a.detach() for a in h)
    opt.zero_grad()
    out, h = model(x, h)
    loss = crit(out.view(-1, 200), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    opt.step()
"""

AUDIO = """
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
p = argparse.ArgumentParser()
p.add_argument("--samples", type=int, default=4096)
p.add_argument("--hidden", type=int, default=32)
a = p.parse_args()
first = [nn.Conv1d(1, a.hidden, 80, 4), nn.BatchNorm1d(a.hidden), nn.ReLU(), nn.MaxPool1d(4)]
second = [nn.Conv1d(a.hidden, a.hidden, 3), nn.BatchNorm1d(a.hidden), nn.ReLU()]
model = nn.Sequential(*first, *second, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(a.hidden, 12))
opt = torch.optim.Adam(model.parameters(), 1e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, 5)
for x, y in DataLoader(TensorDataset(torch.randn(400, 1, a.samples), torch.randint(12, (400,))), batch_size=16):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    sched.step()
"""

GRAPH = """
import torch
from torch import nn
NODES = 120
EDGES = 600
FEATURES = 24
class Layer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.l = nn.Linear(i, o)
    def forward(self, x, e):
        h = self.l(x)
        out = torch.zeros_like(h).index_add_(0, e[1], h[e[0]])
        return torch.relu(out)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.o = Layer(FEATURES, 32), Layer(32, 32), nn.Linear(32, 5)
    def forward(self, x, e):
        return self.o(self.b(self.a(x, e), e))
net = Net()
opt = torch.optim.Adam(net.parameters(), 0.01, weight_decay=5e-4)
x, e, y = torch.randn(NODES, FEATURES), torch.randint(NODES, (2, EDGES)), torch.randint(5, (NODES,))
for epoch in range(30):
    net.train()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x, e), y)
    loss.backward()
    opt.step()
"""

RELATIVE = """
import torch
from torch import nn
import torch.nn.functional as F
T = 24
D = 32
class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(D, D) for _ in range(3))
        self.table = nn.Parameter(torch.zeros(2 * T - 1, 4))
        i = torch.arange(T)
        self.register_buffer("index", (i[:, None] - i[None, :] + T - 1).view(-1))
        self.register_buffer("rope", torch.outer(torch.arange(T).float(), 1e4 ** (-torch.arange(0, 8, 2) / 8)))
    def rot(self, x):
        a, b = x[..., ::2], x[..., 1::2]
        c, s = self.rope.cos(), self.rope.sin()
        return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (f(x).view(b, t, 4, d // 4).transpose(1, 2) for f in (self.q, self.k, self.v))
        bias = self.table[self.index].view(t, t, 4).permute(2, 0, 1).unsqueeze(0)
        i, j = torch.triu_indices(t, t, 1)
        s = self.rot(q) @ self.rot(k).transpose(-1, -2) / 8**0.5 + bias
        s[:, :, i, j] = float("-inf")
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d)
model = nn.Sequential(nn.Embedding(64, D), Att(), Att(), nn.LayerNorm(D), nn.Flatten(), nn.Linear(T * D, 64))
opt = torch.optim.RMSprop(model.parameters(), 1e-3)
for i in range(24):
    x = torch.randint(64, (8, T + 1))
    loss = F.cross_entropy(model(x[:, :-1]), x[:, -1])
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

RESIZED = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
IMG = 64
class Data(Dataset):
    def __init__(self):
        self.raw = [torch.randint(0, 255, (3, 96, 96), dtype=torch.uint8) for _ in range(64)]
    def __len__(self): return 600
    def __getitem__(self, i):
        x = self.raw[i % 64].float() / 255
        x = nn.functional.interpolate(x[None], size=(IMG, IMG), mode="bilinear", align_corners=False)[0]
        return (x - x.mean()) / x.std(), i % 10
first = [nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU()]
model = nn.Sequential(*first, nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
for x, y in DataLoader(Data(), batch_size=16, shuffle=True):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
"""
