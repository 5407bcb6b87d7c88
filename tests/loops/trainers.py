"""Loops as the trainers of other packages write them, which do something else than a person who writes a loop; marked as in shapes.py."""

from __future__ import annotations

from typing import Any

import torch
from models import Net, batch
from record import STEPS, Loop
from torch import nn
from training import loader_of, next_batch, pass_through, sgd, train, update, zero_grad


def batches_first(loop: Loop) -> None:
    """Fetches all batches of an accumulation, then runs them, as transformers' trainer does."""
    model, loader = Net(), loader_of(8, 2 * STEPS)
    optimizer = sgd(model)
    for _ in range(STEPS):
        with loop.step():
            batches = [next_batch(loop, loader) for _ in range(2)]
            for x, y in batches:
                pass_through(loop, lambda x=x: model(x), lambda out, y=y: nn.functional.cross_entropy(out, y) / 2)
            update(loop, optimizer)
            zero_grad(loop, optimizer)


def one_batch_ahead(loop: Loop) -> None:
    """Fetches the next batch before it works on this one, as accelerate does; the last step fetches none."""
    model, loader = Net(), loader_of(16, STEPS)
    optimizer = sgd(model)
    following = next(loader)
    for count in range(STEPS):
        with loop.step():
            x, y = following
            if count + 1 < STEPS:
                following = next_batch(loop, loader)
            pass_through(loop, lambda x=x: model(x), lambda out, y=y: nn.functional.cross_entropy(out, y))
            update(loop, optimizer)
            zero_grad(loop, optimizer)


class Wrapping(torch.optim.Optimizer):
    """An optimizer around another: both are optimizers to torch."""

    def __init__(self, inner: torch.optim.Optimizer) -> None:
        super().__init__(inner.param_groups, {})
        self.inner = inner

    def step(self, closure: Any = None) -> None:
        """Decays what the other then updates."""
        with torch.no_grad():
            for group in self.param_groups:
                torch._foreach_mul_(group["params"], 0.999)
        self.inner.step(closure)


def optimizer_in_optimizer(loop: Loop) -> None:
    """A wrapper's step runs the step of the optimizer inside it."""
    model = Net()
    train(loop, model, optimizer=Wrapping(sgd(model)))


def skipped_updates(loop: Loop) -> None:
    """Gradients of the second step are infinite: the scaler leaves the optimizer out."""
    model = Net()
    optimizer = sgd(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    x, y = batch()
    for count in range(STEPS):
        with loop.step():
            zero_grad(loop, optimizer)
            with loop.stage("forward"):
                out = model(x)
            with loop.stage("loss"):
                loss = nn.functional.cross_entropy(out, y) * (float("inf") if count == 1 else 1.0)
                scaled = scaler.scale(loss)
            with loop.stage("backward"):
                scaled.backward()
            with loop.stage("optimizer|other"):
                scaler.step(optimizer)
                scaler.update()


def functional_gradients(loop: Loop) -> None:
    """torch.func.grad: no backward of a tensor, no gradient on a parameter, an update by hand."""
    model = Net()
    x, y = batch()
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss_of(parameters: dict[str, torch.Tensor]) -> torch.Tensor:
        with loop.stage("forward"):
            out = torch.func.functional_call(model, parameters, (x,))
        with loop.stage("loss"):
            return nn.functional.cross_entropy(out, y)

    for _ in range(STEPS):
        with loop.step():
            with loop.stage("backward"):
                gradients = torch.func.grad(loss_of)(parameters)
            with loop.stage("optimizer"), torch.no_grad():
                for name, parameter in parameters.items():
                    parameter.sub_(gradients[name], alpha=0.1)


def functional_parameters(loop: Loop) -> None:
    """New parameters computed from the old ones and their gradients, as in meta-learning; gradients stay enabled."""
    model = Net()
    x, y = batch()
    parameters = {name: parameter.detach().requires_grad_() for name, parameter in model.named_parameters()}
    for _ in range(STEPS):
        with loop.step():
            with loop.stage("forward"):
                out = torch.func.functional_call(model, parameters, (x,))
            with loop.stage("loss"):
                loss = nn.functional.cross_entropy(out, y)
            with loop.stage("backward"):
                gradients = torch.autograd.grad(loss, list(parameters.values()))
            with loop.stage("optimizer"):
                new = [(old - 0.1 * gradient).detach() for old, gradient in zip(parameters.values(), gradients, strict=True)]
                parameters = {name: value.requires_grad_() for name, value in zip(parameters, new, strict=True)}


class OwnCall(Net):
    """A model with a `__call__` of its own, as gpytorch's: no hook of torch's fires."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self.forward(x)


def own_call(loop: Loop) -> None:
    """The model's modules are called, the model never is."""
    train(loop, OwnCall())
