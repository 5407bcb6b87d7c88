"""Source that a program wrote, from a template or as cells of a notebook: what is there has its hints, nothing else has any."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_client import SERVER, Client
from warm import interpreter

Start = Callable[..., Client]
PYTHON = os.environ.get("HOTLENS_TEST_PYTHON", sys.executable)

TEMPLATE = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
{%- for width in widths %}
        self.layer{{ loop.index }} = nn.Linear({{ width }}, 256)
{%- endfor %}

    def forward(self, x):
{%- for width in widths %}
        x = self.layer{{ loop.index }}(x)
{%- endfor %}
        return x
"""
RENDER = """\
import jinja2
from pathlib import Path

Path("rendered.py").write_text(jinja2.Template(Path("net.py.j2").read_text()).render(widths=[256, 256]) + "\\n")
"""
STEPS = """\
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(20):
    optimizer.zero_grad()
    loss = net(torch.randn(64, 256)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""

# A cell runs as ipykernel runs it: compiled under a path where no file is, its text in linecache only.
NOTEBOOK = """\
import linecache, os, tempfile

def run_cell(number, text):
    name = os.path.join(tempfile.gettempdir(), f"ipykernel_{os.getpid()}", f"{number}.py")
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), globals())

run_cell(1, "import torch\\nfrom torch import nn\\nfrom blocks import Block")
run_cell(2, '''class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.head = nn.Linear(256, 256)
    def forward(self, x):
        return self.head(self.block(x))
''')
run_cell(3, "net = Net()\\n" + open("steps.txt").read())
"""
BLOCKS = """\
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(256, 512)
        self.down = nn.Linear(512, 256)

    def forward(self, x):
        return self.down(self.up(x))
"""


def record(folder: Path, script: str) -> None:
    command = [SERVER, "run", "--python", interpreter(), "--warmup", "1", "--steps", "3", script]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def hinted(client: Client, path: Path, first: bool = False) -> list[str]:
    """The lines of a file that have hints of the steps, by their text; `first`: the first answer that has any."""
    uri = client.open(path)
    lines = path.read_text().splitlines()
    hints = client.hints_when_known(uri) if first else client.hints(uri)
    return [lines[hint["position"]["line"]].strip() for hint in hints if "start-up" not in str(hint["label"])]


LAYERS = [
    "self.layer1 = nn.Linear(256, 256)",
    "self.layer2 = nn.Linear(256, 256)",
    "x = self.layer1(x)",
    "x = self.layer2(x)",
]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rendered")
    (folder / "net.py.j2").write_text(TEMPLATE)
    (folder / "train.py").write_text(RENDER + f"\nimport torch\nfrom rendered import Net\n\nnet = Net()\n{STEPS}")
    record(folder, "train.py")
    return folder


def test_a_module_rendered_from_a_template_has_hints_and_the_template_none(start: Start, rendered: Path) -> None:
    client = start()
    client.initialize([rendered])
    assert [line for line in hinted(client, rendered / "rendered.py", first=True) if "layer" in line] == LAYERS
    assert hinted(client, rendered / "net.py.j2") == []
    assert "loss.backward()" in hinted(client, rendered / "train.py", first=True)


def test_a_rendered_module_keeps_its_hints_when_it_is_rendered_anew(start: Start, rendered: Path) -> None:
    client = start()
    client.initialize([rendered])
    text = (rendered / "rendered.py").read_text()
    more = text.replace("        super().__init__()\n", "        super().__init__()\n        self.layer0 = nn.Linear(256, 256)\n")
    hinted(client, rendered / "rendered.py", first=True)
    uri = client.open(rendered / "rendered.py", more)
    lines = more.splitlines()
    shown = [lines[hint["position"]["line"]].strip() for hint in client.hints_when_known(uri)]
    assert [line for line in shown if "layer" in line] == LAYERS


def test_a_rendered_module_and_its_template_may_be_gone(start: Start, rendered: Path) -> None:
    text = (rendered / "rendered.py").read_text()
    (rendered / "rendered.py").unlink()
    (rendered / "net.py.j2").rename(rendered / "other.txt")
    try:
        client = start()
        client.initialize([rendered])
        assert "optimizer.step()" in hinted(client, rendered / "train.py", first=True)
        # What the program wrote is opened once more from the editor's memory: it is the text that ran.
        uri = client.open(rendered / "rendered.py", text)
        assert len(client.hints_when_known(uri)) >= len(LAYERS)
    finally:
        (rendered / "rendered.py").write_text(text)
        (rendered / "other.txt").rename(rendered / "net.py.j2")


def test_cells_of_a_notebook_show_nothing_and_modules_that_they_use_have_hints(start: Start, tmp_path: Path) -> None:
    (tmp_path / "blocks.py").write_text(BLOCKS)
    (tmp_path / "steps.txt").write_text(STEPS)
    (tmp_path / "notebook.py").write_text(NOTEBOOK)
    record(tmp_path, "notebook.py")
    client = start()
    client.initialize([tmp_path])
    layers = [line for line in hinted(client, tmp_path / "blocks.py", first=True) if line.startswith(("self.", "return"))]
    assert layers == ["self.up = nn.Linear(256, 512)", "self.down = nn.Linear(512, 256)", "return self.down(self.up(x))"]
    # What ran in cells is rolled up where a file ran them: the model that they made, the loop's time, and no line of the cells' texts.
    rolled_up = hinted(client, tmp_path / "notebook.py", first=True)
    assert rolled_up[0] == 'exec(compile(text, name, "exec"), globals())'
    assert [line.split(",")[0] for line in rolled_up[1:]] == ["run_cell(3"]
    cell = "vscode-notebook-cell:" + (tmp_path / "train.ipynb").as_uri().removeprefix("file:") + "#W0sZmlsZQ%3D%3D"
    text = "net = Net()\n" + STEPS
    client.notify("textDocument/didOpen", {"textDocument": {"uri": cell, "languageId": "python", "version": 1, "text": text}})
    assert client.hints(cell) is None
    assert client.request("textDocument/hover", {"textDocument": {"uri": cell}, "position": {"line": 0, "character": 2}}) is None
    notebook = tmp_path / "train.ipynb"
    notebook.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    assert client.hints(client.open(notebook)) == []
