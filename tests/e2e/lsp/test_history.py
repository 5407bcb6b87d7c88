"""Older profiles and the baseline: which profile is shown, what it is compared with, and what says so."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RICH, SERVER, Client
from warm import interpreter

Start = Callable[..., Client]
SHOW, BASELINE, TIMELINE = (f"hotlens.server.{name}" for name in ("showProfile", "setBaseline", "openTimeline"))
TALKS = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1}}}

SCRIPT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(256, 1024)
        self.back = nn.Linear(1024, 256)
    def forward(self, x):
        for _ in range(REPEAT):
            x = self.back(torch.relu(self.wide(x)))
        return x

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(60):
    optimizer.zero_grad()
    net(torch.randn(32, 256)).pow(2).mean().backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two profiles of a script, the newer of which calls its layers sixteen times instead of once."""
    folder = tmp_path_factory.mktemp("slower")
    for repeat in (1, 16):
        (folder / "train.py").write_text(SCRIPT.replace("REPEAT", str(repeat)))
        command = [SERVER, "run", "--python", interpreter(), "--warmup", "1", "--steps", "7", "train.py"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def twice(folder: Path) -> tuple[str, str]:
    """One more profile, the same but for its time and arguments. Their ids: the older, the newer."""
    [old] = folder.glob(".hotlens/profiles/2*")
    new = old.with_name("29991231T235959Z-abcdef")
    shutil.copytree(old, new)
    manifest = json.loads((new / "manifest.json").read_text())
    manifest.update(
        id=new.name, created="2999-12-31T23:59:59Z", argv=[*manifest["argv"], "--more"], git={"commit": "0123456789", "dirty": True}
    )
    (new / "manifest.json").write_text(json.dumps(manifest))
    return old.name, new.name


def opened(start: Start, folder: Path, file: str) -> tuple[Client, str]:
    client = start()
    client.initialize([folder], TALKS)
    uri = client.open(folder / file)
    client.hints_when_known(uri)
    return client, uri


def state(client: Client) -> Any:
    return client.request("hotlens/profileState")


def shown(client: Client, profile: str) -> None:
    client.wait(lambda: state(client).get("profile", {}).get("id") == profile)


def lens(client: Client, uri: str) -> str:
    return str(client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})[0]["command"]["title"])


def labels(client: Client, uri: str) -> dict[int, str]:
    def text(label: Any) -> str:
        return label if isinstance(label, str) else "".join(part["value"] for part in label)

    return {hint["position"]["line"]: text(hint["label"]) for hint in client.hints_when_known(uri)}


def test_the_list_says_what_changed_and_what_is_shown(start: Start, example: Path) -> None:
    old, new = twice(example)
    client, _ = opened(start, example, "model.py")
    shown(client, new)
    listed = client.request("hotlens/history")
    assert listed["total"] == 2 and [each["id"] for each in listed["profiles"]] == [new, old]
    newer, older = listed["profiles"]
    assert newer["shown"] and not older["shown"] and not newer["baseline"]
    assert newer["source"].endswith("--more") and newer["commit"] == "0123456+"
    assert newer["changed"] == ["arguments", "commit", "edits"] and older["changed"] == []
    assert newer["stepNs"] == state(client)["profile"]["stepNs"]
    assert [each["id"] for each in client.request("hotlens/history", {"limit": 1})["profiles"]] == [new]


def test_an_older_profile_is_shown_everywhere_until_the_newest_is_again(start: Start, example: Path) -> None:
    old, new = twice(example)
    client, uri = opened(start, example, "model.py")
    shown(client, new)
    assert client.command(SHOW, {"profile": old}) == {"shown": True, "profile": old}
    shown(client, old)
    assert state(client)["chosen"] == old
    client.wait(lambda: "older profile · " in lens(client, uri))
    assert client.request("hotlens/timeline/profiles")["current"] == old
    assert client.command(SHOW, {"profile": new})["shown"] is True
    shown(client, new)
    assert "chosen" not in state(client)
    client.wait(lambda: "older profile" not in lens(client, uri))
    client.command(SHOW, {"profile": old})
    shown(client, old)
    assert client.command(SHOW) == {"shown": True}
    shown(client, new)


def test_what_is_not_there_changes_nothing(start: Start, example: Path) -> None:
    [profile] = example.glob(".hotlens/profiles/2*")
    client, uri = opened(start, example, "model.py")
    shown(client, profile.name)
    for name in ("none", "../..", "/etc", ".", ""):
        client.command(SHOW, {"profile": name})
        client.command(BASELINE, {"profile": name or "none"})
    assert state(client)["profile"]["id"] == profile.name
    assert not {"chosen", "baseline"} & set(state(client))
    assert "against" not in lens(client, uri)
    assert any("not there any more" in message["message"] for message in client.messages("window/showMessage"))


