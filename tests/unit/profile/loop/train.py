import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
crit = nn.CrossEntropyLoss()
X, Y = torch.randn(2048, 64), torch.randint(0, 10, (2048,))


def get_batch():
    i = torch.randint(0, len(X), (256,))
    return X[i], Y[i]


def evaluate():
    net.eval()
    with torch.no_grad():
        total = 0.0
        for _ in range(20):
            x, y = get_batch()
            total += crit(net(x), y).item()
    net.train()
    return total / 20


for it in range(400):
    if it % 12 == 0:
        evaluate()
    x, y = get_batch()
    loss = crit(net(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
