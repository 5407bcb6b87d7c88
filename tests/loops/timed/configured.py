"""A script that Hydra configures: it calls `main` from its own frames; model and optimizer are made of what the configuration says."""

from dataclasses import dataclass, field

import hydra
import torch
from clocks import clock, updated
from hydra.core.config_store import ConfigStore
from hydra.utils import instantiate
from torch import nn


@dataclass
class Optimizer:
    _target_: str = "torch.optim.AdamW"
    lr: float = 1e-3


@dataclass
class Config:
    width: int = 192
    depth: int = 3
    updates: int = 70
    optimizer: Optimizer = field(default_factory=Optimizer)


ConfigStore.instance().store(name="config", node=Config)


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.into = nn.Linear(32, config.width)
        self.layers = nn.ModuleList(nn.Linear(config.width, config.width) for _ in range(config.depth))
        self.out = nn.Linear(config.width, 1)

    def forward(self, x):
        x = torch.tanh(self.into(x))
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.out(x)


def measurements(count):
    inputs = torch.rand(count, 32)
    for scale in (1.0, 2.0, 4.0, 8.0):
        inputs = inputs + torch.sin(inputs * scale) / scale
    return inputs, inputs.sum(1, keepdim=True).cos()


@hydra.main(version_base=None, config_name="config")
def main(config):
    torch.manual_seed(0)
    net = Net(config)
    optimizer = instantiate(config.optimizer, params=net.parameters())
    for update in range(config.updates):
        with clock("data"):
            inputs, targets = measurements(1024)
        with clock("forward"):
            loss = nn.functional.mse_loss(net(inputs), targets)
        optimizer.zero_grad()
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        if update % 10 == 0:
            with clock("validation"), torch.no_grad():
                nn.functional.mse_loss(net(measurements(2048)[0]), torch.zeros(2048, 1))
        updated(loss.item())


if __name__ == "__main__":
    main()
