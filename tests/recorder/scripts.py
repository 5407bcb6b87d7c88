"""Small training scripts that the tests vary."""

MODEL = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        return self.b(self.a(x).relu())


def loader(n=400, **more):
    return DataLoader(TensorDataset(torch.randn(n, 8), torch.randint(0, 3, (n,))), batch_size=8, **more)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
"""

STEP = """\
optimizer.zero_grad()
loss = criterion(model(x), y)
loss.backward()
optimizer.step()
"""


def indent(text: str, by: int = 4) -> str:
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))


def loop(data: str = "loader()", step: str = STEP, after: str = "") -> str:
    """A plain loop over a DataLoader."""
    return MODEL + f"for x, y in {data}:\n{indent(step)}{after}"


def counted_loop(steps: int, step: str = STEP, after: str = "") -> str:
    """A loop without a DataLoader."""
    body = "x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))\n" + step
    return MODEL + f"for i in range({steps}):\n{indent(body)}{after}"
