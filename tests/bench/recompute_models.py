"""Models with blocks as a training script: `recompute_models.py MODEL`.

With `--truth CHOICES` (a JSON list of lists of module paths) instead: for each choice the model whose blocks are really checkpointed
(torch.utils.checkpoint, use_reentrant=False), as JSON. `rise_bytes` of one step above what was there when it began, as the recorder
measures it; `gradients_equal` to the model without; `seconds` of real steps, of the model without, of all choices, and of the one without
again, in turn.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from predict_models import Batch, Layer, Residual, Transformer, UNet, ViT, continued, conv, mobilenet, pictures, sentences
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "annotator/recorder"))
from hotlens.program.allocator import highest_rise
from hotlens.program.program import BEGIN, END

FIRST, ROUNDS, STEPS = 4, 30, 40


def words(causal: bool) -> nn.Module:
    model = Transformer(causal, 192)
    model.layers = nn.ModuleList(Layer(192, 4, causal) for _ in range(6))
    return model


def patches() -> nn.Module:
    model = ViT(192)
    model.layers = nn.Sequential(*[Layer(192, 4, False) for _ in range(6)])
    return model


def resnet() -> nn.Module:
    sizes = ((32, 32), (32, 32), (32, 64), (64, 64), (64, 128), (128, 128))
    blocks = [Residual(nn.Sequential(conv(i, o, stride=o // i), conv(o, o)), conv(i, o, 1, o // i)) for i, o in sizes]
    return nn.Sequential(conv(3, 32), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


# How it is built, its data, and the batch size: small enough for a short step, large enough that the peak is not in the optimizer.
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Batch], int]] = {
    "gpt": (lambda: words(True), continued, 8),
    "bert": (lambda: words(False), sentences, 8),
    "vit": (patches, pictures, 32),
    "resnet": (resnet, pictures, 8),
    "unet": (UNet, pictures, 16),
    "mobilenet": (mobilenet, pictures, 16),
}


def run_again(module: nn.Module) -> None:
    forward = module.forward
    module.forward = lambda *inputs: checkpoint(forward, *inputs, use_reentrant=False)  # type: ignore[method-assign]


class Training:
    def __init__(self, name: str, blocks: list[str]) -> None:
        torch.manual_seed(0)
        build, self.make, self.batch = MODELS[name]
        self.model = build()
        for path in blocks:
            run_again(self.model.get_submodule(path))
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def batches(self, steps: int) -> Iterable[Batch]:
        return DataLoader(TensorDataset(*self.make(self.batch * steps)), batch_size=self.batch)

    def step(self, batch: Batch) -> None:
        self.optimizer.zero_grad()
        with record_function(BEGIN):
            pass
        loss = F.cross_entropy(self.model(*batch[:-1]), batch[-1].flatten())
        loss.backward()
        self.optimizer.step()
        with record_function(END):
            pass

    def gradients(self) -> list[torch.Tensor]:
        return [p.grad.clone() for p in self.model.parameters() if p.grad is not None]


def rise(training: Training, batch: Batch) -> int:
    """The most that a step allocates above what was there, after one that the profiler saw too."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        for _ in range(2):
            training.step(batch)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiled.export_chrome_trace(file.name)
        events = json.loads(Path(file.name).read_text())["traceEvents"]
    last = max(float(e["ts"]) for e in events if e.get("name") == BEGIN)
    kept = [e for e in events if e.get("name") not in (BEGIN, END) or float(e["ts"]) >= last]
    return highest_rise(kept, "cpu")


def truth(name: str, choices: list[list[str]]) -> dict[str, object]:
    trainings = [Training(name, blocks) for blocks in [[], *choices, []]]
    batches = list(trainings[0].batches(FIRST + ROUNDS))
    rises, gradients, seconds = [], [], [list[float]() for _ in trainings]
    for training in trainings:
        torch.manual_seed(1)
        training.step(batches[0])
        gradients.append(training.gradients())
    equal = [all(map(torch.equal, gradients[0], some)) for some in gradients]
    for training in trainings:
        rises.append(rise(training, batches[0]))
    for number, batch in enumerate(batches):
        for training, times in zip(trainings, seconds):
            begin = time.perf_counter()
            training.step(batch)
            if number >= FIRST:
                times.append(time.perf_counter() - begin)
    return {"rise_bytes": rises, "gradients_equal": equal, "seconds": seconds}


def main() -> None:
    name = sys.argv[1]
    if "--truth" in sys.argv:
        print(json.dumps(truth(name, json.loads(sys.argv[3]))))
        return
    training = Training(name, [])
    for batch in training.batches(STEPS):
        training.step(batch)


if __name__ == "__main__":
    main()
