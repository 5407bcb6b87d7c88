"""What the loops in shapes.py and unusual.py share: the stages of a step, and a plain run of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from models import Net, batch
from record import STEPS, Loop
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

Criterion = Callable[..., torch.Tensor]


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of most loops."""
    return torch.optim.SGD(model.parameters(), lr=0.1)


def loader_of(size: int = 16, batches: int = STEPS, **options: Any) -> Iterator[Any]:
    """Batches of a size."""
    return iter(DataLoader(TensorDataset(*batch(size * batches)), batch_size=size, **options))


def next_batch(loop: Loop, loader: Iterator[Any]) -> Any:
    """The next batch, as a stage."""
    with loop.stage("data"):
        return next(loader)


def zero_grad(loop: Loop, optimizer: Any) -> None:
    """Gradients to zero, as a stage."""
    with loop.stage("zero_grad"):
        optimizer.zero_grad(set_to_none=False)


def update(loop: Loop, optimizer: Any) -> None:
    """The optimizer's step, as a stage."""
    with loop.stage("optimizer"):
        optimizer.step()


def pass_through(loop: Loop, forward: Callable[[], torch.Tensor], criterion: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Forward, loss, backward."""
    with loop.stage("forward"):
        out = forward()
    with loop.stage("loss"):
        loss = criterion(out)
    with loop.stage("backward"):
        loss.backward()


def step(loop: Loop, model: nn.Module, criterion: Criterion, optimizer: Any, x: torch.Tensor, y: torch.Tensor, zero: str) -> None:
    """One step; `zero`: where gradients are zeroed."""
    if zero == "first":
        zero_grad(loop, optimizer)
    with loop.stage("forward"):
        out = model(x)
    with loop.stage("loss"):
        loss = criterion(out, y)
    if zero == "between":
        zero_grad(loop, optimizer)
    with loop.stage("backward"):
        loss.backward()
    update(loop, optimizer)
    if zero == "last":
        zero_grad(loop, optimizer)


def train(
    loop: Loop,
    model: nn.Module | None = None,
    criterion: Criterion = nn.functional.cross_entropy,
    *,
    optimizer: Any = None,
    zero: str = "first",
    loader: Iterator[Any] | None = None,
    after: Callable[[nn.Module], None] = lambda model: None,
) -> None:
    """Steps over one batch, or over those of a loader; `after`: what runs between two steps."""
    model = Net() if model is None else model
    loop.watch(model)
    if isinstance(criterion, nn.Module):
        loop.watch(criterion, "criterion")
    optimizer = sgd(model) if optimizer is None else optimizer
    x, y = batch()
    for _ in range(STEPS):
        with loop.step():
            if loader is not None:
                x, y = next_batch(loop, loader)
            step(loop, model, criterion, optimizer, x, y, zero)
        after(model)
