"""A number that nothing on paper tells the cost of: the editor offers a run that records its other values, and then tells it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client
from test_edited_layers import Typist, predicts, profiled, until

Start = Callable[..., Client]
SCRIPT = """\
import torch
from torch import nn

BLOCK = 32  # tokens
model = nn.Sequential(nn.Embedding(50, 48), nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 50))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    x = torch.randint(50, (64, BLOCK))
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def offers(typist: Typist, line: int) -> list[dict[str, Any]]:
    at = {"line": line, "character": 2}
    context = {"diagnostics": [], "only": ["hotlens.profile"]}
    asked = {"textDocument": {"uri": typist.uri}, "range": {"start": at, "end": at}, "context": context}
    return [one for one in typist.client.request("textDocument/codeAction", asked) if "other values" in one["title"]]


@pytest.fixture
def typist(start: Start, tmp_path: Path) -> Typist:
    return profiled(start, tmp_path, SCRIPT)


def test_a_run_records_other_values_and_the_next_edit_is_told(typist: Typist) -> None:
    assert offers(typist, 3) == []
    longer = SCRIPT.replace("BLOCK = 32", "BLOCK = 48")
    typist.types(longer)
    assert until(lambda: typist.marks("not-predicted") != [])
    (mark,) = typist.marks("not-predicted")
    assert mark["range"]["start"]["line"] == 3 and "its other values can be recorded: hotlens run --vary BLOCK train.py" in mark["message"]
    (offer,) = offers(typist, 3)
    assert offer["title"] == "Profile with other values of BLOCK" and offers(typist, 4) == []

    typist.saves(longer)
    ended = len(typist.ended())
    assert typist.client.command(offer["command"]["command"], *offer["command"]["arguments"])["started"]
    typist.client.wait(lambda: len(typist.ended()) > ended, 180)
    latest = max((typist.path.parent / ".hotlens/profiles").glob("*/manifest.json"), key=lambda path: path.stat().st_mtime_ns)
    assert [(row["name"], row["was"], row["value"]) for row in json.loads(latest.read_text())["varied"]] == [
        ("BLOCK", 48, 32),
        ("BLOCK", 48, 16),
    ]

    typist.types(SCRIPT.replace("BLOCK = 32", "BLOCK = 100"))
    assert until(lambda: predicts(typist.hint(3)))
    assert "BLOCK 48 → 100" in typist.hover(3).replace("\\", "") and typist.marks("not-predicted") == []
    assert typist.path.read_text() == longer
