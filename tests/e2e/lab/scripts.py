"""Training scripts that are recorded: `python NAME.py BATCH`."""

from __future__ import annotations

LOOP = """
import sys
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

BATCH = int(sys.argv[1])
{model}
data = TensorDataset(*tensors(20 * BATCH))
for x, y in DataLoader(data, batch_size=BATCH):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    {clip}
    optimizer.step()
"""

VISION = """
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32, 10))
optimizer = torch.optim.Adam(model.parameters())
tensors = lambda n: (torch.randn(n, 3, 32, 32), torch.randint(10, (n,)))
"""

TEXT = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 48)
        self.lstm = nn.LSTM(48, 64, batch_first=True)
        self.head = nn.Linear(64, 500)
    def forward(self, x):
        out, _ = self.lstm(self.embed(x))
        pooled = out.reshape(x.shape[0] * 16, -1).view(x.shape[0], 16, 64).mean(1)
        return self.head(pooled)
model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
tensors = lambda n: (torch.randint(500, (n, 16)), torch.randint(500, (n,)))
"""

# One more operator where the batch is large.
BRANCHING = VISION.replace("nn.Dropout(0.2)", "nn.Dropout(0.2), *([nn.Tanh()] if BATCH > 6 else [])")

# How many there are decides a size.
COUNTING = TEXT.replace("return self.head(pooled)", "return self.head(pooled) + x[x >= 250].sum() / 500")

SCRIPTS = {
    "vision": LOOP.format(model=VISION, clip=""),
    "text": LOOP.format(model=TEXT, clip="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    "counting": LOOP.format(model=COUNTING, clip=""),
    "branching": LOOP.format(model=BRANCHING, clip=""),
}
