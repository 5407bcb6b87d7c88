"""A real model file is split into two: every hint goes where its line went."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lsp_client import SERVER, Client

Start = Callable[..., Client]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)

FIND = "from importlib.util import find_spec; print(find_spec('transformers.models.gpt2.modeling_gpt2').origin)"
TRAIN = """\
import torch
from gpt import GPT2LMHeadModel
from transformers import GPT2Config

model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=2, n_head=2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    x = torch.randint(0, 100, (4, 32))
    optimizer.zero_grad()
    model(input_ids=x, labels=x).loss.backward()
    optimizer.step()
"""


def outside_its_package(text: str) -> str:
    """The file of a package with its imports made absolute."""
    text = re.sub(r"from \.\.\.(\w*)", lambda found: "from transformers" + ("." + found[1] if found[1] else ""), text)
    return text.replace("from .configuration", "from transformers.models.gpt2.configuration")


def hinted(client: Client, path: Path) -> list[tuple[str, str]]:
    """Lines with hints, by their text, and the labels."""
    lines = path.read_text().splitlines()
    hints = client.hints_when_known(client.open(path))
    labels = [h["label"] if isinstance(h["label"], str) else "".join(part["value"] for part in h["label"]) for h in hints]
    return [(lines[hint["position"]["line"]], label) for hint, label in zip(hints, labels, strict=True)]


def test_hints_follow_the_classes_of_a_real_model_file_into_another_one(start: Start, tmp_path: Path) -> None:
    source = subprocess.run([PYTHON, "-c", FIND], check=True, capture_output=True, text=True).stdout.strip()
    whole = outside_its_package(Path(source).read_text())
    model, layers = tmp_path / "gpt.py", tmp_path / "layers.py"
    model.write_text(whole)
    (tmp_path / "train.py").write_text(TRAIN)
    command = [SERVER, "run", "--python", PYTHON, "--warmup", "1", "--steps", "3", "train.py"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
