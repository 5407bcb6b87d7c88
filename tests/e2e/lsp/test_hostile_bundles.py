"""Hostile bundles and workspaces: the server stays, answers, and reads nothing that it has no business with."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import Client, RequestError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from small_bundle import MODEL, small_bundle

Start = Callable[..., Client]


def settled(client: Client) -> Any:
    """The state once nothing is being loaded."""
    end = time.monotonic() + 15
    while (state := client.request("hotlens/profileState", {}))["loading"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    return state


@pytest.mark.parametrize("copy", [".", "..", "files", "pipe", "endless", "/etc/passwd"])
def test_a_bundle_of_text_alone_does_not_end_the_server(start: Start, tmp_path: Path, copy: str) -> None:
    bundle = small_bundle(tmp_path, file={"copy": copy})
    os.mkfifo(bundle / "pipe")
    (bundle / "endless").symlink_to("/dev/zero")
    client = start()
    client.initialize([tmp_path])
    uri = client.open(tmp_path / "model.py")
    assert settled(client)["profile"]["id"] == bundle.name
    assert client.hints(uri) == []
    assert client.stop() == 0


@pytest.mark.parametrize("path", [".", "/", "pipe", "/dev/zero"])
def test_a_file_that_a_bundle_names_elsewhere_does_not_either(start: Start, tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    small_bundle(tmp_path, file={"path": str(tmp_path / path) if path == "pipe" else path})
    (tmp_path / "other.py").write_text(MODEL)  # has a class that the bundle knows: where it was is looked at
    client = start()
    client.initialize([tmp_path])
    uri = client.open(tmp_path / "other.py")
    settled(client)
    assert client.hints(uri) == []
    assert client.stop() == 0


@pytest.mark.parametrize("trusted", [True, False])
def test_an_untrusted_workspace_names_no_file_outside(start: Start, tmp_path: Path, trusted: bool) -> None:
    """The class stands in another file than it ran in: whether it is still there as well tells that the file was read."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (outside / "secret.py").write_text("x = 1\n")
    small_bundle(workspace, file={"path": str(outside / "secret.py")})
    (workspace / "other.py").write_text(MODEL)
    client = start()
    client.initialize([workspace], options={"trusted": trusted})
    uri = client.open(workspace / "other.py")
    settled(client)

    def lenses() -> Any:
        return client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})

    end = time.monotonic() + 5
    while trusted and not lenses() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    assert bool(lenses()) == trusted
    client.notify("hotlens/trust", {"trusted": not trusted})
    end = time.monotonic() + 5
    while bool(lenses()) == trusted:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_untrusted_workspace_is_not_offered_to_run(start: Start, unprofiled: Path) -> None:
    client = start()
    client.initialize([unprofiled], options={"trusted": False})
    uri = client.open(unprofiled / "train.py")
    asked = {"textDocument": {"uri": uri}}
    assert client.request("textDocument/codeLens", asked) == []
    client.notify("hotlens/trust", {"trusted": True})
    (lens,) = client.request("textDocument/codeLens", asked)
    assert lens["command"]["command"] == "hotlens.server.profile"


def test_only_a_hint_is_resolved(start: Start, example: Path) -> None:
    client = start()
    client.initialize([example])
    uri = client.open(example / "model.py")
    hint = client.hints_when_known(uri)[0]
    assert client.request("inlayHint/resolve", hint)["tooltip"]
    stranger = {"position": {"line": 1, "character": 2}, "label": [{"value": "x"}], "data": {"of": "another"}}
    assert client.request("inlayHint/resolve", stranger) == stranger
    for thing in ({}, {"a": 1}, {"label": "x"}, {"position": {"line": 1}, "label": "x"}, {"position": hint["position"]}, [], None):
        with pytest.raises(RequestError) as refused:
            client.request("inlayHint/resolve", thing)
        assert refused.value.code == -32602, thing
