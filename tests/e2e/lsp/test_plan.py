"""Which blocks to checkpoint, planned from the timeline: every choice is replayed, and the curve appears where it was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT
from lsp_client import RICH, Client

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from page_socket import Address, Page

LIMIT = 240.0  # the worker may have to be built

SCRIPT = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 512), nn.Linear(512, 32)
    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.blocks, self.head = nn.Linear(8, 32), nn.ModuleList(Block() for _ in range(3)), nn.Linear(32, 4)
    def forward(self, x):
        x = self.into(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    model(torch.randn(2000, 8)).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def client(start: Callable[..., Client], tmp_path: Path) -> Client:
    (tmp_path / "train.py").write_text(SCRIPT)
    new = start(env={**os.environ, "XDG_CACHE_HOME": str(ROOT / "build" / "cache")})
    new.initialize([tmp_path], {**RICH, "experimental": {"hotlens": {}}}, {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}})
    return new


def ended(client: Client, times: int) -> bool:
    return [p["value"]["kind"] for p in client.messages("$/progress")].count("end") >= times


def what_ifs(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.request("hotlens/timeline/whatIfs", {})
    return found


def lenses(client: Client, uri: str) -> list[dict[str, Any]]:
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return [one for one in found if "peak " in one["command"]["title"]]


def test_the_timeline_plans_what_to_checkpoint(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "train.py")
    assert client.command("hotlens.server.profile", {"uri": uri})["started"]
    client.wait(lambda: ended(client, 1), LIMIT)
    before = what_ifs(client)
    assert before["plan"] == "offered" and "checkpoints" not in before and before["command"]
    told = len(client.messages("hotlens/timeline/whatIfsChanged"))
    assert client.request("hotlens/timeline/planCheckpoints", {"profile": before["profile"]})["started"]
    assert what_ifs(client)["plan"] == "running"
    assert "started" in client.request("hotlens/timeline/planCheckpoints", {"profile": before["profile"]})
    assert client.request("hotlens/timeline/planCheckpoints", {"profile": "another"})["started"] is False
    client.wait(lambda: ended(client, 2), LIMIT)
    client.wait(lambda: len(client.messages("hotlens/timeline/whatIfsChanged")) >= told + 2)
    after = what_ifs(client)
    assert after["plan"] == "offered"
    points = after["checkpoints"]["points"]
    assert points[0]["blocks"] == [] and points[-1]["blocks"] and points[-1]["peak"] < points[0]["peak"]
    (said,) = client.messages("window/showMessage")
    assert said["message"].startswith("The choices of blocks to checkpoint are replayed")

    # Where the blocks are called, a lens says the best choice, and actions make it and others.
    (lens,) = client.wait(lambda: lenses(client, uri))
    assert lens["command"]["title"].startswith("peak ") and ": checkpoint " in lens["command"]["title"]
    at = lens["range"]["start"]
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}
    actions = [one for one in client.request("textDocument/codeAction", params) if one["title"].startswith("Apply: Checkpoint ")]
    assert SCRIPT.splitlines()[at["line"]] == "            x = block(x)"
    assert actions and all(" → " in one["title"] and "memory " in one["title"] and "edit" in one for one in actions)
    assert lens["command"]["title"].split(": checkpoint ")[1] == actions[0]["title"].removeprefix("Apply: Checkpoint ").split(":")[0]

    # What was made is kept, as that choice: the next profile tells what came of it.
    command = actions[-1]["command"]
    assert client.command(command["command"], *command["arguments"]) == {"kept": True}
    (kept,) = [json.loads(line) for line in (tmp_path / ".hotlens/ledger.jsonl").read_text().splitlines() if '"applied"' in line]
    assert kept["kind"] == "checkpoint" and "checkpoint(" in kept["edits"][0]["text"]

    # A page in a browser starts nothing.
    page = Page(Address(client.command("hotlens.server.openTimeline", {"browser": True})["url"]))
    assert "plan" not in page.ask("whatIfs") and page.ask("planCheckpoints")["started"] is False
    page.close()
    client.notify("hotlens/trust", {"trusted": False})
    assert what_ifs(client)["plan"] == "none"
    assert "not trusted" in client.request("hotlens/timeline/planCheckpoints", {"profile": before["profile"]})["message"]


def test_a_peak_in_the_optimizer_is_told_at_its_line_with_what_lowers_it(client: Client, tmp_path: Path) -> None:
    text = SCRIPT.replace("SGD(model.parameters(), lr=0.1)", "Adam(model.parameters())").replace("randn(2000", "randn(2")
    (tmp_path / "train.py").write_text(text)
    uri = client.open(tmp_path / "train.py")
    assert client.command("hotlens.server.profile", {"uri": uri})["started"]
    client.wait(lambda: ended(client, 1), LIMIT)
    steps = {"textDocument": {"uri": uri}, "position": {"line": text.splitlines().index("    optimizer.step()"), "character": 6}}
    assert "here: checkpointing layers would not lower it" in client.request("textDocument/hover", steps)["contents"]["value"]
    profile = what_ifs(client)["profile"]
    assert client.request("hotlens/timeline/planCheckpoints", {"profile": profile})["started"]
    client.wait(lambda: ended(client, 2), LIMIT)
    (said,) = client.messages("window/showMessage")
    assert "is in the optimizer: checkpointing does not lower it, fused_optimizer would: " in said["message"]
    assert "fused_optimizer would: " in what_ifs(client)["checkpoints"]["refused"]

    (lens,) = client.wait(lambda: lenses(client, uri))
    at = lens["range"]["start"]
    assert "is in the optimizer: checkpointing would not lower it; \u2212" in lens["command"]["title"]
    assert text.splitlines()[at["line"]] == "optimizer = torch.optim.Adam(model.parameters())"
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}
    found = client.request("textDocument/codeAction", params)
    (fuse,) = [one for one in found if one["title"].startswith("Apply: Optimizer with fused=True")]
    assert "memory " in fuse["title"] and " → " in fuse["title"]
    assert [one["newText"] for edits in fuse["edit"]["changes"].values() for one in edits] == [", fused=True"]
    command = fuse["command"]
    assert client.command(command["command"], *command["arguments"]) == {"kept": True}
