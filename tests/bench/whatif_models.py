"""Models with a change really made: `whatif_models.py MODEL KIND`, KIND as `hotlens whatif` has it, several joined by `+`, or `none`.

Also `checkpoint=layers.0,layers.2` (these blocks), `batch_x2`, and what a model is recorded with to be changed: `zeros` (gradients are
filled with zeros). With `--times` real steps instead: of the model as it is, of the changed one, and of the one as it is again, in turn,
as JSON in seconds; with `--alone` those of the changed one, in a process of its own (of `loader` always: its workers go on while another
trains).
HOTLENS_BENCH_DEVICE names a device other than the CPU.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator

import predict_models
import torch
from predict_models import WORDS, Batch, continued, sentences
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, TensorDataset

BATCH, FIRST, ROUNDS = 8, 4, 40
WORKERS = 1
CHANNELS_LAST = torch.channels_last
DEVICE = os.environ.get("HOTLENS_BENCH_DEVICE", "cpu")


class Eager(nn.Module):
    """A transformer's layer with attention and GELU written out; `fused` and `called`: torch's operators in their place."""

    def __init__(self, width: int, causal: bool) -> None:
        super().__init__()
        self.fused = self.called = False
        self.heads, self.causal = 4, causal
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow, self.drop = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Dropout(0.1)
        self.gelu = nn.GELU()
        self.register_buffer("hidden", torch.ones(64, 64).tril() == 0)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        hidden = self.hidden[: q.shape[2], : q.shape[2]]
        if self.fused and self.causal:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden)
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.drop.p)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if self.causal:
            return F.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v
        return F.dropout(F.softmax(scores + mask, -1), self.drop.p) @ v

    def activate(self, x: Tensor) -> Tensor:
        if not self.causal:
            activated: Tensor = self.gelu(x)
            return activated
        if self.called:
            return F.gelu(x, approximate="tanh")
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        size, length, width = x.shape
        q, k, v = (part.view(size, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).split(width, 2))
        x = x + self.out(self.attend(q, k, v, mask).transpose(1, 2).reshape(size, length, width))
        return x + self.drop(self.narrow(self.activate(self.wide(self.second(x)))))


class EagerTransformer(nn.Module):
    def __init__(self, causal: bool, width: int = 96) -> None:
        super().__init__()
        self.causal, self.words = causal, nn.Embedding(WORDS, width)
        self.layers = nn.ModuleList(Eager(width, causal) for _ in range(3))
        self.head = nn.Linear(width, WORDS if causal else 10)

    def forward(self, x: Tensor) -> Tensor:
        mask = None if self.causal else (x == 0)[:, None, None, :] * -1e9
        x = self.words(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x).flatten(0, 1) if self.causal else self.head(x[:, 0])


class Recurrence(nn.Module):
    """A loop over time; `apart`: over a list of its steps."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.apart = False
        self.words, self.cell, self.head = nn.Embedding(WORDS, width), nn.GRUCell(width, width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.words(x)
        h = torch.zeros(len(x), x.shape[2], device=x.device)
        if self.apart:
            for step in x.unbind(1):
                h = self.cell(step, h)
        else:
            for t in range(x.shape[1]):
                h = self.cell(x[:, t], h)
        return self.head(h)


def vgg() -> nn.Module:
    """As torchvision's with batch norms: biases that these take off again, and a ReLU before each pool."""
    sizes = ((3, 32), (32, 64), (64, 128))
    layers = [layer for i, o in sizes for layer in (nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 16, 10))


class Slow(Dataset[Batch]):
    """Pictures that take a while to make."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, at: int) -> Batch:
        return torch.randn(3, 48, 48).sort(1).values.sort(2).values[:, :32, :32].contiguous(), torch.tensor(at % 10)


def long_sentences(n: int) -> Batch:
    return torch.randint(WORDS, (n, 96)), torch.randint(10, (n,))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Batch]]] = {
    **predict_models.MODELS,
    "eager_gpt": (lambda: EagerTransformer(True), continued),
    "eager_bert": (lambda: EagerTransformer(False), sentences),
    "recurrence": (Recurrence, long_sentences),
    "vgg": (vgg, predict_models.pictures),
    "loader": predict_models.MODELS["resnet"],
}


def replace_gelu(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.GELU):
            setattr(module, name, nn.ReLU())
        else:
            replace_gelu(child)


def pool_first(model: nn.Module) -> None:
    """Of neighbours in an nn.Sequential."""
    for sequence in [module for module in model.modules() if isinstance(module, nn.Sequential)]:
        for at in range(len(sequence) - 1):
            if isinstance(sequence[at], nn.ReLU) and isinstance(sequence[at + 1], nn.MaxPool2d):
                sequence[at], sequence[at + 1] = sequence[at + 1], sequence[at]


def drop_biases(model: nn.Module) -> None:
    """Of convolutions before a batch norm in an nn.Sequential."""
    for sequence in [module for module in model.modules() if isinstance(module, nn.Sequential)]:
        for layer, following in zip(sequence, list(sequence)[1:]):
            if isinstance(layer, nn.Conv2d) and isinstance(following, nn.BatchNorm2d):
                layer.bias = None


def run_again(module: nn.Module) -> None:
    forward = module.forward
    module.forward = lambda *inputs: checkpoint(forward, *inputs, use_reentrant=False)  # type: ignore[method-assign]


OPTIMIZERS = {"foreach_optimizer", "fused_optimizer"}
FORMULAS = {"fused_attention", "gelu_tanh", "unbind_time"}
LAYERS = {
    "no_dropout",
    "batch_norm_eval",
    "no_conv_bias",
    "inplace_relu",
    "pool_before_relu",
    "gelu_to_relu",
    "channels_last",
    "autocast_bf16",
}
LOOPS = {"none", "zeros", "zero_grad_none", "accumulate", "batch_x2", "loader_workers", "checkpoint"}
KINDS = OPTIMIZERS | FORMULAS | LAYERS | LOOPS


class Training:
    """A model and its optimizer, changed."""

    def __init__(self, name: str, kinds: set[str]) -> None:
        self.blocks = [path for kind in kinds if kind.startswith("checkpoint=") for path in kind.partition("=")[2].split(",")]
        kinds = {kind.partition("=")[0] for kind in kinds}
        assert kinds <= KINDS, f"not known here: {kinds - KINDS}"
        build, self.make = MODELS[name]
        torch.manual_seed(0)
        self.name, self.kinds, self.model = name, kinds, build().to(DEVICE)
        self.batch = 2 * BATCH if "batch_x2" in kinds else BATCH
        self.change_layers()
        how = {key: True for key in ("foreach", "fused") if f"{key}_optimizer" in kinds}
        self.optimizer = torch.optim.Adam(self.model.parameters(), **how)  # type: ignore[arg-type]

    def change_layers(self) -> None:
        for module in self.model.modules():
            if isinstance(module, nn.Dropout) and "no_dropout" in self.kinds:
                module.p = 0.0
            if isinstance(module, nn.BatchNorm2d) and "batch_norm_eval" in self.kinds:
                module.eval()
            if isinstance(module, nn.ReLU | predict_models.Residual) and "inplace_relu" in self.kinds:
                module.inplace = True
            if isinstance(module, Eager):
                module.fused, module.called = "fused_attention" in self.kinds, "gelu_tanh" in self.kinds
            if isinstance(module, Recurrence):
                module.apart = "unbind_time" in self.kinds
        if "gelu_to_relu" in self.kinds:
            replace_gelu(self.model)
        if "no_conv_bias" in self.kinds:
            drop_biases(self.model)
        if "pool_before_relu" in self.kinds:
            pool_first(self.model)
        if "channels_last" in self.kinds:
            self.model.to(memory_format=CHANNELS_LAST)  # type: ignore[call-overload]
        for path in self.blocks:
            run_again(self.model.get_submodule(path))

    def batches(self, steps: int) -> Iterator[Batch]:
        if self.name == "loader":
            return iter(DataLoader(Slow(), batch_size=self.batch, num_workers=WORKERS if "loader_workers" in self.kinds else 0))
        return iter(DataLoader(TensorDataset(*self.make(self.batch * steps)), batch_size=self.batch))

    def loss(self, inputs: list[Tensor], target: Tensor) -> Tensor:
        with torch.autocast(DEVICE, torch.bfloat16) if "autocast_bf16" in self.kinds else contextlib.nullcontext():
            return F.cross_entropy(self.model(*inputs), target.flatten())

    def step(self, batch: Batch) -> None:
        *inputs, target = (each.to(DEVICE) for each in batch)
        del batch
        if "channels_last" in self.kinds:
            inputs = [x.to(memory_format=CHANNELS_LAST) if x.dim() == 4 else x for x in inputs]
        at_end = bool(self.kinds & {"zeros", "zero_grad_none"})  # what comes before the model's first call is in no recorded program
        if not at_end:
            self.optimizer.zero_grad()
        if "accumulate" in self.kinds:
            for *some, wanted in zip(*(x.chunk(2) for x in (*inputs, target))):
                loss = self.loss(some, wanted)
                (loss / 2).backward()
        else:
            loss = self.loss(inputs, target)
            loss.backward()
        self.optimizer.step()
        if at_end:
            self.optimizer.zero_grad(set_to_none="zeros" not in self.kinds)


def times(trainings: dict[str, Training]) -> dict[str, list[float]]:
    """Seconds of each step, with the fetch of its batch as in a recorded step."""
    loaders = {role: training.batches(FIRST + ROUNDS) for role, training in trainings.items()}
    found: dict[str, list[float]] = {role: [] for role in trainings}
    for number in range(FIRST + ROUNDS):
        for role, training in trainings.items():
            begin = time.perf_counter()
            training.step(next(loaders[role]))
            if DEVICE != "cpu":
                torch.cuda.synchronize()
            if number >= FIRST:
                found[role].append(time.perf_counter() - begin)
    return found


def main() -> None:
    name, kinds = sys.argv[1], set(sys.argv[2].split("+"))
    if "--alone" in sys.argv:
        print(json.dumps(times({"changed": Training(name, kinds)})))
        return
    if "--times" in sys.argv:
        before = {"zeros"} if "zero_grad_none" in kinds else set()
        print(json.dumps(times({"plain": Training(name, before), "changed": Training(name, kinds), "again": Training(name, before)})))
        return
    training, steps = Training(name, kinds), 60
    if name == "loader":
        for batch in DataLoader(Slow(), batch_size=BATCH):
            training.step(batch)
    batches = training.batches(steps)
    for _ in range(steps):
        training.step(next(batches))  # nobody else holds the batch, so what is converted goes


if __name__ == "__main__":
    main()
