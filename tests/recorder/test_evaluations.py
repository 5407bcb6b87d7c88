"""Evaluations with gradients on: what they keep for a backward pass that does not follow, and at which line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, record_text

SCRIPT = """\
import contextlib
import copy
import pickle
import torch
from torch import nn
from torch.nn.modules import module as torch_module

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    model.train()
    for i in range(12):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()


def evaluate():
    model.eval()
    {before}
    with {around}:
        y = model(torch.randn(32, 8))
    {after}
    return y.sum().item()


for epoch in range(6):
    train()
    evaluate()
print(len(torch_module._global_forward_hooks), "hooks")
"""
CALL = "        y = model(torch.randn(32, 8))"
PLAIN = {"before": "pass", "around": "contextlib.nullcontext()", "after": "pass"}


def graphs(run: Run) -> list[dict[str, Any]]:
    assert run.code == 0, run.err
    whole = json.loads((run.bundle.path / "loop.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = whole.get("unused_graphs", [])
    return found


def script(**parts: str) -> str:
    return SCRIPT.format(**{**PLAIN, **parts})


def test_one_with_gradients_on_is_told_with_its_line_and_bytes(tmp_path: Path) -> None:
    (row,) = graphs(record_text(tmp_path, script(), ["--keep-going"]))
    line = script().splitlines().index(CALL)
    # What ReLU gives is kept twice, by it and by the layer behind it, in one place; the batch is there anyway.
    assert row == {"file": 0, "line": line, "function": "evaluate", "model": "Sequential", "bytes": 32 * 16 * 4}


@pytest.mark.parametrize(
    "parts",
    [
        {"around": "torch.no_grad()"},
        {"around": "torch.inference_mode()"},
        {"after": "y.sum().backward()"},
        {"after": "torch.autograd.grad(y.sum(), list(model.parameters()))"},
        {"around": "torch.autograd.graph.save_on_cpu()"},
    ],
)
def test_one_that_keeps_nothing_or_goes_backward_is_not_told(tmp_path: Path, parts: dict[str, str]) -> None:
    assert graphs(record_text(tmp_path, script(**parts))) == []


def test_a_model_that_is_called_by_its_parts_is_not_waited_for(tmp_path: Path) -> None:
    by_parts = "[model[0](torch.randn(2, 8)) for _ in range(1001)]; print(len(torch_module._global_forward_hooks), 'left')"
    run = record_text(tmp_path, script(before=by_parts))
    assert graphs(run) == [] and run.out.startswith("0 left\n")


@pytest.mark.parametrize("before", ["pickle.dumps(model)", "copy.deepcopy(model)(torch.randn(2, 8))"])
def test_the_model_is_saved_and_copied_as_it_is(tmp_path: Path, before: str) -> None:
    (row,) = graphs(run := record_text(tmp_path, script(before=before), ["--keep-going"]))
    assert row["bytes"] == 32 * 16 * 4 and run.out == "0 hooks\n"
