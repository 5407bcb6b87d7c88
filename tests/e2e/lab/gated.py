"""A script with a gated recurrence, for edits of its loop over time: `SCRIPT.format(shape=(rows, steps, width), dtype="float32")`."""

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
torch.set_default_dtype(torch.{dtype})
ROWS, STEPS, WIDTH = {shape}


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.into = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        gate, step = torch.sigmoid(self.gate(x)), self.into(x)
        state, states = x.new_zeros(x.size(0), x.size(2)), []
        for t in range(x.size(1)):
            state = gate[:, t] * state + (1 - gate[:, t]) * step[:, t]
            states.append(state)
        return torch.stack(states, 1)


model = nn.Sequential(nn.Embedding(64, WIDTH), Mixer(WIDTH), Mixer(WIDTH), nn.Linear(WIDTH, 64))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for update in range(80):
    tokens = torch.randint(0, 64, (ROWS, STEPS + 1))
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""
