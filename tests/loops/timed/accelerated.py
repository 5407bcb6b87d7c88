"""accelerate: batches one ahead, accumulation over two of them, an evaluation and a checkpoint after each epoch."""

import torch
from accelerate import Accelerator
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model(inputs), targets).item() for inputs, targets in loader]
    model.train()
    return sum(losses) / len(losses)


def main():
    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
    model = nn.Sequential(nn.Linear(48, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(torch.randn(1280, 48), torch.randint(0, 8, (1280,)))
    loader = torch.utils.data.DataLoader(data, batch_size=64)
    testing = torch.utils.data.DataLoader(data, batch_size=128)
    model, optimizer, loader, testing = accelerator.prepare(model, optimizer, loader, testing)
    for _epoch in range(6):
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                with clock("forward"):
                    loss = nn.functional.cross_entropy(model(inputs), targets)
                with clock("backward"):
                    accelerator.backward(loss)
                with clock("optimizer"):
                    optimizer.step()
                with clock("zero"):
                    optimizer.zero_grad()
            updated(loss.item())
        with clock("evaluation"):
            evaluate(model, testing)
        with clock("checkpoint"):
            accelerator.save_state("checkpoint")


main()
