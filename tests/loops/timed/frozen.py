"""Fine-tuning: a backbone without gradients, a head that learns, augmentation in numpy, a validation every eighth update."""

import numpy as np
import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)
random = np.random.default_rng(0)
backbone = nn.Sequential(nn.Conv2d(3, 24, 3), nn.ReLU(), nn.Conv2d(24, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
head = nn.Linear(128, 5)
model = nn.Sequential(backbone, head)
for parameter in backbone.parameters():
    parameter.requires_grad_(False)
optimizer = torch.optim.AdamW((each for each in model.parameters() if each.requires_grad), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)


def augment(images):
    out = np.empty_like(images)
    for at, image in enumerate(images):
        if random.random() < 0.5:
            image = image[:, :, ::-1]
        out[at] = np.roll(image, int(random.integers(-2, 3)), axis=2) * random.uniform(0.8, 1.2)
    return out


def fetch(count=32):
    return random.standard_normal((count, 3, 24, 24), dtype=np.float32), torch.from_numpy(random.integers(0, 5, count))


def validate(count):
    model.eval()
    with torch.inference_mode():
        losses = [
            nn.functional.cross_entropy(model(torch.from_numpy(images)), labels).item()
            for images, labels in (fetch() for _ in range(count))
        ]
    model.train()
    return sum(losses) / count


for step in range(128):
    with clock("fetch"):
        images, labels = fetch()
    with clock("augment"):
        images = torch.from_numpy(augment(images))
    with clock("forward"):
        loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    with clock("backward"):
        loss.backward()
    with clock("optimizer"):
        optimizer.step()
    scheduler.step()
    updated(loss.item())
    if (step + 1) % 8 == 0:
        with clock("validation"):
            validate(4)
