"""Train one model of the catalog for some steps on random data: `train.py NAME`. A script as people write it; nothing of Hotlens in it."""

import sys

import catalog
import torch


def main(name, steps=40, before_last=lambda: None):
    torch.manual_seed(0)
    model, compute_loss = catalog.MODELS[name]()
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range(steps):
        if step == steps - 1:
            before_last()
        optimizer.zero_grad()
        loss = compute_loss(model)
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    main(sys.argv[1])
