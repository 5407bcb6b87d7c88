"""Another batch size from the editor: recorded with a second one, predicted by a replay, set by an edit of one token."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT
from lsp_client import RICH, Client

Start = Callable[..., Client]
PREDICT = "hotlens.server.predict"
LIMIT = 180.0  # the worker may have to be built

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

batch_size = 8
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(8 * 60, 32), torch.randint(0, 4, (8 * 60,)))
for x, y in DataLoader(data, batch_size):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.fixture
def client(start: Start, tmp_path: Path) -> Client:
    """A server with a profile of the script at one batch size. Workers are kept between runs of the tests."""
    (tmp_path / "train.py").write_text(SCRIPT)
    new = start(env={**os.environ, "XDG_CACHE_HOME": str(ROOT / "build" / "cache")})
    edits = {**RICH, "workspace": {**RICH["workspace"], "workspaceEdit": {"documentChanges": True}}}
    new.initialize([tmp_path], edits, {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}})
    return new


def ended(client: Client, times: int) -> bool:
    return [p["value"]["kind"] for p in client.messages("$/progress")].count("end") >= times


def lens(client: Client, uri: str, line: int) -> dict[str, Any] | None:
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return next((one["command"] for one in lenses if one["range"]["start"]["line"] == line), None)


def actions(client: Client, uri: str, line: int) -> list[dict[str, Any]]:
    at = {"line": line, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": [], "only": ["refactor"]}}
    found: list[dict[str, Any]] = client.request("textDocument/codeAction", params)
    return found


def test_the_line_of_the_batch_size_tells_what_another_one_would_do(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "train.py")
    assert client.command("hotlens.server.profile", {"uri": uri})["started"]
    client.wait(lambda: ended(client, 1), LIMIT)
    offered = lens(client, uri, 4)
    assert offered is not None and offered["command"] == PREDICT and "Predict" in offered["title"]
    assert actions(client, uri, 4) == []

    # One size is known: the script runs again with a second one, then the step is replayed.
    assert client.command(PREDICT, *offered["arguments"])["started"]
    client.wait(lambda: ended(client, 3), LIMIT)
    assert client.messages("window/showMessage") == []
    told = lens(client, uri, 4)
    assert told is not None and told["title"].startswith("batch size 8 → 16: ") and "memory" in told["title"]
    found = actions(client, uri, 4)
    assert [one["title"].partition(":")[0] for one in found] == ["Batch size 8 → 4", "Batch size 8 → 16", "Batch size 8 → 32"]
    (change,) = found[1]["edit"]["documentChanges"]
    assert change["textDocument"]["uri"] == uri
    place = {"start": {"line": 4, "character": 13}, "end": {"line": 4, "character": 14}}
    assert change["edits"] == [{"range": place, "newText": "16"}]
    assert actions(client, uri, 5) == []
    assert (tmp_path / "train.py").read_text() == SCRIPT


def test_nothing_is_predicted_without_a_profile_or_without_trust(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "train.py")
    assert lens(client, uri, 4) is None
    assert "Profile the script first" in client.command(PREDICT, {"uri": uri})["message"]
    assert not client.command(PREDICT)["started"]
    client.notify("hotlens/trust", {"trusted": False})
    assert "not trusted" in client.command(PREDICT, {"uri": uri})["message"]
