"""Another batch size from the editor: recorded with a second one, predicted by a replay, set by an edit of one token."""

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
    edits = {**RICH["workspace"], "workspaceEdit": {"documentChanges": True}, "applyEdit": True}
    capable = {**RICH, "workspace": edits, "experimental": {"hotlens": {}}}
    new.initialize([tmp_path], capable, {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}})
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


def sizes_of(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.request("hotlens/timeline/batchSizes", {})
    return found


def set_size(client: Client, file: Path, size: int, was: int = 8) -> dict[str, Any]:
    told: dict[str, Any] = client.request("hotlens/timeline/setBatchSize", {"file": str(file), "was": was, "batchSize": size})
    return told


def changed(client: Client) -> int:
    return len(client.messages("hotlens/timeline/batchSizesChanged"))


def test_the_timeline_predicts_and_sets_the_size_that_was_chosen_there(start: Start, client: Client, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    uri = client.open(script)
    assert client.command("hotlens.server.profile", {"uri": uri})["started"]
    client.wait(lambda: ended(client, 1), LIMIT)
    before = sizes_of(client)
    assert (before["batchSize"], before["points"], before["predict"], before["edits"]) == (8, [], "offered", True)
    assert before["places"] == [{"file": str(script), "line": 4, "before": "batch_size = ", "after": ""}]

    # The same prediction that the lens starts: the script runs again with a second size, then the step is replayed.
    assert client.request("hotlens/timeline/predict", {"profile": before["profile"]})["started"]
    running = sizes_of(client)
    assert running["predict"] == "none" and "run is in progress" in running["why"]
    client.wait(lambda: ended(client, 3), LIMIT)
    assert client.messages("window/showMessage") == []
    assert changed(client) >= 3  # the run, the prediction, its end
    known = sizes_of(client)
    assert known["profile"] != before["profile"]
    assert [(one["batchSize"], one["measured"]) for one in known["points"]] == [(4, False), (8, True), (16, False), (32, False)]
    for one in known["points"]:
        assert 0 < one["low"] <= one["step"] <= one["high"]
        assert one["samplesPerSecond"] == pytest.approx(one["batchSize"] / one["step"] * 1e9)
    peaks = [one["peak"] for one in known["points"]]
    assert peaks == sorted(peaks) and peaks[0] < peaks[-1]
    assert known["memory"]["largest"] > 32 and known["memory"]["of"] == "this machine"
    # It is kept in the bundle, for who shows the profile later.
    (kept,) = tmp_path.glob(".hotlens/profiles/*/batch_sizes.json")
    assert [one["peak_bytes"] for one in json.loads(kept.read_text())["points"]] == peaks

    # One edit, of the number alone and of the version that is open.
    client.answer["workspace/applyEdit"] = lambda _: {"result": {"applied": True}}
    assert set_size(client, script, 24) == {"applied": True}
    (asked,) = client.messages("workspace/applyEdit")
    place = {"start": {"line": 4, "character": 13}, "end": {"line": 4, "character": 14}}
    edits = [{"range": place, "newText": "24"}]
    assert asked["edit"] == {"documentChanges": [{"textDocument": {"uri": uri, "version": 1}, "edits": edits}]}
    assert asked["label"] == "Batch size 8 → 24"

    # The text changed since: nothing is written.
    at = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"range": place, "text": "24"}]}
    client.notify("textDocument/didChange", at)
    refused = set_size(client, script, 16)
    assert refused["applied"] is False and "train.py does not set a batch size of 8" in refused["message"]
    assert len(client.messages("workspace/applyEdit")) == 1

    # A file that is not open has no version; an editor may say no.
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.answer["workspace/applyEdit"] = lambda _: {"result": {"applied": False}}
    refused = set_size(client, script, 16)
    assert refused["applied"] is False and "did not take the edit" in refused["message"]
    (change,) = client.messages("workspace/applyEdit")[1]["edit"]["documentChanges"]
    assert change == {"textDocument": {"uri": uri, "version": None}, "edits": [{"range": place, "newText": "16"}]}
    assert script.read_text() == SCRIPT

    # A page in a browser starts nothing; what the editor is asked for by it is the same edit.
    page = Page(Address(client.command("hotlens.server.openTimeline", {"browser": True})["url"]))
    told = page.ask("batchSizes")
    assert (told["points"], told["predict"], told["edits"]) == (known["points"], "none", True)
    assert page.ask("predict")["started"] is False
    page.close()

    # Another session takes it up.
    later = start(env={**os.environ, "XDG_CACHE_HOME": str(ROOT / "build" / "cache")})
    later.initialize([tmp_path])
    later.open(script)
    later.hints_when_known(uri)
    seen = 0
    while not (again := lens(later, uri, 4)) or not again["title"].startswith("batch size 8 → 16: "):
        later.next_message("workspace/codeLens/refresh", after=seen)
        seen += 1

    client.notify("hotlens/trust", {"trusted": False})
    assert "not trusted" in client.request("hotlens/timeline/predict", {})["message"]
    untrusted = sizes_of(client)
    assert untrusted["predict"] == "none" and "not trusted" in untrusted["why"]
    assert untrusted["points"] == known["points"]