def test_without_a_profile_there_is_no_baseline(start: Start, unprofiled: Path) -> None:
    client = start()
    client.initialize([unprofiled], TALKS)
    assert "no profile yet" in client.command(BASELINE)["message"]
    assert client.request("hotlens/history") == {"profiles": [], "total": 0}


def test_hints_and_diagnostics_tell_what_became_slower(start: Start, slower: Path) -> None:
    new, old = sorted((path.name for path in slower.glob(".hotlens/profiles/2*")), reverse=True)
    client, uri = opened(start, slower, "train.py")
    shown(client, new)
    lines = (slower / "train.py").read_text().splitlines()
    wide = next(number for number, line in enumerate(lines) if "self.wide =" in line)
    assert "▲" not in labels(client, uri)[wide]
    assert client.command(BASELINE, {"profile": old}) == {"baseline": old}
    client.wait(lambda: "▲" in labels(client, uri)[wide])
    assert state(client)["baseline"] == old and "against 20" in lens(client, uri)

    def slow() -> list[Any]:  # beside advice
        said = client.messages("textDocument/publishDiagnostics")
        return [each for each in said[-1]["diagnostics"] if each["code"] == "slower"] if said else []

    client.wait(slow)
    [mark] = [each for each in slow() if each["range"]["start"]["line"] == wide]
    assert mark["severity"] == 3 and "wide became slower" in mark["message"]
    # Of the older one itself nothing is said.
    client.command(SHOW, {"profile": old})
    shown(client, old)
    client.wait(lambda: "▲" not in labels(client, uri)[wide])
    client.command(SHOW)
    shown(client, new)
    client.wait(lambda: "▲" in labels(client, uri)[wide])
    assert client.command(BASELINE, {"clear": True}) == {}
    client.wait(lambda: "▲" not in labels(client, uri)[wide])
    assert "baseline" not in state(client)
    client.wait(lambda: not slow() and kept(slower) is None)


def test_a_place_is_compared_with_the_baseline_in_the_timeline(start: Start, slower: Path) -> None:
    new, old = sorted((path.name for path in slower.glob(".hotlens/profiles/2*")), reverse=True)
    client = start()
    shows = {"hotlens": {"protocolVersion": 1, "showTimeline": {"commandLinks": True, "compare": True}}}
    client.initialize([slower], {**RICH, "experimental": shows})
    uri = client.open(slower / "train.py")
    shown(client, new)
    lines = (slower / "train.py").read_text().splitlines()
    at = {"line": next(number for number, line in enumerate(lines) if "self.wide =" in line), "character": 8}

    def offered() -> dict[str, Any]:
        params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": [], "only": ["hotlens.show"]}}
        return {each["title"]: each["command"] for each in client.request("textDocument/codeAction", params)}

    def hover() -> str:
        return str(client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})["contents"]["value"])

    client.hints_when_known(uri)
    assert "Compare with baseline" not in offered() and "compareWithBaseline" not in hover()
    with pytest.raises(Exception, match="There is no baseline"):
        client.command(TIMELINE, {"uri": uri, "position": at, "compare": True})
    client.command(BASELINE, {"profile": old})
    command = client.wait(lambda: offered().get("Compare with baseline"))
    assert command["command"] == TIMELINE
    place = client.command(TIMELINE, *command["arguments"])
    assert (place["profile"], place["before"], place["path"][-1]) == (new, old, "wide")
    assert client.next_message("hotlens/timeline/select") == place  # pages that are open show it, too
    assert "[Compare with baseline](command:hotlens.compareWithBaseline?" in hover()
    page = client.command(TIMELINE, {**command["arguments"][0], "browser": True})
    assert page["url"].endswith("&before=" + old)
    # Of the baseline itself there is nothing to compare.
    client.command(SHOW, {"profile": old})
    client.wait(lambda: "Compare with baseline" not in offered())
    assert "before" not in client.command(TIMELINE, {"uri": uri, "position": at, "compare": True})
    client.command(BASELINE, {"clear": True})
    client.wait(lambda: kept(slower) is None)  # the next test finds none


def kept(folder: Path) -> Any:
    file = folder / ".hotlens" / "state.json"
    return json.loads(file.read_text()).get("baseline") if file.exists() else None


def test_a_baseline_survives_the_server_until_it_is_cleared(start: Start, example: Path) -> None:
    old, new = twice(example)
    client, uri = opened(start, example, "model.py")
    shown(client, new)
    assert client.command(BASELINE, {"profile": old}) == {"baseline": old}
    client.wait(lambda: kept(example) == old)
    assert client.stop() == 0

    again, uri = opened(start, example, "model.py")
    again.wait(lambda: state(again).get("baseline") == old)
    again.wait(lambda: "against 20" in lens(again, uri))
    assert [each["baseline"] for each in again.request("hotlens/history")["profiles"]] == [False, True]
    assert again.command(BASELINE, {"clear": True}) == {}
    again.wait(lambda: kept(example) is None)
    again.stop()
    third, uri = opened(start, example, "model.py")
    shown(third, new)
    assert "baseline" not in state(third) and third.messages("window/showMessage") == []


