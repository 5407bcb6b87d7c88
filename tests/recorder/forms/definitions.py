"""Every way to define a layer that people use; a marker names the modules whose line it stands on."""

import copy
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import Optional

import torch
from base import REGISTRY, Base, make_gate
from torch import nn

W = 8


@dataclass(eq=False)
class Field(nn.Module):
    inner: nn.Module

    def __new__(cls, *args):
        self = super().__new__(cls)
        nn.Module.__init__(self)
        return self

    def __post_init__(self):
        self.scale = nn.Linear(W, W)  # def: field.scale

    def forward(self, x):
        return self.scale(self.inner(x))


def chain_of(*modules):
    return nn.Sequential(*modules)  # made: chain chain.0 bank.entries.0 bank.entries.1


class Bank(nn.Module):
    def __init__(self, entries):
        super().__init__()
        self.entries = nn.ModuleList(entries)  # def: bank.entries

    def forward(self, x):
        return sum(entry(x) for entry in self.entries)


class Late(nn.Module):
    def forward(self, x):
        if not hasattr(self, "made"):
            self.made = nn.Linear(x.shape[-1], W)  # def: late.made
        return self.made(x)


class Donor(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(W, W), nn.ReLU())  # made: taken.0 taken.1


class Stack(nn.Sequential):
    def __init__(self, *widths):
        layers = []
        for a, b in zip(widths, widths[1:]):
            layers.append(nn.Linear(a, b))  # def: stack.0 stack.2
            layers.append(nn.Tanh())  # def: stack.1 stack.3
        super().__init__(*layers)


class Net(Base):
    def __init__(self, passed, use_norm=True):
        super().__init__(W)
        self.direct = nn.Linear(W, W)  # def: direct
        self.annotated: Optional[nn.Module] = nn.Linear(W, W)  # def: annotated
        self.chained = last = nn.Linear(W, W)  # def: chained
        self.last_bias = last.bias
        self.first, self.second = nn.Linear(W, W), nn.Linear(W, W)  # def: first second
        self.wide = nn.Linear(  # def: wide
            W,
            W,
        )
        self.comprehension = nn.ModuleList(  # def: comprehension
            [nn.Linear(W, W) for _ in range(3)]  # def: comprehension.0 comprehension.1 comprehension.2
        )
        self.listed = nn.ModuleList(  # def: listed
            [
                nn.Linear(W, W),  # def: listed.0
                nn.Linear(W, W),  # def: listed.1
            ]
        )
        self.named = nn.ModuleDict(  # def: named named.one named.two
            {
                "one": nn.Linear(W, W),  # made: named.one
                "two": nn.Linear(W, W),  # made: named.two
            }
        )
        self.positional = nn.Sequential(  # def: positional
            nn.Linear(W, W),  # def: positional.0
            nn.ReLU(),  # def: positional.1
        )
        self.ordered = nn.Sequential(  # def: ordered ordered.fc ordered.act
            OrderedDict(
                [
                    ("fc", nn.Linear(W, W)),  # made: ordered.fc
                    ("act", nn.ReLU()),  # made: ordered.act
                ]
            )
        )
        layers = [nn.Linear(W, W)]  # def: unpacked.0
        layers += [nn.ReLU()]  # def: unpacked.1
        self.unpacked = nn.Sequential(*layers)  # def: unpacked
        self.appended = nn.ModuleList()  # def: appended
        for _ in range(2):
            self.appended.append(nn.Linear(W, W))  # def: appended.0 appended.1
        for i in range(2):
            self.add_module(f"added{i}", nn.Linear(W, W))  # def: added0 added1
        for i in range(2):
            setattr(self, f"set{i}", nn.Linear(W, W))  # def: set0 set1
        self.helped = self._make(W)  # def: helped
        self.branches = self._make_branches()  # def: branches
        inner = chain_of(nn.Linear(W, W))  # def: chain.0 chain.0.0
        self.chain = chain_of(inner)  # def: chain
        handed = [chain_of(nn.Linear(W, W)) for _ in range(2)]  # def: bank.entries.0 bank.entries.1 bank.entries.0.0 bank.entries.1.0
        self.bank = Bank(handed)  # def: bank
        self.factory = make_gate(W)  # def: factory
        self.registered = REGISTRY["Gate"](W)  # def: registered
        kind = "Linear"
        self.got = getattr(nn, kind)(W, W)  # def: got
        self.part = partial(nn.Linear, W)(W)  # def: part
        self.passed = passed  # def: passed
        self.lazy = nn.LazyLinear(W)  # def: lazy
        self.late = Late()  # def: late
        self.field = Field(nn.Linear(W, W))  # def: field field.inner
        self.norm = nn.LayerNorm(W) if use_norm else nn.Identity()  # def: norm
        self.fallback = None or nn.Linear(W, W)  # def: fallback
        self.copied = copy.deepcopy(self.direct)  # def: copied
        self.clones = nn.ModuleList(copy.deepcopy(self.direct) for _ in range(2))  # def: clones clones.0 clones.1
        self.stack = Stack(W, W, W)  # def: stack
        self.encoder = nn.TransformerEncoder(  # def: encoder
            nn.TransformerEncoderLayer(W, 2, W, batch_first=True), 2, enable_nested_tensor=False
        )
        given = Donor().parts  # def: taken.0 taken.1
        self.taken = nn.Sequential()  # def: taken
        for i in range(2):
            self.taken.add_module(str(i), given[i])
        if (walrus := nn.Linear(W, W)) is not None:  # made: walrus
            self.walrus = walrus  # def: walrus
        self.maker = lambda: nn.Linear(W, W)  # made: from_lambda
        self.from_lambda = self.maker()  # def: from_lambda

    def build(self, width):
        self.built = nn.Linear(width, width)  # def: built

    def _make_branches(self):
        branches = []
        for _ in range(2):
            branches.append(self._make_branch())  # def: branches.0 branches.1
        return nn.ModuleList(branches)  # made: branches

    def _make_branch(self):
        layers = [nn.Linear(W, W)]  # def: branches.0.0 branches.1.0
        return nn.Sequential(*layers)  # made: branches.0 branches.1

    def _make(self, width):
        body = [nn.Linear(width, width)]  # def: helped.0
        return nn.Sequential(*body, nn.ReLU())  # made: helped def: helped.1

    def forward(self, x):
        x = self.stem(x)
        for name, child in self.named_children():
            if name == "inherited" or isinstance(child, (nn.ModuleList, nn.ModuleDict)):
                continue
            x = child(x if name != "encoder" else x[None])
            x = x[0] if name == "encoder" else x
        return x


def main():
    torch.manual_seed(0)
    net = Net(nn.Linear(W, W))  # made: passed
    x = torch.randn(4, W)
    net(x)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(30):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
