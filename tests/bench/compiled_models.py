"""Models of predict_models.py, compiled: `compiled_models.py MODEL`.

With `--marked` an operator that nothing is fused across stands before and after each layer without children, and the time between two of
them is printed as JSON, by layer and direction, in nanoseconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from predict_models import CLASSES, loader, pictures, step
from predict_models import MODELS as PLAIN
from torch import Tensor, nn


class Mixing(nn.Module):
    """Of an MLP-Mixer: over the patches, then over the channels."""

    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_patches = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.over_channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.over_patches(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_channels(self.second(x))


class Mixer(nn.Module):
    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.embed = nn.Linear(48, width)
        self.layers = nn.Sequential(*[Mixing(64, width) for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        patches = x.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).reshape(len(x), 64, 48)
        return self.head(self.norm(self.layers(self.embed(patches))).mean(1))


MODELS = {**PLAIN, "mixer": (Mixer, pictures)}
BATCH, STEPS = 16, 40
BEGIN, END = 0, 1


@torch.library.custom_op("truth::mark", mutates_args=())
def mark(x: Tensor, place: int) -> Tensor:
    return x.clone()


@mark.register_fake
def _(x: Tensor, place: int) -> Tensor:
    return torch.empty_like(x)


def _keep_place(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
    ctx.place = inputs[1]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
    return mark(gradient, -1 - ctx.place), None  # below 0: of the backward pass


mark.register_autograd(_backward, setup_context=_keep_place)


class Marked(nn.Module):
    def __init__(self, inner: nn.Module, number: int) -> None:
        super().__init__()
        self.inner, self.number = inner, number

    def forward(self, x: Tensor) -> Any:
        made = self.inner(mark(x, 2 * self.number + BEGIN))
        if isinstance(made, Tensor):
            return mark(made, 2 * self.number + END)
        return mark(made[0], 2 * self.number + END), *made[1:]


def marked(model: nn.Module) -> list[str]:
    """Paths of the layers, by number."""
    leaves = [path for path, module in model.named_modules() if path and not any(module.children())]
    for number, path in enumerate(leaves):
        parent, _, name = path.rpartition(".")
        model.get_submodule(parent)._modules[name] = Marked(model.get_submodule(path), number)
    return leaves


def kernels(trace: Path) -> list[tuple[str, int, list[Any]]]:
    """Names, durations in nanoseconds and arguments of what a compiled graph calls, in order."""
    events = [
        e for e in json.loads(trace.read_text())["traceEvents"] if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation")
    ]
    events.sort(key=lambda e: (e["ts"], -e["dur"]))
    graphs, found, end = 0.0, [], 0.0
    for event in events:
        if "Call CompiledFxGraph" in event["name"]:
            graphs = max(graphs, event["ts"] + event["dur"])
        elif event["ts"] < graphs and event["ts"] >= end:
            end = event["ts"] + event["dur"]
            found.append((event["name"], round(1000 * event["dur"]), event.get("args", {}).get("Concrete Inputs", [])))
    return found


def by_layer(leaves: list[str], calls: list[tuple[str, int, list[Any]]]) -> dict[str, int]:
    """`path|forward`; of no layer: `|forward`; where layers overlap: `?|forward`."""
    times: dict[str, int] = {}
    opened: set[int] = set()
    direction = "forward"
    for name, took, arguments in calls:
        if name == "truth::mark":
            place = int(arguments[1])
            direction = "forward" if place >= 0 else "backward"
            place = place if place >= 0 else -1 - place
            begins = (place % 2 == BEGIN) == (direction == "forward")
            (opened.add if begins else opened.discard)(place // 2)
            continue
        layer = "" if not opened else leaves[next(iter(opened))] if len(opened) == 1 else "?"
        times[f"{layer}|{direction}"] = times.get(f"{layer}|{direction}", 0) + took
    return times


def main() -> None:
    build, make = MODELS[sys.argv[1]]
    torch.manual_seed(0)
    model = build()
    truth = "--marked" in sys.argv
    leaves = marked(model) if truth else []
    if truth:
        from torch._inductor import config

        config.cpp.enable_kernel_profile = True
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = loader(make, BATCH, STEPS)
    if not truth:
        for batch in batches:
            step(compiled, optimizer, batch)
        return
    totals: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as place:
        for number, batch in enumerate(batches):
            if number < STEPS - 20:
                step(compiled, optimizer, batch)
                continue
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
                step(compiled, optimizer, batch)
            file = Path(place) / "trace.json"
            profiler.export_chrome_trace(str(file))
            for key, took in by_layer(leaves, kernels(file)).items():
                totals.setdefault(key, []).append(took)
    print(json.dumps({key: sorted(values)[len(values) // 2] for key, values in totals.items()}))


if __name__ == "__main__":
    main()