def test_a_baseline_whose_profile_is_gone_is_dropped_with_a_sentence(start: Start, example: Path) -> None:
    _, new = twice(example)
    choice = {"train.py": "small"}
    (example / ".hotlens" / "state.json").write_text(
        json.dumps({"schema": "hotlens.state/1", "configurations": choice, "baseline": "20200101T000000Z-aaaaaa"})
    )
    client, _ = opened(start, example, "model.py")
    told = client.next_message("window/showMessage")
    assert told["message"] == "The baseline 20200101T000000Z-aaaaaa is not there any more: hints are not compared with it."
    shown(client, new)
    assert "baseline" not in state(client)
    left = json.loads((example / ".hotlens" / "state.json").read_text())
    assert left == {"schema": "hotlens.state/1", "configurations": choice}
    for strange in ("../../..", "..", 5, "", "x" * 9000):
        (example / ".hotlens" / "state.json").write_text(json.dumps({"schema": "hotlens.state/1", "baseline": strange}))
        other, _ = opened(start, example, "model.py")
        shown(other, new)
        assert "baseline" not in state(other)
        other.kill()


def test_a_file_without_a_folder_takes_its_baseline_up(start: Start, example: Path) -> None:
    old, _ = twice(example)
    (example / ".hotlens" / "state.json").write_text(json.dumps({"schema": "hotlens.state/1", "baseline": old}))
    client = start()
    client.initialize([], TALKS)
    client.open(example / "model.py")
    client.wait(lambda: state(client).get("baseline") == old)


@pytest.fixture
def two_folders(tmp_path: Path, slower: Path, example: Path) -> tuple[Path, Path]:
    """Two workspace folders with two profiles each. The first in the order of names is the second folder of the workspace."""
    twice(example)
    other = tmp_path / "a_slower"
    shutil.copytree(slower, other)
    return example, other


def test_each_workspace_folder_has_its_own_profile_and_baseline(start: Start, two_folders: tuple[Path, Path]) -> None:
    example, other = two_folders
    old, new = sorted(path.name for path in example.glob(".hotlens/profiles/2*"))
    older, newer = sorted(path.name for path in other.glob(".hotlens/profiles/2*"))
    client = start()
    client.initialize([example, other], TALKS)
    first, second = client.open(example / "model.py"), client.open(other / "train.py")
    wide = next(number for number, line in enumerate((other / "train.py").read_text().splitlines()) if "self.wide =" in line)

    def known(uri: str, key: str) -> Any:
        return client.request("hotlens/profileState", {"textDocument": {"uri": uri}}).get(key)

    client.wait(lambda: (known(first, "profile") or {}).get("id") == new and (known(second, "profile") or {}).get("id") == newer)
    assert state(client)["profile"]["id"] == new  # without a document that of the first folder, as the client ordered them
    client.hints_when_known(first)
    client.hints_when_known(second)
    # The list is that of the document's folder.
    listed = client.request("hotlens/history", {"textDocument": {"uri": second}})["profiles"]
    assert [(each["id"], each["shown"]) for each in listed] == [(newer, True), (older, False)]

    assert client.command(BASELINE, {"profile": older, "uri": second}) == {"baseline": older}
    client.wait(lambda: "▲" in labels(client, second)[wide])
    assert known(second, "baseline") == older and known(first, "baseline") is None
    assert "against" in lens(client, second) and "against" not in lens(client, first)
    # What one folder shows, the other does not.
    assert client.command(SHOW, {"profile": old, "uri": first})["shown"] is True
    client.wait(lambda: known(first, "profile")["id"] == old)
    assert known(first, "chosen") == old and known(second, "chosen") is None
    client.wait(lambda: "older profile" in lens(client, first))
    assert "older profile" not in lens(client, second)
    assert known(second, "profile")["id"] == newer and "▲" in labels(client, second)[wide]
    # A folder's choice goes with a command about a file of it, and with none of the other.
    client.command(SHOW, {"uri": second})
    client.command(BASELINE, {"uri": first, "clear": True})
    assert known(first, "chosen") == old and known(second, "baseline") == older
    assert client.command(BASELINE, {"uri": first}) == {"baseline": old}
    client.wait(lambda: (kept(example), kept(other)) == (old, older))
    client.command(SHOW, {"uri": first})
    client.wait(lambda: known(first, "profile")["id"] == new)
    assert client.stop() == 0

    again = start()
    again.initialize([example, other], TALKS)
    client = again
    client.wait(lambda: (known(first, "baseline"), known(second, "baseline")) == (old, older))
    client.command(BASELINE, {"clear": True})  # of no file: everywhere
    client.wait(lambda: (kept(example), kept(other)) == (None, None))
    assert known(first, "baseline") is None and known(second, "baseline") is None
