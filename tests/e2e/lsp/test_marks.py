"""Lines that are marked: what limits the step, where the trace bears it out, and evaluations with gradients on; and how to silence them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON
from lsp_client import RICH, SERVER, Client, text_of
from warm import interpreter

Start = Callable[..., Client]
SILENCE, TELL_AGAIN, TIMELINE = "hotlens.server.silence", "hotlens.server.tellAgain", "hotlens.server.openTimeline"
EDITOR = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True, "showTimeline": {"commandLinks": True}}}}

# A batch takes far longer to make than to learn from.
SLOW_LOADER = """\
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.randn(16), index % 4

loader = DataLoader(Rows(), batch_size=8)
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
FETCH = SLOW_LOADER.split("\n").index("for x, y in loader:")

# Hardly any arithmetic in many small operators, with Python between them.
MANY_SMALL = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
    def forward(self, x):
        for turn in range(300):
            x = wrapped(x, self.weight)
        return x

def wrapped(x, weight):
    names = {str(each): each for each in range(60)}
    return x.view(4) + weight.view(4) * len(names)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    model(torch.ones(4)).sum().backward()
    optimizer.step()
"""

BUSY = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    model(torch.ones(256, 1024)).sum().backward()
    optimizer.step()
"""


def profiled(folder: Path, script: str, *options: str) -> Path:
    folder.mkdir()
    (folder / "train.py").write_text(script)
    command = [SERVER, "run", "--python", interpreter(), "--warmup", "2", "--steps", "4", *options, "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def slow_loader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return profiled(tmp_path_factory.mktemp("verdict") / "loader", SLOW_LOADER)


@pytest.fixture
def loading(slow_loader: Path) -> Path:
    """Its folder, without anything that an earlier test left there."""
    (slow_loader / "train.py").write_text(SLOW_LOADER)
    for file in slow_loader.glob(".hotlens/*.json*"):
        file.unlink()
    return slow_loader


def opened(start: Start, folder: Path, capabilities: Any = None) -> tuple[Client, str]:
    client = start()
    client.initialize([folder], capabilities or EDITOR, {"python": PYTHON})
    uri = client.open(folder / "train.py")
    client.hints_when_known(uri)
    return client, uri


def marks(client: Client, uri: str) -> list[dict[str, Any]]:
    told = [message["diagnostics"] for message in client.messages("textDocument/publishDiagnostics") if message["uri"] == uri]
    return [one for one in (told[-1] if told else []) if str(one["code"]).endswith("-bound")]


def actions(client: Client, uri: str, line: int) -> dict[str, dict[str, Any]]:
    at = {"line": line, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": [], "only": ["quickfix"]}}
    return {each["title"]: each for each in client.request("textDocument/codeAction", params)}


def hover(client: Client, uri: str, line: int) -> str:
    found = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 0}})
    return str(found["contents"]["value"]) if found else ""


def change(client: Client, uri: str, text: str, version: int) -> None:
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]})


def report(folder: Path) -> Any:
    return json.loads(subprocess.run([SERVER, "report", "latest", "--format", "json"], cwd=folder, check=True, capture_output=True).stdout)


def test_a_step_that_waits_for_its_batches_is_marked_where_it_gets_them(start: Start, loading: Path) -> None:
    client, uri = opened(start, loading)
    (mark,) = client.wait(lambda: marks(client, uri))
    assert (mark["code"], mark["severity"], mark["source"]) == ("data-bound", 4, "hotlens")
    assert mark["range"] == {"start": {"line": FETCH, "character": 0}, "end": {"line": FETCH, "character": len("for x, y in loader:")}}
    said = re.fullmatch(r"Data-bound: the step gets its batch here, (\S+ ms) an update, (\d+%) of the loop\.", mark["message"])
    assert said, mark["message"]
    (hint,) = client.hints(uri, FETCH, FETCH + 1)
    assert text_of(hint["label"]) == f"{said[1]} {said[2]}"  # one number on every screen
    lens = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})[0]["command"]["title"]
    assert "data-bound" in lens
    words = hover(client, uri, FETCH)
    assert f"{said[1]} an update, {said[2]} of the loop" in words and words.count("the step is data-bound: host loads data") == 1
    assert report(loading)["verdict"]["kind"] == "data"


def test_the_mark_follows_its_line_and_goes_when_it_is_edited(start: Start, loading: Path) -> None:
    client, uri = opened(start, loading)
    client.wait(lambda: marks(client, uri))
    change(client, uri, "# a comment\n" + SLOW_LOADER, 2)
    client.wait(lambda: [each["range"]["start"]["line"] for each in marks(client, uri)] == [FETCH + 1])
    change(client, uri, SLOW_LOADER.replace("in loader:", "in list(loader):"), 3)
    client.wait(lambda: not marks(client, uri))
    assert actions(client, uri, FETCH) == {}
    change(client, uri, SLOW_LOADER, 4)  # undone
    client.wait(lambda: marks(client, uri))
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.wait(lambda: not marks(client, uri))


