"""A real model file in a workspace, profiled: gpt2 of transformers, copied as people copy a model to change it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from lsp_client import SERVER
from warm import interpreter

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


def profiled_copy(folder: Path) -> Path:
    """Writes gpt.py and train.py, runs a profile there; the model's file."""
    source = subprocess.run([PYTHON, "-c", FIND], check=True, capture_output=True, text=True).stdout.strip()
    model = folder / "gpt.py"
    model.write_text(outside_its_package(Path(source).read_text()))
    (folder / "train.py").write_text(TRAIN)
    command = [SERVER, "run", "--python", interpreter(), "--warmup", "1", "--steps", "3", "train.py"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return model


def labels(hints: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Line and text of each hint."""
    return [(h["position"]["line"], h["label"] if isinstance(h["label"], str) else "".join(p["value"] for p in h["label"])) for h in hints]


def said(node: ast.stmt) -> str:
    """A statement without what stands inside it: of a class or function its name, of a loop or condition its header."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return f"{type(node).__name__} {node.name}"
    return ast.unparse(node).splitlines()[0]


def statement_at(text: str, line: int) -> tuple[str, str]:
    """What the innermost statement at a line (0-based) says, and the names of the classes and functions around it."""
    names, at = [], ast.parse(text).body
    while True:
        inside = [
            n for n in at if min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) <= line + 1 <= (n.end_lineno or 0)
        ]
        if not inside:
            raise AssertionError(f"no statement at line {line + 1}")
        node = inside[0]
        below = [n for block in ("body", "orelse") for n in getattr(node, block, [])]
        if not any(n.lineno <= line + 1 <= (n.end_lineno or 0) for n in below):
            return said(node), ".".join(names)
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.append(node.name)
        at = below
