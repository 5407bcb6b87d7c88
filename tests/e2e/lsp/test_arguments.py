"""Scripts that need arguments: asked for once, kept in .hotlens/runs.json, used by every later run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON
from lsp_client import RICH, Client

Start = Callable[..., Client]
PROFILE, SET = "hotlens.server.profile", "hotlens.server.setArguments"
RUN_LIMIT = 90.0
OPTIONS = {"python": PYTHON, "profile": {"warmup": 1, "steps": 2}}
# A client with buttons and an input line, as VS Code and Neovim are.
TALKS = {
    **RICH,
    "window": {"workDoneProgress": True, "showDocument": {"support": True}, "showMessage": {"messageActionItem": {}}},
    "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True}},
}
LACKS = "train.py exited with code 2: the following arguments are required: --data"

SCRIPT = """
import argparse, os, torch
parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
options = parser.parse_args()
print("data is", options.data, os.getcwd(), os.environ.get("EXTRA"), flush=True)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 8)).sum()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "work" / "train.py"
    file.parent.mkdir()
    file.write_text(SCRIPT)
    return file


def stored(folder: Path) -> Any:
    return json.loads((folder / ".hotlens" / "runs.json").read_text())


def ends(client: Client, count: int) -> None:
    client.wait(lambda: [p["value"]["kind"] for p in client.messages("$/progress")].count("end") == count, RUN_LIMIT)


def printed(client: Client) -> list[str]:
    return [m["message"] for m in client.messages("window/logMessage") if m["message"].startswith("data is")]


def test_a_script_that_needs_data_gets_it_from_a_button_and_keeps_it(start: Start, script: Path) -> None:
    folder = script.parent
    client = start()
    lines = iter(["--data 'unclosed", "--data 'my data'"])
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][0]}
    client.answer["hotlens/prompt"] = lambda _: {"result": {"value": next(lines)}}
    client.initialize([folder], TALKS, OPTIONS)
    uri = client.open(script)
    assert client.command(PROFILE, {"uri": uri})["started"] is True
    asked = client.next_message("window/showMessageRequest", limit=RUN_LIMIT)
    assert (asked["type"], asked["message"]) == (1, LACKS)
    assert [action["title"] for action in asked["actions"]] == ["Set arguments…", "Show log"]
    marked = client.next_message("textDocument/publishDiagnostics")
    assert marked["uri"] == uri and [d["message"] for d in marked["diagnostics"]] == [LACKS]
    assert marked["diagnostics"][0]["range"]["start"]["line"] == SCRIPT.splitlines().index("options = parser.parse_args()")
    ends(client, 2)
    later = client.messages("textDocument/publishDiagnostics")[1:]
    assert later[0] == {"uri": uri, "diagnostics": []}
    assert not [each for said in later for each in said["diagnostics"] if each["severity"] == 1]  # a profile may have advice
    assert client.messages("window/showMessage") == []
    first, second = client.messages("hotlens/prompt")
    assert first == {"title": "Arguments of train.py", "value": ""}
    assert second["value"] == "--data 'unclosed" and "not closed" in second["message"]
    assert stored(folder) == {"schema": "hotlens.runs/1", "runs": [{"script": "train.py", "arguments": "--data 'my data'"}]}
    assert printed(client) == [f"data is my data {folder} None"]
    assert client.hints_when_known(uri)

    # Once more, as the lens says, in another session too.
    other = start()
    other.initialize([folder], TALKS, OPTIONS)
    other.open(script)
    lenses = other.wait(lambda: arguments_lens(other, uri))
    assert lenses["command"] == {"title": "Arguments: --data 'my data'", "command": SET, "arguments": [{"uri": uri}]}
    assert other.command(PROFILE, {"uri": uri})["command"][-3:] == ["train.py", "--data", "my data"]


def arguments_lens(client: Client, uri: str) -> Any:
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return next((lens for lens in lenses or [] if lens["command"]["command"] == SET), None)


def test_git_sees_the_file_and_nothing_else(start: Start, script: Path) -> None:
    folder = script.parent
    (folder / ".hotlens").mkdir()
    (folder / ".hotlens" / ".gitignore").write_text("*\n")  # as it was written before
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    client = start()
    client.initialize([folder], options=OPTIONS)
    assert client.command(SET, {"script": "train.py", "arguments": "--data x"})["started"] is True
    ends(client, 1)
    assert list((folder / ".hotlens" / "profiles").iterdir())
    status = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert sorted(status.split()[1::2]) == [".hotlens/runs.json", "train.py"]


