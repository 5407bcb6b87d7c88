"""tqdm with live metrics: reading the loss each step, a confusion matrix in Python, a bar that is drawn anew."""

import torch
from clocks import clock, updated
from torch import nn
from tqdm import tqdm

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(50, 128), nn.ReLU(), nn.Linear(128, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = torch.utils.data.TensorDataset(torch.randn(960, 50), torch.randint(0, 5, (960,)))
loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
matrix = [[0] * 5 for _ in range(5)]

for _epoch in range(24):
    bar = tqdm(loader, mininterval=0, ncols=60)
    for inputs, targets in bar:
        with clock("zero"):
            optimizer.zero_grad()
        with clock("forward"):
            out = model(inputs)
        loss = nn.functional.cross_entropy(out, targets)
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        with clock("matrix"):
            for said, right in zip(out.argmax(1), targets, strict=True):
                matrix[int(right)][int(said)] += 1
        with clock("bar"):
            bar.set_postfix(loss=f"{loss.item():.3f}", right=sum(matrix[at][at] for at in range(5)))
        updated(loss.item())
