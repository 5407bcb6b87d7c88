"""A mixture of experts: each token goes to one of four, so that which expert runs how long changes from step to step."""

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w1 = nn.Linear(width, 4 * width)
        self.w2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.w2(torch.relu(self.w1(x)))


class Mixture(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(Expert(width) for _ in range(count))

    def forward(self, x):
        chance, chosen = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero()[:, 0]
            if len(rows):
                out.index_add_(0, rows, expert(x[rows]) * chance[rows, None])
        return out


model = nn.Sequential(nn.Linear(32, 96), Mixture(96, 4), nn.Linear(96, 8))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(60):
    inputs, targets = torch.randn(512, 32), torch.randint(0, 8, (512,))
    with clock("forward"):
        out = model(inputs)
    with clock("loss"):
        loss = nn.functional.cross_entropy(out, targets)
    with clock("backward"):
        loss.backward()
    with clock("optimizer"):
        optimizer.step()
    with clock("zero"):
        optimizer.zero_grad()
    updated(loss.item())
    if step % 12 == 11:
        with clock("saving"):
            torch.save(model.state_dict(), "experts.pt")
