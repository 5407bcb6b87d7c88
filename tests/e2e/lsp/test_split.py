"""A real model file is split into two: every hint goes where its line went."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from lsp_client import Client
from real_file import labels, profiled_copy

Start = Callable[..., Client]


def hinted(client: Client, path: Path) -> list[tuple[str, str]]:
    """Lines with hints, by their text, and the labels."""
    lines = path.read_text().splitlines()
    hints = client.hints_when_known(client.open(path))
    return [(lines[line], label) for line, label in labels(hints)]


def test_hints_follow_the_classes_of_a_real_model_file_into_another_one(start: Start, tmp_path: Path) -> None:
    model, layers = profiled_copy(tmp_path), tmp_path / "layers.py"
    whole = model.read_text()
    shown_all = {"hints": {"minPercent": 0}}
    client = start()
    client.initialize([tmp_path], options=shown_all)
    before = hinted(client, model)
    assert len(before) > 40

    head, *parts = re.split(r"(?m)^(?=class |@|def |logger)", whole)
    moved = [part for part in parts if part.startswith(("class GPT2MLP", "class GPT2Attention", "class GPT2Block"))]
    assert len(moved) == 3
    model.write_text(head + "from layers import *\n\n" + "".join(part for part in parts if part not in moved))
    layers.write_text(head + "\n\n" + "".join(moved))
    client = start()
    client.initialize([tmp_path], options=shown_all)
    stayed, went = hinted(client, model), hinted(client, layers)
    assert len(went) > 20
    assert sorted(stayed + went) == sorted(before)
