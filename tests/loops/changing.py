"""Training scripts whose steps differ, with the truth in their traces (record.py): `changing.py layers`, `changing.py lengths`.

`layers`: a stack that leaves out layers at random. `lengths`: a cell that runs once for every element of a batch of changing length.
"""

from __future__ import annotations

import random
import sys

import torch
from record import range_around_calls
from torch import nn

WIDTH = 32


class Layer(nn.Module):
    """A feed-forward layer with a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.act = nn.GELU()
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(self.act(self.up(self.norm(x))))


class Stack(nn.Module):
    """Equal layers, of which a step leaves some out."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(5)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            if random.random() > 0.25:
                x = layer(x)
        return x


class Cell(nn.Module):
    """A recurrent cell of two equal layers."""

    def __init__(self) -> None:
        super().__init__()
        self.of_input, self.of_state = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.of_input(x) + self.of_state(state))


class Recurrent(nn.Module):
    """Its cell over a length that changes from batch to batch."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = Cell()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x)
        for _ in range(random.randint(2, 6)):
            state = self.cell(x, state)
        return state


class Net(nn.Module):
    """What changes, between layers that do not."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.first, self.body, self.head = nn.Linear(WIDTH, WIDTH), body, nn.Linear(WIDTH, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.body(torch.sigmoid(self.first(x)))))


def main() -> None:
    """Enough steps for warm-up, plain, measured and map step."""
    torch.set_num_threads(1)
    random.seed(int(sys.argv[2]))
    model = Net(Stack() if sys.argv[1] == "layers" else Recurrent())
    for path, module in model.named_modules():
        if not list(module.children()):
            range_around_calls(path, module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(16, WIDTH), torch.randint(0, 10, (16,))
    for _ in range(24):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
