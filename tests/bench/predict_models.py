"""Small models of ten kinds as a training script: `predict_models.py MODEL BATCH`; with `--times` it prints what its steps took."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

CLASSES, WORDS, LENGTH = 10, 1000, 32
Batch = tuple[Tensor, ...]


class Residual(nn.Module):
    def __init__(self, inner: nn.Module, outer: nn.Module | None = None) -> None:
        super().__init__()
        self.inner, self.outer, self.inplace = inner, outer or nn.Identity(), False

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.outer(x) + self.inner(x), inplace=self.inplace)


def conv(i: int, o: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(o), nn.ReLU())


def resnet() -> nn.Module:
    blocks = [
        Residual(nn.Sequential(conv(i, o, stride=o // i), conv(o, o)), conv(i, o, 1, o // i)) for i, o in ((16, 16), (16, 32), (32, 64))
    ]
    return nn.Sequential(conv(3, 16), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES))


def mobilenet() -> nn.Module:
    blocks = [
        nn.Sequential(conv(i, 4 * i, 1), conv(4 * i, 4 * i, 3, 2, 4 * i), conv(4 * i, o, 1)) for i, o in ((16, 24), (24, 32), (32, 48))
    ]
    return nn.Sequential(conv(3, 16, 3, 2), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, CLASSES))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([conv(3, 16), conv(16, 32), conv(32, 64)])
        self.up = nn.ModuleList([conv(64 + 32, 32), conv(32 + 16, 16)])
        self.head = nn.Conv2d(16, CLASSES, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = kept.pop()
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1))
        return self.head(x).mean((2, 3))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: Tensor) -> Tensor:
        size, length, width = x.shape
        q, k, v = (part.view(size, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).split(width, 2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(size, length, width))
        return x + self.mlp(self.second(x))


class Transformer(nn.Module):
    def __init__(self, causal: bool, width: int = 96) -> None:
        super().__init__()
        self.causal = causal
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(LENGTH, width)
        self.layers = nn.ModuleList(Layer(width, 4, causal) for _ in range(3))
        self.head = nn.Linear(width, WORDS if causal else CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(x).flatten(0, 1) if self.causal else self.head(x[:, 0])


class ViT(nn.Module):
    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 17, width))
        self.layers = nn.Sequential(*[Layer(width, 4, False) for _ in range(3)])
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.layers(x)[:, 0])


class LSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.lstm, self.head = nn.Embedding(WORDS, 64), nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(self.words(x))[0]).flatten(0, 1)


class DLRM(nn.Module):
    def __init__(self, tables: int = 8, rows: int = 10_000, width: int = 16) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width))
        self.top = nn.Sequential(nn.Linear(width + (tables + 1) ** 2, 64), nn.ReLU(), nn.Linear(64, CLASSES))

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bottom(dense)
        all_of = torch.stack([x, *(table(sparse[:, at]) for at, table in enumerate(self.tables))], 1)
        return self.top(torch.cat([x, (all_of @ all_of.transpose(1, 2)).flatten(1)], 1))


class Messages(nn.Module):
    """One layer of a graph network: what edges bring is summed where they lead to."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.sent, self.own, self.norm = nn.Linear(width, width), nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        sent = self.sent(x).gather(1, begin[..., None].expand(-1, -1, x.shape[2]))
        came = torch.zeros_like(x).scatter_add(1, end[..., None].expand(-1, -1, x.shape[2]), sent)
        return x + F.relu(self.norm(self.own(x) + came))


class GNN(nn.Module):
    def __init__(self, width: int = 64, depth: int = 3) -> None:
        super().__init__()
        self.embed = nn.Linear(16, width)
        self.layers = nn.ModuleList(Messages(width) for _ in range(depth))
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x, edges[..., 0], edges[..., 1])
        return self.head(x.mean(1))


class TimedBlock(nn.Module):
    """Of a U-Net that takes noise away: the moment shifts every channel."""

    def __init__(self, i: int, o: int, moment: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1))
        self.shift = nn.Sequential(nn.SiLU(), nn.Linear(moment, o))
        self.second = nn.Sequential(nn.GroupNorm(8, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1))
        self.skip = nn.Conv2d(i, o, 1)

    def forward(self, x: Tensor, moment: Tensor) -> Tensor:
        return self.skip(x) + self.second(self.first(x) + self.shift(moment)[:, :, None, None])