def test_a_size_is_set_in_files_of_the_workspace_alone(client: Client, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.py"
    outside.write_text(SCRIPT)
    reasons = {outside: "no folder of the workspace", tmp_path / "run.ipynb": "Open run.ipynb", tmp_path / "gone.py": "gone.py"}
    for file, why in reasons.items():
        told = set_size(client, file, 16)
        assert told["applied"] is False and why in told["message"], told
    assert set_size(client, tmp_path / "train.py", 8) == {"applied": False, "message": "This is the measured batch size."}
    assert client.messages("workspace/applyEdit") == []


def test_a_size_that_stands_in_a_file_of_settings_is_found_and_set_there(client: Client, tmp_path: Path) -> None:
    read = 'import json\nbatch_size = json.load(open("settings.json"))["train"]["batch_size"]'
    (tmp_path / "train.py").write_text(SCRIPT.replace("batch_size = 8", read))
    settings = tmp_path / "settings.json"
    settings.write_text('{\n  "train": {"lr": 0.1, "batch_size": 8, "epochs": 8}\n}\n')
    (tmp_path / "other.json").write_text('{"batch_size": 8}')  # nobody names it
    # Named, but not in the workspace, and a link that leads there.
    outside = tmp_path.parent / f"{tmp_path.name}-outside.json"
    outside.write_text('{"batch_size": 8}')
    (tmp_path / "link.json").symlink_to(outside)
    with (tmp_path / "train.py").open("a") as script:
        script.write(f'names = "../{outside.name}", "link.json"\n')
    uri = client.open(tmp_path / "train.py")
    assert client.command("hotlens.server.profile", {"uri": uri})["started"]
    client.wait(lambda: ended(client, 1), LIMIT)
    place = {"file": str(settings), "line": 1, "before": '  "train": {"lr": 0.1, "batch_size": ', "after": ', "epochs": 8}'}
    assert sizes_of(client)["places"] == [place]
    client.answer["workspace/applyEdit"] = lambda _: {"result": {"applied": True}}
    assert set_size(client, settings, 16) == {"applied": True}
    (asked,) = client.messages("workspace/applyEdit")
    (change,) = asked["edit"]["documentChanges"]
    assert change["textDocument"]["uri"].endswith("/settings.json")
    assert change["edits"] == [{"range": {"start": {"line": 1, "character": 37}, "end": {"line": 1, "character": 38}}, "newText": "16"}]
    settings.write_text('{"train": {"batch_size": 32}}')
    assert "settings.json does not set a batch size of 8" in set_size(client, settings, 16)["message"]


def test_a_client_that_takes_no_edits_is_not_sent_one(start: Start, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    client = start()
    client.initialize([tmp_path])
    assert "takes no edits" in set_size(client, tmp_path / "train.py", 16)["message"]
    assert client.messages("workspace/applyEdit") == []


def test_nothing_is_predicted_without_a_profile_or_without_trust(client: Client, tmp_path: Path) -> None:
    uri = client.open(tmp_path / "train.py")
    assert lens(client, uri, 4) is None
    assert "Profile the script first" in client.command(PREDICT, {"uri": uri})["message"]
    assert not client.command(PREDICT)["started"]
    client.notify("hotlens/trust", {"trusted": False})
    assert "not trusted" in client.command(PREDICT, {"uri": uri})["message"]
