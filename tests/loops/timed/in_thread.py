"""Training in a thread of its own, while the main thread waits and prints now and then."""

import threading

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters())


def train():
    for _update in range(120):
        with clock("batch"):
            inputs = torch.tensor([[float((at * row) % 11) for at in range(64)] for row in range(32)])
        targets = torch.randint(0, 10, (32,))
        with clock("forward"):
            loss = nn.functional.cross_entropy(model(inputs), targets)
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        updated(loss.item())


thread = threading.Thread(target=train)
thread.start()
while thread.is_alive():
    thread.join(timeout=0.05)