class Mixing(nn.Module):
    def __init__(self, width: int, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(8, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        size, width, high, wide = x.shape
        parts = self.qkv(self.norm(x)).view(size, 3, self.heads, width // self.heads, high * wide).transpose(3, 4)
        mixed = F.scaled_dot_product_attention(parts[:, 0], parts[:, 1], parts[:, 2])
        return x + self.out(mixed.transpose(2, 3).reshape(size, width, high, wide))


class Diffusion(nn.Module):
    def __init__(self, width: int = 16, moment: int = 64) -> None:
        super().__init__()
        self.moment = moment
        self.time = nn.Sequential(nn.Linear(moment, moment), nn.SiLU(), nn.Linear(moment, moment))
        self.into = nn.Conv2d(3, width, 3, padding=1)
        self.down = TimedBlock(width, 2 * width, moment)
        self.middle, self.mixing = TimedBlock(2 * width, 2 * width, moment), Mixing(2 * width)
        self.up = TimedBlock(4 * width, width, moment)
        self.out = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, CLASSES, 3, padding=1))

    def forward(self, x: Tensor, moment: Tensor) -> Tensor:
        waves = moment * torch.exp(torch.arange(self.moment // 2) * (-8 / self.moment))
        moment = self.time(torch.cat([waves.sin(), waves.cos()], 1))
        held = self.down(self.into(x), moment)
        x = self.mixing(self.middle(F.avg_pool2d(held, 2), moment))
        x = self.up(torch.cat([F.interpolate(x, scale_factor=2), held], 1), moment)
        return self.out(x).mean((2, 3))


def pictures(n: int) -> Batch:
    return torch.randn(n, 3, 32, 32), torch.randint(CLASSES, (n,))


def sentences(n: int) -> Batch:
    return torch.randint(WORDS, (n, LENGTH)), torch.randint(CLASSES, (n,))


def continued(n: int) -> Batch:
    return torch.randint(WORDS, (n, LENGTH)), torch.randint(WORDS, (n, LENGTH))


def clicks(n: int) -> Batch:
    return torch.randn(n, 13), torch.randint(10_000, (n, 8, 4)), torch.randint(CLASSES, (n,))


def graphs(n: int) -> Batch:
    return torch.randn(n, 48, 16), torch.randint(48, (n, 192, 2)), torch.randint(CLASSES, (n,))


def noisy(n: int) -> Batch:
    return torch.randn(n, 3, 32, 32), torch.rand(n, 1), torch.randint(CLASSES, (n,))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Batch]]] = {
    "resnet": (resnet, pictures),
    "mobilenet": (mobilenet, pictures),
    "unet": (UNet, pictures),
    "gpt": (lambda: Transformer(True), continued),
    "bert": (lambda: Transformer(False), sentences),
    "vit": (ViT, pictures),
    "lstm": (LSTM, continued),
    "dlrm": (DLRM, clicks),
    "gnn": (GNN, graphs),
    "diffusion": (Diffusion, noisy),
}


def step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> None:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(*batch[:-1]), batch[-1].flatten())
    loss.backward()
    optimizer.step()


def loader(make: Callable[[int], Batch], size: int, steps: int) -> Iterator[Batch]:
    return iter(DataLoader(TensorDataset(*make(size * steps)), batch_size=size))


def times(model: nn.Module, optimizer: torch.optim.Optimizer, make: Callable[[int], Batch], size: int) -> list[float]:
    """Seconds of steps, with the fetch of the batch as in a recorded step."""
    steps, first = 40, 10
    batches = loader(make, size, steps + first)
    found: list[float] = []
    for number in range(steps + first):
        begin = time.perf_counter()
        step(model, optimizer, next(batches))
        if number >= first:
            found.append(time.perf_counter() - begin)
    return found


def main() -> None:
    build, make = MODELS[sys.argv[1]]
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.Adam(model.parameters())
    if sys.argv[2] == "--times":
        print(json.dumps(times(model, optimizer, make, int(sys.argv[3]))))
        return
    for batch in DataLoader(TensorDataset(*make(int(sys.argv[2]) * 60)), batch_size=int(sys.argv[2])):
        step(model, optimizer, batch)


if __name__ == "__main__":
    main()
