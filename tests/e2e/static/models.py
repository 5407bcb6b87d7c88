"""Models in the ways people write them: name() -> (model, run); run(model) is one forward that gives a loss."""

from __future__ import annotations

import json
import os
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width: int, norm_layer: Any = nn.BatchNorm1d, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.norm1 = norm_layer(width)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(width, width)
        self.downsample = downsample

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = x if self.downsample is None else self.downsample(x)
        return self.fc2(self.act(self.norm1(self.fc1(x)))) + skip


class Base(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(4, width), nn.GELU())


class Net(Base):
    """Helpers, an inherited stem, entries by append and by name, a module passed in, a loop over a list."""

    def __init__(self, width: int = 8, depth: int = 3, gated: bool = True) -> None:
        super().__init__(width)
        self.layer1 = self._make_layer(Block, width, 2)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.heads = nn.ModuleDict({"a": nn.Linear(width, 1), "b": nn.Linear(width, 1)})
        for index in range(2):
            self.add_module(f"extra{index}", nn.Linear(width, width))
        if gated:
            self.gate: nn.Module = nn.Sigmoid()
        else:
            self.gate = nn.Identity()

    def _make_layer(self, block: type[Block], width: int, count: int) -> nn.Sequential:
        downsample = nn.Sequential(
            nn.Linear(width, width),
            nn.LayerNorm(width),
        )
        layers = [block(width, downsample=downsample)]
        for _ in range(1, count):
            layers.append(block(width))
        return nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer1(self.stem(x))
        for block in self.blocks:
            x = block(x)
        for index in range(2):
            x = getattr(self, f"extra{index}")(x)
        x = self.gate(x)
        return self.heads["a"](x) + self.heads["b"](x)


class Named(nn.ModuleDict):
    """Entries get a word or a number: which one, only the caller knows."""

    def append(self, layer: nn.Module, name: str | None = None) -> None:
        if name is None:
            name = str(len(self))
        self.add_module(name, layer)


class Scores(nn.Module):
    """Modules called in comprehensions, through map, and by helpers that are given them."""

    def __init__(self, sizes: dict[str, int], width: int = 8) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.towers = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
        self.queries = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(2))
        self.values = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(2))
        self.tables = nn.ModuleDict(
            {
                name: nn.Linear(width, size)
                for name, size in sizes.items()
            }
        )  # fmt: skip
        self.tail = Named()
        self.tail.append(nn.Linear(width, width))
        self.tail.append(nn.Sigmoid(), name="squash")

    @property
    def both(self) -> dict[str, nn.ModuleList]:
        return {"queries": self.queries, "values": self.values}

    def attend(self, x: torch.Tensor, queries: nn.ModuleList, values: nn.ModuleList) -> torch.Tensor:
        found = [query(x) for query in queries]
        return sum(values[i](part) for i, part in enumerate(found))

    def rate(self, x: torch.Tensor, tables: nn.ModuleDict) -> list[torch.Tensor]:
        return [tables[name](x) for name in tables]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [tower(x) for tower in self.towers]
        first, second, third = map(self.norm, parts)
        x = self.attend(first + second + third, **self.both)
        for layer in self.tail.values():
            x = layer(x)
        return torch.cat(self.rate(x, self.tables), dim=-1)


