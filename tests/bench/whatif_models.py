"""The models of predict_models.py with a change really made: `whatif_models.py MODEL KIND`, KIND as `hotlens whatif` has it, or `none`.

With `--times` real steps instead: of the model as it is, of the changed one, and of the one as it is again, in turn, as JSON in seconds.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator

import torch
from predict_models import MODELS, Batch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

BATCH, FIRST, ROUNDS = 8, 4, 40
CHANNELS_LAST = torch.channels_last


def replace_gelu(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.GELU):
            setattr(module, name, nn.ReLU())
        else:
            replace_gelu(child)


KINDS = {"none", "no_dropout", "batch_norm_eval", "gelu_to_relu", "channels_last", "foreach_optimizer", "fused_optimizer", "autocast_bf16"}


class Training:
    """A model and its optimizer, changed."""

    def __init__(self, name: str, kinds: set[str]) -> None:
        assert kinds <= KINDS, f"not known here: {kinds - KINDS}"
        build, self.make = MODELS[name]
        torch.manual_seed(0)
        self.kinds, self.model = kinds, build()
        for module in self.model.modules():
            if isinstance(module, nn.Dropout) and "no_dropout" in kinds:
                module.p = 0.0
            if isinstance(module, nn.BatchNorm2d) and "batch_norm_eval" in kinds:
                module.eval()
        if "gelu_to_relu" in kinds:
            replace_gelu(self.model)
        if "channels_last" in kinds:
            self.model.to(memory_format=CHANNELS_LAST)  # type: ignore[call-overload]
        how = {key: True for key in ("foreach", "fused") if f"{key}_optimizer" in kinds}
        self.optimizer = torch.optim.Adam(self.model.parameters(), **how)  # type: ignore[arg-type]

    def batches(self, steps: int) -> Iterator[Batch]:
        return iter(DataLoader(TensorDataset(*self.make(BATCH * steps)), batch_size=BATCH))

    def step(self, batch: Batch) -> None:
        *inputs, target = batch
        del batch
        if "channels_last" in self.kinds:
            inputs = [x.to(memory_format=CHANNELS_LAST) if x.dim() == 4 else x for x in inputs]
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16) if "autocast_bf16" in self.kinds else contextlib.nullcontext():
            loss = F.cross_entropy(self.model(*inputs), target.flatten())
        loss.backward()
        self.optimizer.step()


def times(name: str, kinds: set[str]) -> dict[str, list[float]]:
    """Seconds of each step, with the fetch of its batch as in a recorded step."""
    trainings = {"plain": Training(name, set()), "changed": Training(name, kinds), "again": Training(name, set())}
    loaders = {role: training.batches(FIRST + ROUNDS) for role, training in trainings.items()}
    found: dict[str, list[float]] = {role: [] for role in trainings}
    for number in range(FIRST + ROUNDS):
        for role, training in trainings.items():
            begin = time.perf_counter()
            training.step(next(loaders[role]))
            if number >= FIRST:
                found[role].append(time.perf_counter() - begin)
    return found


def main() -> None:
    name, kinds = sys.argv[1], set(sys.argv[2].split("+"))
    if "--times" in sys.argv:
        print(json.dumps(times(name, kinds)))
        return
    training, steps = Training(name, kinds), 60
    batches = training.batches(steps)
    for _ in range(steps):
        training.step(next(batches))  # nobody else holds the batch, so what is converted goes


if __name__ == "__main__":
    main()