def test_it_is_silenced_at_its_place_and_told_again(start: Start, loading: Path) -> None:
    client, uri = opened(start, loading)
    client.wait(lambda: marks(client, uri))
    offered = actions(client, uri, FETCH)
    assert list(offered) == ["Show in timeline", "Not here: data-bound"]
    assert offered["Not here: data-bound"]["diagnostics"] == marks(client, uri)
    place = client.command(TIMELINE, *offered["Show in timeline"]["command"]["arguments"])
    assert place["path"][-1].startswith("data")

    command = offered["Not here: data-bound"]["command"]
    assert command["command"] == SILENCE and client.command(SILENCE, *command["arguments"]) == {"silenced": True}
    client.wait(lambda: not marks(client, uri))
    (line,) = [json.loads(each) for each in (loading / ".hotlens/silenced.jsonl").read_text().splitlines()]
    assert {key: line[key] for key in ("kind", "file", "text", "nth")} == {
        "kind": "data-bound",
        "file": "train.py",
        "text": "for x, y in loader:",
        "nth": 0,
    }
    assert actions(client, uri, FETCH) == {} and client.command(SILENCE, *command["arguments"])["silenced"] is False

    other, uri_there = opened(start, loading)  # another session knows it, and sees it come back
    other.wait(lambda: other.messages("textDocument/publishDiagnostics") or other.request("hotlens/profileState")["loading"] is False)
    assert marks(other, uri_there) == []
    listed: list[Any] = []
    client.answer["hotlens/choose"] = lambda params: listed.append(params) or {"result": {"index": 1}}
    client.command(TELL_AGAIN)
    client.wait(lambda: marks(client, uri))
    assert [each["label"] for each in listed[0]["choices"]] == ["All 1", "data-bound"]
    other.wait(lambda: marks(other, uri_there))


def test_overhead_is_marked_at_the_innermost_line_that_most_of_it_happens_in(start: Start, tmp_path: Path) -> None:
    folder = profiled(tmp_path / "small", MANY_SMALL)
    verdict = report(folder)["verdict"]
    assert verdict["kind"] == "launch", verdict
    client, uri = opened(start, folder)
    (mark,) = client.wait(lambda: marks(client, uri))
    assert mark["code"] == "launch-bound"
    line = MANY_SMALL.split("\n")[mark["range"]["start"]["line"]].strip()
    assert line in ("x = wrapped(x, self.weight)", "return x.view(4) + weight.view(4) * len(names)")
    said = re.fullmatch(
        r"Launch-bound: overhead of Python and operators: (\S+ \S+) \(\d+%\) of the step, (\S+ \S+) of it in what runs here\.",
        mark["message"],
    )
    assert said, mark["message"]
    assert f"the step is launch-bound: overhead of Python and operators {said[1]}" in hover(client, uri, mark["range"]["start"]["line"])


def test_arithmetic_and_rare_work_are_not_marked(start: Start, tmp_path: Path, loading: Path) -> None:
    folder = profiled(tmp_path / "busy", BUSY)
    assert report(folder)["verdict"]["kind"] in ("compute", "memory")
    client, uri = opened(start, folder)
    later, uri_there = opened(start, loading)
    later.wait(lambda: marks(later, uri_there))  # as long as a mark takes
    assert marks(client, uri) == []


def test_an_untrusted_workspace_and_a_client_without_actions_have_the_mark(start: Start, loading: Path) -> None:
    client = start()
    capabilities = {**EDITOR, "textDocument": {**RICH["textDocument"], "codeAction": {}}}
    client.initialize([loading], capabilities, {"python": PYTHON, "trusted": False})
    uri = client.open(loading / "train.py")
    client.wait(lambda: marks(client, uri))
    assert actions(client, uri, FETCH) == {}


def test_a_list_that_cannot_be_read_silences_nothing(start: Start, loading: Path) -> None:
    (loading / ".hotlens/silenced.jsonl").write_text('{"schema":"hotlens.silenced/1","kind":"data-bound"}\n\x00\n[]\n')
    client, uri = opened(start, loading)
    client.wait(lambda: marks(client, uri))
    (loading / ".hotlens/silenced.jsonl").unlink()
    (loading / ".hotlens/silenced.jsonl").mkdir()
    try:
        other, uri = opened(start, loading)
        other.wait(lambda: marks(other, uri))
    finally:
        shutil.rmtree(loading / ".hotlens/silenced.jsonl")


GRADIENTS_ON = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
other = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    model.train()
    for i in range(12):
        optimizer.zero_grad()
        model(torch.randn(8, 16)).sum().backward()
        optimizer.step()
    model.eval()
    ours = model(torch.randn(100, 16)).argmax(1)
    other.eval()
    its = other(torch.randn(100, 16)).argmax(1)
    other.train()
    print((ours == its).float().mean().item())
"""


def test_evaluations_with_gradients_on_are_marked_and_silenced_one_by_one(start: Start, tmp_path: Path) -> None:
    lines = [GRADIENTS_ON.split("\n").index(f"    {name}(torch.randn(100, 16)).argmax(1)") for name in ("ours = model", "its = other")]
    folder = profiled(tmp_path / "evaluating", GRADIENTS_ON)
    client, uri = opened(start, folder)

    def at() -> list[int]:
        told = [message["diagnostics"] for message in client.messages("textDocument/publishDiagnostics") if message["uri"] == uri]
        return [one["range"]["start"]["line"] for one in (told[-1] if told else []) if one["code"] == "no_grad"]

    client.wait(lambda: at() == lines)
    words = "Sequential is called with gradients on and no backward pass follows: each call keeps 12.8 kB until its results go"
    assert words in hover(client, uri, lines[1]) and "25.6 kB" in hover(client, uri, lines[0])
    rows = report(folder)["loop"]["unused_graphs"]
    assert [(row["line"], row["kept_bytes"]) for row in rows] == [(lines[0], 25_600), (lines[1], 12_800)]
    offered = actions(client, uri, lines[1])["Not here: no_grad"]["command"]
    assert client.command(SILENCE, *offered["arguments"]) == {"silenced": True}
    client.wait(lambda: at() == lines[:1])
