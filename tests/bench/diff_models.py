"""Three models of different kind with one layer changed or not: `diff_models.py MODEL VARIANT`, for diff_noise.py.

VARIANT is `base`, `wider` (one layer's width) or `deeper` (a layer added).
"""

from __future__ import annotations

import sys

import torch
from torch import nn

STEPS = 40


class Convolutions(nn.Module):
    def __init__(self, variant: str) -> None:
        super().__init__()
        middle = 40 if variant == "wider" else 32
        layers = [nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()]
        layers += [nn.Conv2d(32, middle, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(middle, 32, 3, padding=1), nn.ReLU()]
        if variant == "deeper":
            layers += [nn.Conv2d(32, 32, 1)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(32 * 16 * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


class Block(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.between = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.before(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class Transformer(nn.Module):
    def __init__(self, variant: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 96)
        inner = [384, 448 if variant == "wider" else 384, 384]
        self.blocks = nn.ModuleList(Block(96, each) for each in inner)
        self.extra = nn.Linear(96, 96) if variant == "deeper" else None
        self.head = nn.Linear(96, 100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x if self.extra is None else self.extra(x)).mean(1)


class Perceptron(nn.Module):
    def __init__(self, variant: str) -> None:
        super().__init__()
        widths = [256, 512, 576 if variant == "wider" else 512, 512]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:], strict=False))
        if variant == "deeper":
            self.layers.append(nn.Linear(512, 512))
        self.head = nn.Linear(512, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def main() -> None:
    kind, variant = sys.argv[1:]
    torch.manual_seed(0)
    models = {"convolutions": Convolutions, "transformer": Transformer, "perceptron": Perceptron}
    inputs = {
        "convolutions": torch.randn(16, 3, 32, 32),
        "transformer": torch.randint(0, 100, (8, 64)),
        "perceptron": torch.randn(512, 256),
    }
    model, x = models[kind](variant), inputs[kind]
    target = torch.randint(0, 10, (len(x),))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
