"""Helix, Emacs (Eglot) and Zed: the configurations that are handed out, and clients that ask what these editors ask and no more.

Emacs itself runs where it is installed. Helix and Zed are played: their initialize params are those of their sources, and they send no
request and no message of ours that these editors do not send.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, ROOT
from lsp_client import SERVER, Client, text_of, uri_of

Start = Callable[..., Client]
CONFIGURATIONS = ROOT / "editor_clients" / "other_editors"
KINDS = ["quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source", "source.organizeImports"]
LITERALS = {"codeActionKind": {"valueSet": ["", *KINDS]}}

# helix-lsp/src/client.rs
HELIX = {
    "workspace": {
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": False},
        "workspaceFolders": True,
        "applyEdit": True,
        "executeCommand": {"dynamicRegistration": False},
        "inlayHint": {"refreshSupport": False},
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": False},
    },
    "textDocument": {
        "hover": {"contentFormat": ["markdown"]},
        "codeAction": {
            "codeActionLiteralSupport": LITERALS,
            "isPreferredSupport": True,
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit", "command"]},
        },
        "publishDiagnostics": {"versionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
        "inlayHint": {"dynamicRegistration": False},
    },
    "window": {"workDoneProgress": True},
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
}

# lisp/progmodes/eglot.el of Emacs 29
EGLOT = {
    "workspace": {
        "applyEdit": True,
        "executeCommand": {"dynamicRegistration": False},
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "symbol": {"dynamicRegistration": False},
        "configuration": True,
        "workspaceFolders": True,
    },
    "textDocument": {
        "synchronization": {"dynamicRegistration": False, "willSave": True, "willSaveWaitUntil": True, "didSave": True},
        "hover": {"dynamicRegistration": False, "contentFormat": ["plaintext"]},
        "documentSymbol": {"dynamicRegistration": False, "hierarchicalDocumentSymbolSupport": True},
        "codeAction": {
            "dynamicRegistration": False,
            "resolveSupport": {"properties": ["edit", "command"]},
            "dataSupport": True,
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": KINDS}},
            "isPreferredSupport": True,
        },
        "publishDiagnostics": {"relatedInformation": False, "codeDescriptionSupport": False},
        "inlayHint": {"dynamicRegistration": False},
    },
    "window": {"showDocument": {"support": True}, "workDoneProgress": True},
    "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
    "experimental": {},
}

# crates/lsp/src/lsp.rs
ZED = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "configuration": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "workspaceFolders": True,
        "inlayHint": {"refreshSupport": True},
        "applyEdit": True,
        "workspaceEdit": {"resourceOperations": ["create", "rename", "delete"], "documentChanges": True},
    },
    "textDocument": {
        "codeAction": {"codeActionLiteralSupport": LITERALS, "dataSupport": True, "resolveSupport": {"properties": ["edit", "command"]}},
        "hover": {"contentFormat": ["markdown"]},
        "inlayHint": {
            "resolveSupport": {"properties": ["textEdits", "tooltip", "label.tooltip", "label.location", "label.command"]},
            "dynamicRegistration": False,
        },
        "publishDiagnostics": {"relatedInformation": True},
        "synchronization": {"didSave": True},
    },
    "experimental": {"serverStatusNotification": True, "localDocs": True},
    "window": {"workDoneProgress": True, "showMessage": {}},
}

EDITORS = {"Helix": (HELIX, "utf-8"), "Eglot": (EGLOT, "utf-32"), "Zed": (ZED, "utf-16")}


def params_of(name: str, folder: Path) -> dict[str, Any]:
    root = uri_of(folder)
    params = {"capabilities": EDITORS[name][0], "workspaceFolders": [{"uri": root, "name": folder.name}], "rootUri": root}
    return {
        "Helix": {**params, "processId": os.getpid(), "rootPath": str(folder), "clientInfo": {"name": "helix", "version": "25.01"}},
        "Eglot": {
            **params,
            "processId": os.getpid(),
            "rootUri": root + "/",
            "rootPath": f"{folder}/",
            "clientInfo": {"name": "Eglot", "version": "1.12"},
            "initializationOptions": {},
        },
        "Zed": {
            **params,
            "processId": None,
            "clientInfo": {"name": "Zed", "version": "0.170"},
            "initializationOptions": zed_settings()["initialization_options"],
        },
    }[name]


def zed_settings() -> Any:
    return json.loads((CONFIGURATIONS / "zed" / "settings.json").read_text())["lsp"]["pylsp"]


def connected(start: Start, name: str, folder: Path, settings: Any = None) -> Client:
    client = start()
    client.settings = settings
    capabilities = client.request("initialize", params_of(name, folder))["capabilities"]
    client.notify("initialized", {})
    assert capabilities["positionEncoding"] == EDITORS[name][1] and capabilities["inlayHintProvider"]
    return client


def units(text: str, encoding: str) -> int:
    return {"utf-8": len(text.encode()), "utf-16": len(text.encode("utf-16-le")) // 2, "utf-32": len(text)}[encoding]


@pytest.mark.parametrize("name", EDITORS)
def test_open_hints_hover_action_command(start: Start, example: Path, name: str) -> None:
    encoding = EDITORS[name][1]
    client = connected(start, name, example)
    text = (example / "train.py").read_text().replace("loss.backward()", "loss.backward()  # 😀é")
    (example / "train.py").write_text(text)
    uri = client.open(example / "train.py")
    hints = client.wait(lambda: True) and client.hints(uri)  # without a refresh the first answer waits for the profile
    if name == "Zed":
        hints = client.hints_when_known(uri)
    lines = text.splitlines()
    line = next(number for number, each in enumerate(lines) if "loss.backward()" in each)
    hint = next(hint for hint in hints if hint["position"]["line"] == line)
    assert hint["position"]["character"] == units(lines[line], encoding) and text_of(hint["label"])
    if name == "Zed":
        assert "tooltip" not in hint and client.request("inlayHint/resolve", hint)["tooltip"]["value"]
    place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 8}}
    hover = client.request("textDocument/hover", place)
    assert "backward" in hover["contents"]["value"]
    assert hover["contents"]["kind"] == ("plaintext" if name == "Eglot" else "markdown") and "data:image" not in hover["contents"]["value"]
    range = {"start": place["position"], "end": place["position"]}
    context = {"diagnostics": [], **({} if name == "Eglot" else {"triggerKind": 1})}
    actions = client.request("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": range, "context": context})
    profile = next(action for action in actions if action["kind"] == "hotlens.profile")
    assert not profile.get("disabled")
    command = profile["command"]
    started = client.command(command["command"], *command["arguments"])
    assert started["started"] is True and client.command("hotlens.server.cancel")["cancelled"] is True
    assert [m["method"] for m in client.seen if m["method"].startswith("hotlens/")] == []
    if name != "Zed":
        assert client.messages("workspace/inlayHint/refresh") == [] and client.messages("workspace/codeLens/refresh") == []
    assert client.stop() == 0


@pytest.mark.parametrize("name", ["Helix", "Eglot"])
def test_without_a_refresh_new_hints_come_with_the_next_question(start: Start, unprofiled: Path, name: str) -> None:
    client = connected(start, name, unprofiled, {"python": PYTHON, "profile": {"warmup": 1, "steps": 2, "args": ["--epochs", "1"]}})
    uri = client.open(unprofiled / "train.py")
    assert client.hints(uri) == []
    assert client.command("hotlens.server.profile", {"uri": uri})["started"] is True
    client.wait(lambda: any(p["value"]["kind"] == "end" for p in client.messages("$/progress")), limit=90)
    assert client.hints(uri) != []
    assert client.messages("workspace/inlayHint/refresh") == []


def test_the_servers_accept_the_settings_that_are_handed_out(start: Start, example: Path) -> None:
    client = connected(start, "Zed", example, {"hints": {"minPercent": 1}})
    uri = client.open(example / "train.py")
    client.hints_when_known(uri)
    assert client.messages("window/showMessage") == []
    binary = zed_settings()["binary"]
    assert (binary["path"], binary["arguments"]) == ("hotlens", ["lsp", "--stdio"])


def test_helix_starts_what_is_installed() -> None:
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    languages = tomllib.loads((CONFIGURATIONS / "helix" / "languages.toml").read_text())
    server = languages["language-server"]["hotlens"]
    assert [server["command"], *server["args"]] == ["hotlens", "lsp", "--stdio"]
    (python,) = languages["language"]
    assert python["name"] == "python" and "hotlens" in python["language-servers"]
    assert tomllib.loads((CONFIGURATIONS / "helix" / "config.toml").read_text())["editor"]["lsp"]["display-inlay-hints"] is True


def test_emacs_with_eglot(example: Path, tmp_path: Path, left_out: Callable[..., None]) -> None:
    emacs = shutil.which("emacs")
    if emacs is None:
        return left_out("what Emacs shows", "Emacs is not installed")
    home = tmp_path / "home"
    home.mkdir()
    out = tmp_path / "seen.json"
    environment = {**os.environ, "HOME": str(home), "PATH": f"{Path(SERVER).parent}{os.pathsep}{os.environ['PATH']}"}
    here = Path(__file__).parent
    load = ["-l", str(CONFIGURATIONS / "emacs" / "hotlens.el"), "-l", str(here / "emacs_session.el")]
    command = [emacs, "--batch", "--eval", "(package-initialize)", *load, str(example / "train.py"), "loss.backward()", str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(out.read_text())
    lines = (example / "train.py").read_text().splitlines()
    line = next(number for number, each in enumerate(lines) if "loss.backward()" in each)
    assert line in {hint["position"]["line"] for hint in seen["hints"]}
    assert "backward" in seen["hover"] and any("Profile" in title for title in seen["actions"])
    assert seen["described"].startswith(f"train.py:{line + 1}\n")
    if seen["draws"]:
        labels = {text_of(hint["label"]) for hint in seen["hints"]}
        assert labels <= {text.strip() for text in seen["drawn"]}
