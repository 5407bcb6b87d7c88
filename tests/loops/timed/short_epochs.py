"""Slow steps, few batches an epoch, two passes an update, an evaluation after each epoch: few updates are watched, and how often the
evaluation came among them is chance."""

import torch
from clocks import clock, updated
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Sharp(torch.optim.SGD):
    """Sharpness-aware: up to where the loss is worst nearby, and from there down."""

    @torch.no_grad()
    def climb(self, radius=0.05):
        parameters = [p for group in self.param_groups for p in group["params"]]
        norm = torch.stack([p.grad.norm() for p in parameters]).norm()
        self.added = [(p, p.grad * (radius / norm)) for p in parameters]
        for p, more in self.added:
            p.add_(more)
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, more in self.added:
            p.sub_(more)
        self.step()
        self.zero_grad()


def rise(optimizer, loss):
    loss.backward()
    optimizer.climb()


def fall(optimizer, loss):
    loss.backward()
    optimizer.descend()
    return float(loss.detach())


@torch.no_grad()
def count_right(net, loader):
    net.eval()
    return sum(int((net(images).argmax(1) == labels).sum()) for images, labels in loader)


def main():
    body = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)]
    net = nn.Sequential(*body, nn.Flatten(), nn.Linear(128, 10))
    optimizer = Sharp(net.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss()
    data = TensorDataset(torch.randn(224, 3, 40, 40), torch.randint(0, 10, (224,)))
    held_out = DataLoader(data, batch_size=224)
    for _epoch in range(5):
        net.train()
        for images, labels in DataLoader(data, batch_size=16, shuffle=True):
            with clock("first pass"):
                rise(optimizer, criterion(net(images), labels))
            with clock("second pass"):
                loss = fall(optimizer, criterion(net(images), labels))
            updated(loss)
        with clock("evaluation"):
            right = count_right(net, held_out)
        print(right)


main()
