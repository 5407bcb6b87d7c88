"""Small models, data and optimizers of the kinds that people write, for the loops in shapes.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import IterableDataset


class Net(nn.Module):
    """A small classifier with a layer of each common kind."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 64)
        self.act = nn.GELU()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.act(self.up(self.norm(x)))))


class Distance(nn.Module):
    """A criterion whose name says nothing."""

    def forward(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (out - nn.functional.one_hot(y, 10)).pow(2).mean()


class WithLoss(nn.Module):
    """A model that returns its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.criterion(self.net(x), y)


class Checkpointed(nn.Module):
    """Blocks of which the middle one is recomputed."""

    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(32, 32), Net(), nn.Linear(10, 10)
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = checkpoint(self.middle, self.first(x), use_reentrant=self.reentrant)
        return self.last(hidden)


class Square(torch.autograd.Function):
    """A function with a backward in Python."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grads[0]


class Squaring(nn.Module):
    """The custom function as a module."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Square.apply(x)


class Squared(nn.Module):
    """A model around the custom function, one layer of it called twice, its hidden gradient watched by a hook."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.square = Squaring()
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.square(self.layer(self.layer(x)))
        if hidden.requires_grad:
            hidden.register_hook(lambda grad: grad * 1.0)
        return self.head(hidden)


class Slow(IterableDataset[Any]):
    """A loader that computes in Python and hardly at all in torch."""

    def __init__(self, make: Callable[[], Any], seconds: float = 0.02) -> None:
        self.make, self.seconds = make, seconds

    def __iter__(self) -> Iterator[Any]:
        while True:
            until = time.perf_counter() + self.seconds
            while time.perf_counter() < until:
                sum(range(1000))
            yield self.make()


class PlainOptimizer:
    """An optimizer that torch knows nothing of."""

    def __init__(self, parameters: list[torch.Tensor]) -> None:
        self.parameters = parameters

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter.add_(parameter.grad, alpha=-0.1)

    @torch.no_grad()
    def zero_grad(self, set_to_none: bool = False) -> None:
        for parameter in self.parameters:
            parameter.grad = None if set_to_none else parameter.grad.zero_()


def batch(size: int = 16, width: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and labels."""
    return torch.randn(size, width), torch.randint(0, 10, (size,))
