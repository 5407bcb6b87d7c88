"""One rank of data-parallel training over Gloo on this machine: `python parallel.py RANK PORT FOLDER` writes FOLDER/rank-RANK.json."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


def main(rank: int, port: int, folder: Path) -> None:
    """Three steps, each with an all-reduce of the gradients."""
    torch.set_num_threads(1)
    store = torch.distributed.TCPStore("127.0.0.1", port, 2, is_master=rank == 0)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 32), torch.randint(0, 10, (16,))
    nn.functional.cross_entropy(model(x), y).backward()
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    profiler.export_chrome_trace(str(folder / f"rank-{rank}.json"))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