def test_a_client_without_an_input_line_is_shown_the_file(start: Start, script: Path) -> None:
    client = start()
    window = {"workDoneProgress": True, "showDocument": {"support": True}, "showMessage": {"messageActionItem": {}}}
    client.initialize([script.parent], {**RICH, "window": window}, OPTIONS)
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][0]}
    client.command(PROFILE, {"script": "train.py"})
    asked = client.next_message("window/showMessageRequest", limit=RUN_LIMIT)
    assert [action["title"] for action in asked["actions"]] == ["Set arguments…"]
    file = script.parent / ".hotlens" / "runs.json"
    assert client.next_message("window/showDocument")["uri"] == file.as_uri()
    assert stored(script.parent)["runs"] == [{"script": "train.py", "arguments": ""}]
    assert str(file) in client.messages("window/showMessage")[0]["message"]


def test_log_and_closed_prompts_run_nothing(start: Start, script: Path) -> None:
    client = start()
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][1]}
    client.initialize([script.parent], TALKS, OPTIONS)
    client.command(PROFILE, {"script": "train.py"})
    client.next_message("hotlens/showLog", limit=RUN_LIMIT)
    for answer in ({"result": None}, {"result": {}}, {"result": {"value": 5}}, {"error": {"code": -32601, "message": "no"}}):
        client.answer["hotlens/prompt"] = lambda _, answer=answer: answer
        count = len(client.messages("hotlens/prompt"))
        assert client.command(SET, {"script": "train.py"}) == {"started": False, "asked": True}
        client.next_message("hotlens/prompt", after=count)
    assert client.request("hotlens/profileState")["running"] is False
    assert not (script.parent / ".hotlens" / "runs.json").exists()


def test_a_configuration_written_by_hand_says_where_and_with_what(start: Start, script: Path) -> None:
    folder = script.parent
    (folder / "sub").mkdir()
    (folder / ".hotlens").mkdir()
    entry = {"script": "train.py", "arguments": '--data "x y"', "directory": "sub", "environment": {"EXTRA": "1"}}
    (folder / ".hotlens" / "runs.json").write_text(json.dumps({"runs": [entry]}))
    client = start()
    client.initialize([folder], options=OPTIONS)
    uri = client.open(script)
    client.command(PROFILE, {"uri": uri})
    ends(client, 1)
    assert printed(client) == [f"data is x y {folder / 'sub'} 1"]
    assert len(list((folder / ".hotlens" / "profiles").iterdir())) == 1
    assert client.hints_when_known(uri)
    # From a file that is no script: what ran before runs again.
    assert client.command(PROFILE)["command"][-2:] == ["--data", "x y"]


@pytest.mark.parametrize("text", ["{", "[]", '{"runs": [{"script": "train.py", "arguments": "\'"}]}', '{"runs": [{"scrpt": "x"}]}'])
def test_a_broken_file_is_a_sentence_that_names_it(start: Start, script: Path, text: str) -> None:
    file = script.parent / ".hotlens" / "runs.json"
    file.parent.mkdir()
    file.write_text(text)
    client = start()
    client.initialize([script.parent], TALKS, OPTIONS)
    uri = client.open(script)
    answer = client.command(PROFILE, {"uri": uri})
    assert answer["started"] is False and str(file) in answer["message"]
    assert client.next_message("window/showMessage") == {"type": 1, "message": answer["message"]}
    assert client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})


def test_an_untrusted_workspace_keeps_and_runs_nothing(start: Start, script: Path) -> None:
    client = start()
    client.initialize([script.parent], TALKS, {**OPTIONS, "trusted": False})
    assert client.command(SET, {"script": "train.py", "arguments": "--data x"})["started"] is False
    assert "trusted" in client.next_message("window/showMessage")["message"]
    assert not (script.parent / ".hotlens").exists()


@pytest.mark.parametrize("argument", [5, "x", [], {"arguments": 5}, {"uri": {}}, {"arguments": "a | b"}, {"script": "gone.py"}])
def test_the_command_survives_any_argument(start: Start, script: Path, argument: Any) -> None:
    client = start()
    client.initialize([script.parent], options=OPTIONS)
    id = client.send("workspace/executeCommand", {"command": SET, "arguments": [argument]})
    message = client.wait(lambda: client.responses.get(str(id)))[0]
    assert message.get("error", {}).get("code") == -32602 or message["result"].get("started") is False
    if argument == {"arguments": "a | b"}:
        assert "`|`" in message["result"]["message"] and not (script.parent / ".hotlens").exists()
