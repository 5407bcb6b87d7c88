"""Train torchvision's ResNet-18 on random images."""

import torch
import torch.nn.functional as F

if not torch.backends.cuda.is_built():
    # The packaged torchvision is built for CUDA: beside a CPU torch its two operators have to be declared by hand.
    declared = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        declared.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torchvision

torch.manual_seed(0)
model = torchvision.models.resnet18(weights=None, num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for _ in range(40):
    images, labels = torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
