"""Loaders that a loop replaces while the old ones are kept, or uses in two ways: steps of training are counted, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import record_text
from hotlens.listening.loaders import Loaders
from test_bundle import check_bundle
from test_frameworks import whole_calls

# A call of the model opens a range that says whether it is training.
SCRIPT = """\
import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
kept = []


def made(n):
    loader = DataLoader(TensorDataset(torch.randn(n, 8), torch.randint(0, 3, (n,))), batch_size=8)
    kept.append((loader, torch.randn(1)))
    return loader


class Net(nn.Linear):
    trains = True

    def forward(self, x):
        with record_function("mine" if self.trains else "evaluation"):
            return super().forward(x)


model = Net(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run_epoch(loader, trains=True):
    for x, y in loader:
        step(x, y, trains)


def step(x, y, trains=True):
    model.trains = trains
    loss = nn.functional.cross_entropy(model(x), y)
    if trains:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


"""
LOOPS = {
    "a new one in each epoch": ("loader", "for epoch in range(30):\n    run_epoch(made(24))\n    run_epoch(made(16), False)\n"),
    "two batches in an epoch": ("loader", "for epoch in range(40):\n    run_epoch(made(16))\n"),
    "one batch in an epoch": ("loader", "for epoch in range(60):\n    run_epoch(made(8))\n"),
    "folds": (
        "loader",
        "for fold in range(9):\n    train, test = made(32), made(16)\n    for epoch in range(2):\n"
        "        run_epoch(train)\n        run_epoch(test, False)\n",
    ),
    "one line for training and evaluation": (
        "loader",
        "for epoch in range(30):\n    for phase, n in (('train', 24), ('test', 40)):\n"
        "        loader = made(n)\n        run_epoch(loader, phase == 'train')\n",
    ),
    "evaluation first, by the same line, and old loaders go": (
        "loader",
        "for epoch in range(30):\n    for phase, n in (('test', 40), ('train', 24)):\n"
        "        kept.clear()\n        run_epoch(made(n), phase == 'train')\n",
    ),
    "the training set is evaluated, too": (
        "loader",
        "train = made(24)\nfor epoch in range(30):\n    run_epoch(train)\n    run_epoch(train, False)\n",
    ),
    "an iterator begun again": (
        "loader",
        "train = made(32)\nbatches = iter(train)\nfor i in range(60):\n    try:\n        x, y = next(batches)\n"
        "    except StopIteration:\n        batches = iter(train)\n        x, y = next(batches)\n    step(x, y)\n",
    ),
    "two loaders side by side": (
        "loader",
        "for epoch in range(30):\n    for (x, y), _ in zip(made(32), made(64)):\n        step(x, y)\n",
    ),
    "broken off": (
        "loader",
        "for epoch in range(30):\n    for i, (x, y) in enumerate(made(80)):\n        step(x, y)\n        if i == 3:\n            break\n",
    ),
    "broken off, and its iterator is kept": (
        "loader",
        "for epoch in range(30):\n    batches = iter(made(80))\n    kept.append(batches)\n"
        "    for i in range(5):\n        step(*next(batches))\n",
    ),
    "one of two, by chance": (
        "optimizer",
        "import random\nrandom.seed(0)\nboth = iter(made(400)), iter(made(400))\n"
        "for i in range(60):\n    step(*next(random.choice(both)))\n",
    ),
    "accumulation": (
        "optimizer",
        "for epoch in range(40):\n    for i, (x, y) in enumerate(made(32)):\n"
        "        nn.functional.cross_entropy(model(x), y).backward()\n"
        "        if i % 2:\n            optimizer.step()\n            optimizer.zero_grad()\n",
    ),
    "by hand": (
        "loader",
        "del optimizer\nfor epoch in range(40):\n    for x, y in made(32):\n"
        "        nn.functional.cross_entropy(model(x), y).backward()\n        with torch.no_grad():\n"
        "            for p in model.parameters():\n                p -= 0.1 * p.grad\n                p.grad = None\n",
    ),
    "inference": ("loader", "del optimizer\nfor shard in range(40):\n    for x, y in made(24):\n        model(x)\n"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_steps_of_training_are_counted_whatever_loader_they_come_from(tmp_path: Path, name: str) -> None:
    by, loop = LOOPS[name]
    run = record_text(tmp_path, SCRIPT + loop)
    (bundle,) = run.bundles
    check_bundle(bundle)
    manifest = bundle.manifest
    assert manifest["step"]["by"] == by, manifest["step"]
    assert manifest["steps_measured"] == 5 and manifest["plain_step_ns"] and manifest["map_step_ns"] is not None
    assert not {w["code"] for w in manifest["warnings"]} & {"fewer_steps", "no_plain_steps", "no_map_step"}
    assert whole_calls(bundle, "mine") == [2 if name == "accumulation" else 1] * 5
    assert whole_calls(bundle, "evaluation") == [0] * 5


# -- the numbers alone


class Thing:
    pass


class Batches:
    """An iterator of a loader."""

    def __init__(self, loader: Any) -> None:
        self._index_sampler = loader


def use(loaders: Loaders, loader: Any, batches: int = 3, trains: bool = True) -> list[int]:
    """An epoch: the number of each fetch."""
    iterator, numbers = Batches(loader), []
    for _ in range(batches):
        numbers.append(loaders.fetch(iterator, sys._getframe(1)))
        if trains:
            loaders.updated()
    loaders.fetch(iterator, sys._getframe(1))
    loaders.exhausted(iterator)
    return numbers


def test_a_loader_that_feeds_updates_takes_over_from_one_at_rest() -> None:
    loaders, kept = Loaders(), [Thing() for _ in range(3)]
    assert [use(loaders, thing) for thing in kept] == [[1, 1, 1], [2, 1, 1], [3, 1, 1]]


def test_a_loader_that_feeds_none_keeps_its_own() -> None:
    loaders, train, test = Loaders(), Thing(), Thing()
    found = [use(loaders, thing, 2, thing is train) for thing in (train, test, train, test)]
    assert found == [[1, 1], [2, 2], [1, 1], [2, 2]]


def test_an_evaluation_of_the_training_set_is_another_use() -> None:
    loaders, train = Loaders(), Thing()
    use(loaders, train)
    assert use(loaders, train, 2, False) == [2, 2]
    assert use(loaders, train) == [3, 1, 1]  # another place, and an update


def test_what_was_computed_on_before_the_first_update_was_no_training() -> None:
    loaders, test, train = Loaders(), Thing(), Thing()
    place = sys._getframe()
    for thing in (test, train):
        iterator = Batches(thing)
        number = loaders.fetch(iterator, place)
        loaders.served()
        assert number == (1 if thing is test else 2)
        last = loaders.fetch(iterator, place)
        if thing is test:
            loaders.exhausted(iterator)
    assert last == 1 and loaders.updated() == [(1, 3)] and loaders.fetch(iterator, place) == 3


def test_no_number_is_given_to_two_at_work() -> None:
    loaders = Loaders()
    for _ in range(3):
        pair = Batches(Thing()), Batches(Thing())
        first = [loaders.fetch(each, None) for each in pair]
        loaders.updated()
        assert [loaders.fetch(each, None) for each in pair] == [1, 2], first
        loaders.exhausted(pair[0])


def test_who_comes_to_the_side_of_another_keeps_its_own() -> None:
    loaders, old, new = Loaders(), Batches(Thing()), Batches(Thing())
    numbers = []
    for each in (old, old, old, new, old, new, old, new, old):
        numbers.append(loaders.fetch(each, None))
        if each is old:
            loaders.updated()
    assert numbers == [1, 1, 1, 2, 1, 2, 1, 2, 1]


def test_a_list_of_batches_is_a_loader_too() -> None:
    loaders, batches = Loaders(), [[0, 1], [2, 3]]
    assert use(loaders, batches) == [1, 1, 1] and use(loaders, batches) == [2, 1, 1]
