"""A physics-informed net: gradients inside the residual, so that the line that computes it is most of the step."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, 1))

    def residual(self, points):
        points = points.requires_grad_(True)
        value = self.net(points)
        (first,) = torch.autograd.grad(value.sum(), points, create_graph=True)
        (second,) = torch.autograd.grad(first[:, 0].sum(), points, create_graph=True)
        return first[:, 1] - 0.1 * second[:, 0]


field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
for _step in range(60):
    points = torch.rand(1024, 2)
    with clock("residual"):
        loss = field.residual(points).square().mean()
    optimizer.zero_grad()
    with clock("backward"):
        loss.backward()
    with clock("optimizer"):
        optimizer.step()
    with clock("logging"):
        text = [f"{value:.3f}" for value in points.flatten().tolist()]
    updated(loss.item())
