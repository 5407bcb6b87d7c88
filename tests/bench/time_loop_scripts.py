"""Training scripts whose loops over time are written as people write them, and models without one: `NAME: (body, wanted)`.

A body defines `Model`; `T` steps, `B` sequences, `W` features. What is `wanted` is that the loop differentiates `x[t]` more than 16 times.
"""

from __future__ import annotations

import re

TRAINING = """\
import random, torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
random.seed(0)
T, B, W = {steps}, {batch}, {width}
{body}
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(60):
    x, y = torch.randn(B, T, 16), torch.randint(10, (B,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""

# A model of one cell; STEPS is its loop.
CELL = """\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.cell, self.head = nn.Linear(16, W), nn.GRUCell(W, W), nn.Linear(W, 10)
    def forward(self, x):
        x = self.into(x)
        h = x.new_zeros(B, W)
        STEPS
        return self.head(h)
"""


def cell(steps: str, having: str = "", **also: str) -> str:
    """A model of one cell with this loop; `having`: what else it makes; `also`: other words for what it has."""
    text = CELL.replace("    def forward", f"        {having}\n    def forward") if having else CELL
    for was, now in also.items():
        text = text.replace(was, now)
    return re.sub(r"^( *)STEPS", lambda found: "\n".join(found[1] + line for line in steps.splitlines()), text, flags=re.M)


LOOPS = {
    "x[:, t]": cell("for t in range(T):\n    h = self.cell(x[:, t], h)"),
    "x[:, t, :]": cell("for t in range(x.size(1)):\n    h = self.cell(x[:, t, :], h)"),
    "x[t]": cell("x = x.transpose(0, 1).contiguous()\nfor t in range(len(x)):\n    h = self.cell(x[t], h)"),
    "x[t, :]": cell("x = x.transpose(0, 1)\nfor t in range(T):\n    h = self.cell(x[t, :], h)"),
    "x[t, :, :]": cell("x = x.permute(1, 0, 2)\nfor t in range(T):\n    h = self.cell(x[t, :, :], h)"),
    "x[..., t]": cell("x = x.transpose(1, 2)\nfor t in range(T):\n    h = self.cell(x[..., t], h)"),
    "x.select(1, t)": cell("for t in range(T):\n    h = self.cell(x.select(1, t), h)"),
    "torch.select": cell("for t in range(T):\n    x_t = torch.select(x, 1, t)\n    h = self.cell(x_t, h)"),
    "a tensor's number": cell("for t in torch.arange(T):\n    h = self.cell(x[:, t], h)"),
    "from the end": cell("for t in range(T):\n    h = self.cell(x[:, -1 - t], h)"),
    "a while loop": cell("t = 0\nwhile t < T:\n    h = self.cell(x[:, t], h)\n    t += 1"),
    "transposed in the loop": cell("for t in range(T):\n    h = self.cell(x.transpose(0, 1)[t], h)"),
    "a list of steps": cell("steps = [x[:, t] for t in range(T)]\nfor step in steps:\n    h = self.cell(step, h)"),
    "residual": cell("for t in range(T):\n    h = h + torch.tanh(self.cell(x[:, t], h)) * torch.sigmoid(x[:, t])"),
    "both directions": cell(
        "b = h\nfor t in range(T):\n    h = self.cell(x[:, t], h)\nfor t in reversed(range(T)):\n    b = self.cell(x[:, t], b)\nh = h + b"
    ),
    "two layers": cell(
        "for cell in (self.cell, self.second):\n    outs = []\n    for t in range(T):\n        h = cell(x[:, t], h)\n"
        "        outs.append(h)\n    x = torch.stack(outs, 1)",
        **{
            "self.head = nn.Linear(16, W)": "self.second, self.head = nn.Linear(16, W)",
            "nn.GRUCell(W, W), nn": "nn.GRUCell(W, W), nn.GRUCell(W, W), nn",
        },
    ),
    "half of the steps are taught": cell("for t in range(T):\n    h = self.cell(x[:, t] if random.random() < 0.6 else h, h)"),
    "checkpointed cell": cell("for t in range(T):\n    h = torch.utils.checkpoint.checkpoint(self.cell, x[:, t], h, use_reentrant=False)"),
    "state detached now and then": cell("for t in range(T):\n    h = self.cell(x[:, t], h.detach() if t == T // 4 else h)"),
    "a leaky integrator": cell(
        "for t in range(T):\n    h = torch.sigmoid(self.decay) * h + x[:, t]",
        **{"nn.GRUCell(W, W)": "None"},
        having="self.decay = nn.Parameter(torch.rand(W))",
    ),
    "spikes": cell(
        "for t in range(T):\n    h = 0.9 * h + x[:, t]\n    spike = torch.sigmoid(10 * (h - 1))\n    h = h - spike",
        **{"nn.GRUCell(W, W)": "None"},
    ),
    "a step's module gets the sequence": cell("for t in range(T):\n    h = self.step(x, h, t)")
    .replace(
        "class Model",
        "class Step(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.cell = nn.GRUCell(W, W)\n"
        "    def forward(self, x, h, t):\n        return self.cell(x[:, t], h)\nclass Model",
    )
    .replace("nn.GRUCell(W, W), nn", "None, nn")
    .replace("    def forward(self, x):", "        self.step = Step()\n    def forward(self, x):"),
    "a function takes the step": cell("for t in range(T):\n    h = self.cell(at(x, t), h)").replace(
        "class Model", "def at(x, t):\n    return x[:, t]\nclass Model"
    ),
    "gates made before the loop": cell(
        "gates = torch.sigmoid(self.gates(x))\nfor t in range(T):\n    h = gates[:, t] * h + (1 - gates[:, t]) * torch.tanh(x[:, t])",
        **{"nn.GRUCell(W, W)": "None"},
        having="self.gates = nn.Linear(W, W)",
    ),
    "attention decoder": cell(
        "words, outs = self.teach(x), []\nfor t in range(T):\n    score = F.softmax((x @ h.unsqueeze(-1)).squeeze(-1), -1)\n"
        "    read = (score.unsqueeze(1) @ x).squeeze(1)\n    h = self.cell(torch.cat([words[:, t], read], -1), h)\n    outs.append(h)\n"
        "h = torch.stack(outs, 1).mean(1)",
        **{"nn.GRUCell(W, W)": "nn.GRUCell(2 * W, W)"},
        having="self.teach = nn.Linear(W, W)",
    ),
    "pictures over time": cell(
        "x = x.unsqueeze(2).unsqueeze(-1).expand(B, T, 2, W, 8).contiguous()\nh = x.new_zeros(B, 2, W, 8)\n"
        "for t in range(T):\n    h = torch.tanh(self.conv(torch.cat([x[:, t], h], 1)))\nh = h.mean((1, 3))",
        having="self.conv = nn.Conv2d(4, 2, 3, padding=1)",
    ),
    "an outer module": cell("for t in range(T):\n    h = self.cell(x[:, t], h)")
    .replace("class Model", "class Inner")
    .replace("return self.head(h)", "return h")
    + "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.inner, self.head = Inner(), nn.Linear(W, 10)\n"
    "    def forward(self, x):\n        return self.head(self.inner(x))\n",
    "a parameter's rows": cell(
        "for t in range(T):\n    h = self.cell(self.rows[t].expand(B, W), h)", having="self.rows = nn.Parameter(torch.randn(T, 64 * W))"
    ).replace("self.rows[t].expand(B, W)", "self.rows[t].view(64, W)[:B]"),
}

QUIET = {
    "x.unbind": cell("for step in x.unbind(1):\n    h = self.cell(step, h)"),
    "over the tensor itself": cell("for step in x.transpose(0, 1):\n    h = self.cell(step, h)"),
    "over the batch's unbind, numbered": cell("for t, step in enumerate(torch.unbind(x, 1)):\n    h = self.cell(step, h)"),
    "x.split": cell("for step in x.split(1, 1):\n    h = self.cell(step.squeeze(1), h)"),
    "nn.GRU": cell("h = self.rnn(x)[0][:, -1]", having="self.rnn = nn.GRU(W, W, batch_first=True)"),
    "8 steps": cell("for t in range(8):\n    h = self.cell(x[:, t], h)"),
    "16 steps": cell("for t in range(16):\n    h = self.cell(x[:, t], h)"),
    "12 steps three times": cell(
        "for _ in range(3):\n    z = self.into(raw)\n    for t in range(12):\n        h = self.cell(z[:, t], h)"
    ).replace("x = self.into(x)", "raw, x = x, x"),
    "data that needs no gradient": cell("for t in range(T):\n    h = self.cell(x[:, t], h)").replace(
        "x = self.into(x)", "x = x.repeat(1, 1, W // 16)"
    ),
    "nobody differentiates": cell("with torch.no_grad():\n    for t in range(T):\n        h = self.cell(x[:, t], h)\nh = h + x.mean(1)"),
    "24 members, the first of each": cell(
        "h = sum(member(x)[:, 0] for member in self.members)", having="self.members = nn.ModuleList(nn.Linear(W, W) for _ in range(24))"
    ),
    "24 layers, the first token of each": cell(
        "tokens = []\nfor layer in self.layers:\n    y = layer(x)\n    tokens.append(y[:, 0])\nh = torch.stack(tokens).mean(0)",
        having="self.layers = nn.ModuleList(nn.Linear(W, W) for _ in range(24))",
    ),
    "24 layers, each read at its first token and by the next": cell(
        "tokens = []\nfor layer in self.layers:\n    x = x + torch.tanh(layer(x))\n    tokens.append(x[:, 0])\n"
        "h = torch.stack(tokens).mean(0)",
        having="self.layers = nn.ModuleList(nn.Linear(W, W) for _ in range(24))",
    ),
    "a shared layer 24 times": cell(
        "for _ in range(24):\n    x = torch.tanh(self.into2(x))\nh = x[:, -1]", having="self.into2 = nn.Linear(W, W)"
    ),
    "the last of each of 12 towers": cell(
        "h = sum(tower(x)[:, -1] for tower in self.towers)", having="self.towers = nn.ModuleList(nn.Linear(W, W) for _ in range(12))"
    ),
}
