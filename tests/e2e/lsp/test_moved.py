"""Profiles that were recorded in another folder than the one they lie in: pulled, made by CI, in a second clone."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from lsp_client import RICH, SERVER, Client, text_of

Start = Callable[..., Client]
TALKS = {
    **RICH,
    "window": {"showDocument": {"support": True}},
    "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True, "calls": True}},
}


@pytest.fixture(params=["gone", "second clone"])
def clone(request: pytest.FixtureRequest, recorded: Path, tmp_path: Path) -> Path:
    """The project's sources in a folder of their own, with a profile that was pulled; the recorded folder is there, too, or not."""
    there, here = tmp_path / "there" / "project", tmp_path / "here"
    shutil.copytree(recorded, there)
    rename(there, str(recorded), str(there))
    shutil.copytree(ROOT / "examples" / "resnet_digits", here, ignore=shutil.ignore_patterns(".hotlens", "__pycache__"))
    subprocess.run([SERVER, "pull", str(there)], cwd=here, check=True, capture_output=True, timeout=60)
    if request.param == "gone":
        shutil.rmtree(there)
    return here


def rename(folder: Path, old: str, new: str) -> None:
    for file in folder.glob(".hotlens/profiles/*/m*.json"):
        text = file.read_text()
        for before, after in ((old, new), (json.dumps(old)[1:-1], json.dumps(new)[1:-1])):
            text = text.replace(before, after)
        file.write_text(text)


def opened(start: Start, folder: Path) -> tuple[Client, str]:
    client = start()
    client.initialize([folder], TALKS)
    return client, client.open(folder / "train.py")


def lens(client: Client, uri: str) -> str:
    return str(client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})[0]["command"]["title"])


def labels(client: Client, uri: str) -> list[str]:
    return [text_of(hint["label"]) for hint in client.hints_when_known(uri)]


def test_script_and_model_have_hints_and_the_lens_its_numbers(start: Start, clone: Path) -> None:
    client, script = opened(start, clone)
    client.wait(lambda: labels(client, script))
    model = client.open(clone / "model.py")
    assert len(labels(client, model)) > 5 and not any("≠" in label for label in labels(client, script))
    assert lens(client, script).startswith("▸ Profile again · ")


def test_hot_lines_and_calls_lead_to_the_files_here(start: Start, clone: Path) -> None:
    client, script = opened(start, clone)
    client.wait(lambda: labels(client, script))
    hot = client.request("hotlens/hotLines")
    assert hot["total"] > 10 and {Path(line["uri"]).name for line in hot["lines"]} >= {"train.py", "model.py"}
    assert all(line["uri"].startswith(clone.as_uri()) for line in hot["lines"])
    assert client.command("hotlens.server.hotLine", {"uri": script, "position": {"line": 0, "character": 0}})["shown"]
    assert client.next_message("window/showDocument")["uri"].startswith(clone.as_uri())
    blocks = client.open(clone / "blocks.py")
    line = next(at for at, text in enumerate((clone / "blocks.py").read_text().splitlines()) if "self.conv1 = " in text)
    asked: dict[str, Any] = {"uri": blocks, "position": {"line": line, "character": 8}}
    client.wait(lambda: client.command("hotlens.server.calls", asked).get("places"))
    places = client.command("hotlens.server.calls", asked)["places"]
    assert all(place["uri"].startswith(clone.as_uri()) for place in places)


def test_an_edited_script_keeps_its_hints(start: Start, clone: Path) -> None:
    script = clone / "train.py"
    script.write_text("# One more line.\n" + script.read_text())
    client, uri = opened(start, clone)
    client.wait(lambda: labels(client, uri))


def test_another_script_of_the_same_name_has_none(start: Start, clone: Path) -> None:
    (clone / "train.py").write_text("import torch\nfor batch in range(3):\n    torch.ones(batch).sum().backward()\n")
    client, uri = opened(start, clone)
    model = client.open(clone / "model.py")
    client.wait(lambda: labels(client, model))
    assert client.hints(uri) in (None, [])
