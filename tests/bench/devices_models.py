"""Trainings whose step is the device's work: `devices_models.py MODEL --device cuda|cpu`.

The last line on stdout is what a step took (ns), of two halves of the steps. On a GPU the models are large enough to keep it busy. Batches
are made on the device once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from predict_models import DLRM, LSTM, Batch, Transformer, UNet, ViT, clicks, continued, mobilenet, pictures, sentences
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "device"))
from models import ResNet

WARM_UP, TIMED = 10, 20


@dataclass(frozen=True)
class Training:
    """A model by its width, and a batch by its size; each on a CPU and on a GPU."""

    make: Callable[[int], nn.Module]
    batch: Callable[[int], Batch]
    widths: tuple[int, int]
    sizes: tuple[int, int]


TRAININGS = {
    "resnet": Training(ResNet, pictures, (32, 128), (16, 512)),
    "mobilenet": Training(lambda _: mobilenet(), pictures, (0, 0), (16, 4096)),
    "unet": Training(lambda _: UNet(), pictures, (0, 0), (8, 2048)),
    "gpt": Training(lambda width: Transformer(True, width), continued, (96, 1024), (8, 512)),
    "bert": Training(lambda width: Transformer(False, width), sentences, (96, 768), (16, 512)),
    "vit": Training(ViT, pictures, (96, 768), (16, 1024)),
    "lstm": Training(lambda _: LSTM(), continued, (0, 0), (16, 1024)),
    "dlrm": Training(lambda _: DLRM(), clicks, (0, 0), (256, 65536)),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=TRAININGS)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--amp", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    training, cuda = TRAININGS[options.model], options.device == "cuda"
    model = training.make(training.widths[cuda]).to(options.device)
    *inputs, target = (each.to(options.device) for each in training.batch(training.sizes[cuda]))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    clock = []
    for step in range(WARM_UP + 2 * TIMED + 1):
        if step in (WARM_UP, WARM_UP + TIMED, WARM_UP + 2 * TIMED):
            if cuda:
                torch.cuda.synchronize()
            clock.append(time.perf_counter())
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.amp):
            loss = F.cross_entropy(model(*inputs), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps({"step_ns": [(end - begin) / TIMED * 1e9 for begin, end in pairwise(clock)]}))


if __name__ == "__main__":
    main()
