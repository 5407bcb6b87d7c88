"""A generator for a loader and numpy in the loop: the device-less kind of a loop that waits for its own Python."""

import numpy as np
import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
random = np.random.default_rng(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()


def batches(count):
    for _ in range(count):
        rows = []
        for _row in range(64):
            text = "".join(chr(97 + value % 26) for value in random.integers(0, 1000, 200))
            rows.append([text.count(chr(97 + at % 26)) / 200 for at in range(64)])
        yield np.array(rows, dtype=np.float32), random.integers(0, 2, 64)


def score(logits, labels):
    order = np.argsort(logits[:, 1].detach().numpy())
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    return float(sum(ranks[at] for at in range(len(order)) if labels[at] == 1))


source = batches(80)
while True:
    with clock("data"):
        batch = next(source, None)
    if batch is None:
        break
    inputs, labels = torch.from_numpy(batch[0]), torch.from_numpy(batch[1])
    with clock("forward"):
        logits = model(inputs)
    loss = criterion(logits, labels)
    optimizer.zero_grad()
    with clock("backward"):
        loss.backward()
    with clock("optimizer"):
        optimizer.step()
    with clock("metric"):
        area = sum(score(logits, labels) for _ in range(12))
    updated(loss.item())
