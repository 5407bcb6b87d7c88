"""Neighbours of a large graph sampled in Python for each batch of nodes, two layers that gather them."""

import random

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
random.seed(0)
NODES, FAN = 4000, 8
neighbours = [[random.randrange(NODES) for _ in range(random.randint(3, 30))] for _ in range(NODES)]
features, labels = torch.randn(NODES, 64), torch.randint(0, 10, (NODES,))


def sampled(nodes):
    """Of every node some neighbours: (node, FAN)."""
    return [[random.choice(neighbours[node]) for _ in range(FAN)] for node in nodes]


def batch_of(nodes):
    first = sampled(nodes)
    second = sampled([node for row in first for node in row])
    return torch.tensor(nodes), torch.tensor(first), torch.tensor(second)


class Mean(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        self.own, self.others = nn.Linear(into, out), nn.Linear(into, out)

    def forward(self, nodes, around):
        return torch.relu(self.own(nodes) + self.others(around.mean(1)))


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = Mean(64, 96), Mean(96, 96)
        self.head = nn.Linear(96, 10)

    def forward(self, nodes, first, second):
        near = self.inner(features[first].flatten(0, 1), features[second])
        here = self.inner(features[nodes], features[first])
        return self.head(self.outer(here, near.view(len(nodes), FAN, -1)))


class Trainer:
    def __init__(self):
        self.model = Graph()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.order = list(range(NODES))

    def epoch(self):
        with clock("shuffle"):
            random.shuffle(self.order)
        for at in range(0, 1600, 64):
            nodes = self.order[at : at + 64]
            with clock("sampling"):
                batch = batch_of(nodes)
            with clock("forward"):
                logits = self.model(*batch)
            loss = nn.functional.cross_entropy(logits, labels[batch[0]])
            self.optimizer.zero_grad()
            with clock("backward"):
                loss.backward()
            with clock("optimizer"):
                self.optimizer.step()
            updated(loss.item())


trainer = Trainer()
for _epoch in range(3):
    trainer.epoch()