class Steps(nn.Module):
    """Entries that stand under a condition on the loop's index."""

    def __init__(self, widths: tuple[int, ...] = (8, 8, 8, 8), depth: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for i, width in enumerate(widths):
            if i == 0:
                self.layers.append(nn.Linear(4, width))
            elif i == len(widths) - 1:
                self.layers.append(nn.Linear(width, 6))
            else:
                self.layers.append(nn.Linear(width, width))
        tail: list[nn.Module] = []
        for i in range(depth):
            if not i:
                tail.append(nn.Linear(6, 5))
                continue
            tail.append(nn.Linear(5, 5))
            if i < depth - 1:
                tail.append(nn.ReLU())
        tail += [nn.ReLU()]
        self.tail = nn.Sequential(*tail)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.tail(x)


class Normed(nn.Module):
    """Modules to which torch gives a class of their own: in place, again under the same name, as an entry."""

    def __init__(self, width: int = 4, normed: bool = True) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        weight_norm(self.first)
        self.second = nn.Linear(width, width)
        if normed:
            self.second = weight_norm(self.second)
        self.act = nn.ReLU()
        self.last = nn.Sequential(spectral_norm(nn.Linear(width, width)), nn.Tanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.act(self.second(self.first(x))))


class Counted(nn.Module):
    """Entries that only their order tells apart, taken by a counting index or by a loop that calls in one of two ways."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        self.layers.append(nn.Linear(width, 8))
        self.layers.append(nn.Linear(8, width))
        self.heads = nn.ModuleList([
            nn.Linear(width, 1),
            nn.Linear(width, 2),
        ])  # fmt: skip
        self.loose = nn.ModuleList([
            nn.Tanh(),
            nn.Tanh(),
        ])  # fmt: skip

        self.steps = nn.ModuleList([
            nn.LayerNorm(width),
            nn.LayerNorm(width, bias=False),
        ])  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        for step in self.steps:
            x = checkpoint(step, x, use_reentrant=False) if self.training and x.requires_grad else step(x)
        for i in range(1, -1, -1):
            x = self.loose[i](x)
        return torch.cat([self.heads[i](x) for i in range(2)], dim=-1)


class Changed(nn.Module):
    """A condition may replace what a table gives; a function replaces activations by name; an entry that had a name before."""

    def __init__(self, options: dict[str, str], wide: bool, width: int = 4) -> None:
        super().__init__()
        self.mixer = getattr(nn, options["mixer"])(width, width)
        if wide:
            self.mixer = nn.Linear(width, width)
        self.act = nn.ReLU()
        self.first = nn.LayerNorm(width)
        self.both = nn.Sequential(self.first, nn.Tanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.both(self.act(self.mixer(x)))


def swap(model: nn.Module) -> None:
    for name, child in model.named_children():
        if isinstance(child, nn.ReLU):
            setattr(model, name, nn.SiLU())


class Narrow(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.one(x),)


class Wide(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one = nn.Linear(width, 2 * width)
        self.two = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.two(self.one(x)),)


class Direct(nn.Module):
    """Calls forward itself, of one of two classes."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        net_type = Narrow if kind in ("narrow", "slim") else Wide
        self.net = net_type(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net.forward(x)[0].tanh() + self.net.forward(-x)[0].tanh()


class Borrower(nn.Module):
    def __init__(self, position: nn.Module) -> None:
        super().__init__()
        self.position = position
        self.own = nn.Tanh()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.own(self.position(x))


class Shared(nn.Module):
    """One module under names of several, some of which come first in a walk through all modules, and some may not be there."""

    def __init__(self, width: int = 4, mirrored: bool = False) -> None:
        super().__init__()
        middle, end = nn.Linear(width, width), nn.Linear(width, width)
        self.mirror = middle if mirrored else None
        if mirrored:
            self.extra = Borrower(end)
        self.position = nn.Linear(width, width)
        self.blocks = nn.ModuleList([Borrower(self.position) for _ in range(2)])
        last = nn.LayerNorm(width)
        self.tail = Borrower(last)
        self.norm = last
        self.middle = middle
        self.end = end

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.end(self.middle(self.norm(self.tail(x))))


class Part(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.act = nn.Tanh()

    def widen(self, width: int) -> None:
        self.fc = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.fc(x))


class Late(nn.Module):
    """What a condition has done to a part may not have happened."""

    def __init__(self, wide: bool) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Part(4) for _ in range(2)])
        if wide:
            for part in self.parts:
                part.widen(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
        return x


class Judge(nn.Module):
    """Is given what it judges by."""

    def __init__(self, features: nn.Module, width: int) -> None:
        super().__init__()
        self.features = features
        self.head = nn.Linear(width, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))


