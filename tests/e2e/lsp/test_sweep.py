"""Several runs of one script as one: offered where a sweep was seen, tried on request in a process of the script's own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON
from lsp_client import SERVER, Client
from test_advice import EDITS

Start = Callable[..., Client]
TRY = "hotlens.server.trySweep"

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
for step in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def record(folder: Path, text: str) -> None:
    (folder / "train.py").write_text(text)
    command = [SERVER, "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two profiles of one script with two rates; a trial is forgotten after each test."""
    folder = tmp_path_factory.mktemp("swept") / "work"
    folder.mkdir()
    record(folder, SCRIPT.replace("1e-3", "1e-2"))
    record(folder, SCRIPT)
    return folder


def opened(start: Start, folder: Path, trusted: bool = True) -> tuple[Client, str]:
    client = start()
    client.initialize([folder], EDITS, {"python": PYTHON, "trusted": trusted})
    uri = client.open(folder / "train.py")
    client.hints_when_known(uri)
    return client, uri


def offered(client: Client, uri: str) -> list[dict[str, Any]]:
    at = {"line": 0, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}
    return [one for one in client.request("textDocument/codeAction", params) if one["title"].startswith("Try ")]


def said(client: Client) -> list[str]:
    return [message["message"] for message in client.messages("window/showMessage")]


def test_two_runs_of_one_script_are_tried_as_one(start: Start, swept: Path) -> None:
    client, uri = opened(start, swept)
    (action,) = client.wait(lambda: offered(client, uri))
    assert action["title"] == "Try these 2 runs as one" and action["kind"] == "hotlens.whatIf"
    command = action["command"]
    assert command["command"] == TRY
    assert client.command(command["command"], *command["arguments"]) == {"started": True}
    assert offered(client, uri) == [], "one at a time"
    again = client.command(command["command"], *command["arguments"])
    assert not again["started"]
    (told,) = client.wait(lambda: [one for one in said(client) if one.startswith("2 models as one take ")], 240)
    (kept,) = swept.glob(".hotlens/profiles/*/sweep.json")
    (attempt,) = json.loads(kept.read_text())["tried"]["attempts"]
    assert f"take {1 / attempt['speedup']:.2f} of the time of one after another" in told
    assert told.endswith("it does not pay.") is not attempt["pays"]
    kept.unlink()


def test_a_loop_around_the_training_is_offered_too(start: Start, tmp_path: Path) -> None:
    lines = SCRIPT.splitlines(keepends=True)
    loop = [lines[0], lines[1], "\n", "for rate in (1e-2, 1e-3):\n", *("    " + line for line in lines[3:])]
    (tmp_path / "work").mkdir()
    record(tmp_path / "work", "".join(loop).replace("lr=1e-3", "lr=rate"))
    client, uri = opened(start, tmp_path / "work")
    (action,) = client.wait(lambda: offered(client, uri))
    assert action["title"] == "Try the runs of this loop as one"


def test_one_run_alone_is_no_sweep_and_an_untrusted_workspace_tries_nothing(start: Start, swept: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    record(tmp_path / "work", SCRIPT)
    client, uri = opened(start, tmp_path / "work")
    assert offered(client, uri) == []

    client, uri = opened(start, swept, trusted=False)
    assert offered(client, uri) == []
    answer = client.command(TRY, {"uri": uri})
    assert not answer["started"] and "not trusted" in answer["message"]
    assert not list(swept.glob(".hotlens/profiles/*/sweep.json"))
