"""An optimizer for each parameter, a hundred of them, that all step in every update."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*(layer for _ in range(50) for layer in (nn.Linear(32, 32), nn.Tanh())), nn.Linear(32, 4))
optimizers = [torch.optim.Adam([parameter]) for parameter in model.parameters()]


def each(optimizers, method):
    for optimizer in optimizers:
        getattr(optimizer, method)()


for _update in range(60):
    inputs, targets = torch.randn(32, 32), torch.randint(0, 4, (32,))
    with clock("forward"):
        loss = nn.functional.cross_entropy(model(inputs), targets)
    with clock("backward"):
        loss.backward()
    with clock("updates"):
        each(optimizers, "step")
    with clock("zero"):
        each(optimizers, "zero_grad")
    updated(loss.item())