def make_features(plan: list[int | str], normed: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = []
    width = 4
    for step in plan:
        if isinstance(step, str):
            layers += [nn.Dropout(0.1)]
            continue
        linear = nn.Linear(width, step)
        layers += [linear, nn.LayerNorm(step), nn.ReLU()] if normed else [linear, nn.ReLU()]
        width = step
    return nn.Sequential(*layers)


class Kept(nn.Module):
    """A lazy layer, entries of a plain list that have names as well, a second name, a head under another name."""

    def __init__(self, depth: int = 2, norm: str | None = None, pool: str = "mean") -> None:
        super().__init__()
        self.lazy = nn.LazyLinear(4)
        self.blocks = []
        index = 0
        while index < depth:
            block = nn.Linear(4, 4)
            self.add_module(f"block{index}", block)
            self.blocks.append(block)
            index += 1
        self.tied = nn.Linear(4, 4)
        self.again = self.tied
        self.fc = nn.Linear(4, 2)
        self.scales = []
        for kind in ("low", "high"):
            self.add_module("scale_" + kind, nn.Linear(2, 2))
            self.scales.append("scale_" + kind)
        made = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        self.most = made[:-1]
        stages = [nn.Linear(4, 4), nn.Tanh()]
        if norm == "layer":
            stages.append(nn.LayerNorm(4))
        stages.insert(0, nn.Linear(4, 4))
        stages[2] = nn.Sigmoid()
        if pool is None:
            stages.pop()
        self.stages = nn.Sequential(*stages[::-1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.lazy(x)
        for block in self.blocks:
            x = block(x)
        x = self.head(self.most(self.stages(self.again(self.tied(x)))))
        return sum(getattr(self, name)(x) for name in self.scales)


class Linear(nn.Module):
    """Has the name of another class: the trace calls one of each `Linear_0`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Namesakes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.front = nn.Sequential(nn.Tanh())
        self.front._modules["1"] = Linear()
        self.back = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.back(self.front(x))


def kept(deep: bool = True) -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    model = Kept()
    if not deep:
        model = Kept(1)
    model.head = model.fc
    del model.fc
    model(x)
    return model, lambda model: model(x).sum()


def namesakes() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4, requires_grad=True)
    return Namesakes(), lambda model: model(x).sum()


def passed_in() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    model = Judge(make_features([8, "drop", 8]), 8)
    return model, lambda model: model(x).sum()


def plain() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    model = nn.Sequential(
        nn.Linear(4, 8),
        nn.Tanh(),
        nn.Linear(8, 2),
    )
    return model, lambda model: model(x).sum()


def local() -> tuple[nn.Module, Any]:
    import torch.nn as layers

    class Inside(layers.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = layers.Linear(4, 4)
            self.second = layers.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x))

    x = torch.randn(4, 4)
    return Inside(), lambda model: model(x).sum()


def steps() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    return Steps(), lambda model: model(x).sum()


def changed() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    model = Changed(json.loads('{"mixer": "Linear"}'), wide="PATH" not in os.environ)
    swap(model)
    return model, lambda model: model(x).sum()


def direct() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    return Direct("broad"), lambda model: model(x).sum()


def shared() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    return Shared(mirrored="PATH" not in os.environ), lambda model: model(x).sum()


def late() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    return Late("PATH" not in os.environ), lambda model: model(x).sum()


def counted() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    return Counted(), lambda model: model(x).sum()


def normed() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    return Normed(), lambda model: model(x).sum()


def scores() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 8)
    return Scores({"a": 2, "b": 3}), lambda model: model(x).sum()


def forms() -> tuple[nn.Module, Any]:
    x = torch.randn(4, 4)
    return Net(), lambda model: model(x).sum()


def bert() -> tuple[nn.Module, Any]:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    ids = torch.randint(0, 50, (2, 8))
    return BertForMaskedLM(config), lambda model: model(input_ids=ids, labels=ids).loss


def gpt2() -> tuple[nn.Module, Any]:
    from transformers import GPT2Config, GPT2LMHeadModel

    ids = torch.randint(0, 50, (2, 8))
    config = GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=16)
    return GPT2LMHeadModel(config), lambda model: model(input_ids=ids, labels=ids).loss


def t5() -> tuple[nn.Module, Any]:
    from transformers import T5Config, T5ForConditionalGeneration

    ids = torch.randint(0, 50, (2, 8))
    config = T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
    return T5ForConditionalGeneration(config), lambda model: model(input_ids=ids, labels=ids).loss
