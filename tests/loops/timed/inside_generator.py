"""A training that yields its losses: whoever asks for the next one makes the next update."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


def losses(model, count):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(count):
        with clock("batch"):
            inputs = torch.randn(128, 64)
        with clock("forward"):
            loss = (model(inputs) - inputs.sin()).square().mean()
        optimizer.zero_grad()
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        yield loss.item()


def smooth(history):
    out = []
    for value in history[-40:] * 20:
        out.append(value if not out else 0.9 * out[-1] + 0.1 * value)
    return out[-1]


history = []
for loss in losses(nn.Sequential(nn.Linear(64, 160), nn.Tanh(), nn.Linear(160, 64)), 320):
    history.append(loss)
    with clock("smoothing"):
        smooth(history)
    updated(loss)
    if len(history) % 20 == 0:
        with clock("table"):
            table = "\n".join(f"{at:5} {value:9.5f}" for at, value in enumerate(history[-80:] * 40))
