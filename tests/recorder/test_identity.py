"""A loader, optimizer or model that a loop makes anew is the same one for whoever counts steps; two beside each other are two."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import record_text
from hotlens.listening.identity import Numbers
from test_bundle import check_bundle

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def made(n):
    return DataLoader(TensorDataset(torch.randn(n, 8), torch.randint(0, 3, (n,))), batch_size=8)


def run_epoch(model, loader, optimizer=None):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def begin():
    model = nn.Linear(8, 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


room = []
"""
# What is made between the epochs lies where the loader of the last one lay: an address is nobody's for long.
LOADERS = """\
model, optimizer = begin()
for epoch in range(20):
    room.append([object() for _ in range(epoch * 50)])
    run_epoch(model, made(32), optimizer)
    run_epoch(model, made(16))
"""
FOLDS = """\
for fold in range(20):
    room.append([object() for _ in range(fold * 50)])
    model, optimizer = begin()
    training, test = made(32), made(16)
    run_epoch(model, training, optimizer)
    run_epoch(model, test)
"""
WITHOUT_LOADER = """\
for fold in range(20):
    room.append([object() for _ in range(fold * 50)])
    model, optimizer = begin()
    run_epoch(model, [(torch.randn(8, 8), torch.randint(0, 3, (8,)))] * 4, optimizer)
"""


# An optimizer with a scheduler lies in a cycle, and results are kept.
KEPT = WITHOUT_LOADER.replace("begin()\n", "begin()\n    room.append((optimizer, model))\n")


@pytest.mark.parametrize("loop, by", [(LOADERS, "loader"), (FOLDS, "loader"), (WITHOUT_LOADER, "optimizer"), (KEPT, "optimizer")])
def test_what_an_epoch_makes_anew_ends_its_steps_as_before(tmp_path: Path, loop: str, by: str) -> None:
    run = record_text(tmp_path, SCRIPT + loop)
    (bundle,) = run.bundles
    check_bundle(bundle)
    manifest = bundle.manifest
    assert manifest["step"]["by"] == by
    assert manifest["steps_measured"] == 5 and manifest["plain_step_ns"] and manifest["map_step_ns"] is not None
    ranges = [e for e in bundle.trace("trace-0.json.gz") if e["name"].startswith("ProfilerStep#")]
    passes = [e["ts"] for e in bundle.trace("trace-0.json.gz") if e["name"].startswith("Optimizer.step#")]
    assert [sum(r["ts"] <= ts < r["ts"] + r["dur"] for ts in passes) for r in ranges] == [1] * 5
    assert not {w["code"] for w in manifest["warnings"]} & {"fewer_steps", "no_plain_steps", "no_map_step"}


class Thing:
    pass


def used(numbers: Numbers, thing: object) -> int:
    return numbers.of(thing, sys._getframe(1))


def test_a_successor_has_the_number_of_who_has_gone() -> None:
    numbers = Numbers()
    found = []
    for _ in range(3):
        training, test = Thing(), Thing()
        for thing in (training, test, training):
            found.append(used(numbers, thing))
        del training, test, thing
    assert found == [1, 2, 1] * 3


def test_who_is_still_there_has_no_successor() -> None:
    numbers = Numbers()
    alive = [Thing() for _ in range(3)]
    assert [used(numbers, thing) for thing in alive] == [1, 2, 3]


def test_elsewhere_it_is_another() -> None:
    numbers = Numbers()
    here = used(numbers, Thing())
    assert used(numbers, Thing()) != here


def test_what_cannot_be_referred_to_weakly_is_numbered_too() -> None:
    numbers, batches = Numbers(), [[0, 1], [2, 3]]
    assert used(numbers, batches) == used(numbers, batches) < 0


def test_who_is_still_there_can_be_followed() -> None:
    numbers, old, new, elsewhere = Numbers(), Thing(), Thing(), Thing()
    for thing in (old, new):
        used(numbers, thing)
    numbers.of(elsewhere, None)
    assert numbers.take_over(new, 1) and [used(numbers, thing) for thing in (old, new)] == [1, 1]
    assert not numbers.take_over(elsewhere, 1) and used(numbers, elsewhere) == 3


class Uses:
    """An iterator that is used by whoever asks it."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def __next__(self) -> int:
        self.thing = Thing()
        return self.numbers.of(self.thing, sys._getframe(1))


def test_a_place_stays_the_same_however_often_it_runs() -> None:
    uses = Uses(Numbers())
    assert {next(uses) for _ in range(100)} == {1}  # one comes as the other has gone
