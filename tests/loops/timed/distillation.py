"""A small net learns from a large one: the teacher's forward without gradients is most of each step."""

import torch
from clocks import clock, updated
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def net(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, 10),
    )


teacher, student = net(48).eval(), net(8)
optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
data = torch.utils.data.TensorDataset(torch.randn(128, 3, 20, 20), torch.randint(0, 10, (128,)))
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)


@torch.no_grad()
def taught(images):
    return F.softmax(teacher(images) / 4, dim=1)


def accuracy():
    student.eval()
    with torch.no_grad():
        right = sum(student(images).argmax(1).eq(labels).sum().item() for images, labels in loader)
    student.train()
    return right / len(data)


for _epoch in range(14):
    for images, labels in loader:
        with clock("teacher"):
            soft = taught(images)
        with clock("student"):
            out = student(images)
        loss = F.kl_div(F.log_softmax(out / 4, dim=1), soft, reduction="batchmean") + F.cross_entropy(out, labels)
        with clock("zero"):
            optimizer.zero_grad()
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        updated(loss.item())
    with clock("accuracy"):
        accuracy()
