"""Numbers that modules hold and their methods use: sizes by way of names, rates of functional dropouts, scales; and tied weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import LOOP, edit, predicted, record_all, told_as_run

# As wide as long; the embedding's weights are the head's.
CAUSAL = LOOP.replace("model(x), y)", "model(x).flatten(0, 1), y.flatten())").format(
    model="""
class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.width, self.heads, self.dropout, self.scale = width, heads, dropout, (width // heads) ** -0.5
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width) if width > 8 else nn.Identity()
        self.rest = nn.Dropout(dropout)
    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(self.width, dim=2)
        shape = (B, T, self.heads, C // self.heads)
        q, k, v = q.view(shape).transpose(1, 2) * self.scale, k.view(shape).transpose(1, 2), v.view(*shape).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0, is_causal=True)
        return self.rest(self.out(y.transpose(1, 2).contiguous().view(B, T, C)))
class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm, self.attention, self.dropout = nn.LayerNorm(width), Attention(width, heads, dropout), nn.Dropout(dropout)
    def forward(self, x):
        return x + self.dropout(self.attention(self.norm(x)))
class Model(nn.Module):
    def __init__(self, width=32, heads=4, dropout=0.1):
        super().__init__()
        layers = nn.ModuleList([Block(width, heads, dropout) for _ in range(2)])
        self.parts = nn.ModuleDict(dict(embed=nn.Embedding(50, width), layers=layers))
        self.head = nn.Linear(width, 50, bias=False)
        self.parts.embed.weight = self.head.weight
    def forward(self, x):
        x = self.parts.embed(x)
        for layer in self.parts.layers:
            x = layer(x)
        return self.head(x)
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randint(50, (n, 32)), torch.randint(50, (n, 32)))
"""
)

SCORES = LOOP.format(
    model="""
import math
class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.size = heads, int(width / heads)
        self.all = self.heads * self.size
        self.query, self.key, self.value = nn.Linear(width, self.all), nn.Linear(width, self.all), nn.Linear(width, self.all)
    def split(self, x):
        shape = x.size()[:-1] + (self.heads, self.size)
        return x.view(shape).permute(0, 2, 1, 3)
    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores / math.sqrt(self.size) + mask
        x = F.dropout(scores.softmax(-1), 0.1, self.training) @ v
        x = x.permute(0, 2, 1, 3).contiguous()
        shape = x.size()[:-2] + (self.all,)
        return x.view(shape)
class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed, self.attention, self.head = nn.Embedding(50, width), Attention(width), nn.Linear(width, 10)
    def forward(self, x):
        return self.head(self.attention(self.embed(x), (x > 3).float()[:, None, None, :])[:, 0])
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randint(50, (n, 12)), torch.randint(10, (n,)))
"""
)

# A number whose use is no size and no scale.
COUNTS = SCORES.replace("return x.view(shape)", "return sum(x.view(shape) for _ in range(self.heads))")

# Blocks that are left out by chance, each at a rate of its own, as ConvNeXt has them.
RATES = LOOP.format(
    model="""
def leave_out(x, rate: float = 0.0, training: bool = False):
    if rate == 0.0 or not training:
        return x
    stays = 1 - rate
    mask = stays + torch.rand((x.shape[0],) + (1,) * (x.ndim - 1), dtype=x.dtype)
    mask.floor_()
    return x.div(stays) * mask
class LeaveOut(nn.Module):
    def __init__(self, rate=None):
        super().__init__()
        self.rate = rate
    def forward(self, x):
        return leave_out(x, self.rate, self.training)
class Block(nn.Module):
    def __init__(self, width, rate=0.0):
        super().__init__()
        self.norm, self.fc, self.out = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.leave_out = LeaveOut(rate) if rate > 0.0 else nn.Identity()
    def forward(self, x):
        return x + self.leave_out(self.out(F.gelu(self.fc(self.norm(x)))))
class Model(nn.Module):
    def __init__(self, width=24, depths=[1, 2], rate=0.2):
        super().__init__()
        rates = [x.item() for x in torch.linspace(0, rate, sum(depths))]
        self.first, self.head, done = nn.Linear(12, width), nn.Linear(width, 10), 0
        self.stages = nn.ModuleList()
        for depth in depths:
            self.stages.append(nn.Sequential(*[Block(width, rates[done + i]) for i in range(depth)]))
            done += depth
    def forward(self, x):
        x = self.first(x)
        for i in range(2):
            x = self.stages[i](x)
        return self.head(x)
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
tensors = lambda n: (torch.randn(4 * n, 12), torch.randint(10, (4 * n,)))"""
).replace("batch_size=8", "batch_size=32")

SCRIPTS = {"causal": CAUSAL, "scores": SCORES, "counts": COUNTS, "rates": RATES}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_all(tmp_path_factory.mktemp("numbers"), SCRIPTS)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("causal", "width=32", "width=48", "Attention.width 32 → 48"),
        ("causal", "dropout=0.1", "dropout=0.0", "Attention.dropout 0.1 → 0"),
        ("causal", "heads=4, dropout", "heads=8, dropout", "Attention.heads 4 → 8"),
        ("scores", "width=32", "width=64", "Attention.size 8 → 16"),
        ("rates", "rate=0.2", "rate=0.4", "LeaveOut.rate 0.1 → 0.2"),
        ("rates", "depths=[1, 2]", "depths=[1, 3]", "Block() added"),
        ("rates", "depths=[1, 2]", "depths=[2, 2]", "Block() added"),
    ],
)
def test_the_peak_is_that_of_the_script_really_edited_so(recorded: Path, tmp_path: Path, name: str, old: str, new: str, what: str) -> None:
    text = edit(recorded / name, SCRIPTS[name], old, new)
    assert what in told_as_run(recorded / name, text, tmp_path / "truth")


def test_a_rate_that_becomes_nothing_is_refused(recorded: Path) -> None:
    """What is left out then is another branch, which did not run."""
    edit(recorded / "rates", RATES, "rate=0.2", "rate=0.0")
    (refusal,) = predicted(recorded / "rates")["refused"]
    assert "uses rate, which was edited" in refusal["reason"]


def test_a_number_that_something_else_is_done_with_is_refused(recorded: Path) -> None:
    edit(recorded / "counts", COUNTS, "heads=4", "heads=2")
    (refusal,) = predicted(recorded / "counts")["refused"]
    assert "uses heads, which was edited" in refusal["reason"]
