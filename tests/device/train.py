"""What the device check profiles: an ordinary training loop that keeps its own clock.

The last line on stdout is a JSON object: losses, milliseconds of one step (median over the second half, the device waited for at every
step's end only where `--clock` asks for it), and the most bytes that a step of the second half had allocated on the device.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from models import GPT, ResNet
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

VOCABULARY, LENGTH = 512, 64


class Images(Dataset):
    """Made-up images; `slow` seconds to read one."""

    def __init__(self, count: int, side: int, slow: float) -> None:
        self.count, self.side, self.slow = count, side, slow

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(self.slow)
        made = torch.Generator().manual_seed(index)
        return torch.randn(3, self.side, self.side, generator=made), index % 10


class Text(Dataset):
    """Made-up tokens."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        drawn = torch.randint(VOCABULARY, (LENGTH + 1,), generator=torch.Generator().manual_seed(index))
        return drawn[:-1], drawn[1:]


def with_truth(model: nn.Module) -> None:
    """Ranges of its own around each leaf's work, forward and backward."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
    from truth_model import range_around_calls

    for path, module in model.named_modules():
        if not list(module.children()):
            range_around_calls(path, module)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=["resnet", "gpt"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--slow", type=float, default=0.0, help="seconds to read one sample")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--graphs", action="store_true", help="forward and backward as CUDA graphs")
    parser.add_argument("--truth", action="store_true", help="ranges around each leaf's work")
    parser.add_argument("--clock", action="store_true", help="wait for the device at the end of each step")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    cuda = options.device == "cuda"
    images, count = options.model == "resnet", options.steps * options.batch_size
    model: nn.Module = ResNet(options.width) if images else GPT(VOCABULARY, options.width, 4, LENGTH)
    data: Dataset = Images(count, 32, options.slow) if images else Text(count)
    model.to(options.device)
    loader = DataLoader(data, options.batch_size, num_workers=options.workers, pin_memory=cuda, drop_last=True)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9) if images else torch.optim.AdamW(model.parameters(), 1e-3)
    if options.truth:
        with_truth(model)
    forward = torch.compile(model) if options.compile else model
    if options.graphs:
        forward = torch.cuda.make_graphed_callables(model, (next(iter(loader))[0].to(options.device),))
    scaler = torch.amp.GradScaler(options.device, enabled=options.amp and cuda)
    losses = torch.zeros(options.steps, device=options.device)
    times, peak = [], 0
    begin = time.perf_counter()
    for step, (x, y) in enumerate(loader):
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        x, y = x.to(options.device, non_blocking=True), y.to(options.device, non_blocking=True)
        with torch.autocast(options.device, dtype=torch.float16 if cuda else torch.bfloat16, enabled=options.amp):
            loss = F.cross_entropy(forward(x).flatten(0, -2), y.flatten())
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses[step] = loss.detach()
        if cuda:
            if step >= options.steps // 2:
                peak = max(peak, torch.cuda.max_memory_allocated())
            if options.clock:
                torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
        begin = time.perf_counter()
    told = {"losses": losses.tolist(), "step_ms": statistics.median(times[len(times) // 2 :]) * 1e3, "peak_bytes": peak}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
