"""DistributedDataParallel under its own process group, gradients accumulated without communication, a sampler that is told the epoch."""

import contextlib
import tempfile

import torch
from clocks import clock, updated
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

torch.manual_seed(0)


def main():
    with tempfile.NamedTemporaryFile() as store:
        distributed.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
        model = DistributedDataParallel(
            nn.Sequential(
                nn.Conv2d(3, 16, 3, padding=1),
                nn.BatchNorm2d(16),
                nn.ReLU(),
                nn.MaxPool2d(4),
                nn.Flatten(),
                nn.Linear(1024, 64),
                nn.ReLU(),
                nn.Linear(64, 10),
            )
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        data = TensorDataset(torch.randn(960, 3, 32, 32), torch.randint(0, 10, (960,)))
        sampler = DistributedSampler(data, 1, 0)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for number, (images, targets) in enumerate(loader):
                last = number % 2 == 1
                with contextlib.nullcontext() if last else model.no_sync():
                    with clock("forward"):
                        logits = model(images)
                    loss = nn.functional.cross_entropy(logits, targets)
                    with clock("backward"):
                        loss.backward()
                if last:
                    with clock("optimizer"):
                        optimizer.step()
                    optimizer.zero_grad()
                    with clock("agree"):
                        distributed.all_reduce(total := loss.detach().clone())
                    updated(total.item())
        distributed.destroy_process_group()


main()
