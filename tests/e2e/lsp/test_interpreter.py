"""A Python that cannot train: one button leads to those that can, the choice is kept and used."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON
from lsp_client import Client
from test_arguments import RUN_LIMIT, SCRIPT, TALKS, ends

Start = Callable[..., Client]
PROFILE, CHOOSE = "hotlens.server.profile", "hotlens.server.chooseInterpreter"
OPTIONS = {"profile": {"warmup": 1, "steps": 2, "args": ["--data", "x"]}}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Beside an environment that has no torch."""
    folder = tmp_path / "work"
    folder.mkdir()
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (folder / "train.py").write_text(SCRIPT)
    return folder / "train.py"


def taking(path: str) -> Callable[[Any], dict[str, Any]]:
    def choose(params: Any) -> dict[str, Any]:
        return {"result": {"index": [choice["label"] for choice in params["choices"]].index(path)}}

    return choose


def state(folder: Path) -> Any:
    return json.loads((folder / ".hotlens" / "state.json").read_text())


def test_one_button_leads_to_a_python_that_trains(start: Start, script: Path) -> None:
    folder = script.parent
    client = start(env={"VIRTUAL_ENV": ""})
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][0]}
    client.answer["hotlens/choose"] = taking(PYTHON)
    client.initialize([folder], TALKS, OPTIONS)
    uri = client.open(script)
    started = client.command(PROFILE, {"uri": uri, "interpreters": [PYTHON]})
    assert started["command"][0] == str(folder / ".venv/bin/python")
    asked = client.next_message("window/showMessageRequest", limit=RUN_LIMIT)
    assert asked["message"].startswith("PyTorch is not installed for ") and "--python" not in asked["message"]
    assert [action["title"] for action in asked["actions"]] == ["Choose interpreter…"]
    ends(client, 2)
    assert client.hints_when_known(uri)
    listed = client.next_message("hotlens/choose")["choices"]
    assert ".venv/bin/python" in [choice["label"] for choice in listed] and listed[0]["detail"].startswith("PyTorch ")
    assert client.messages("window/showMessage") == []
    assert state(folder)["python"] == PYTHON

    # Later, whatever Python the editor finds; until the choice is taken back.
    other = start(env={"VIRTUAL_ENV": ""})
    other.answer["window/showMessageRequest"] = lambda _: {"result": None}
    other.initialize([folder], TALKS, OPTIONS)
    assert other.command(PROFILE, {"uri": uri, "python": str(folder / ".venv/bin/python")})["command"][0] == PYTHON
    ends(other, 1)
    assert other.command(CHOOSE, {"uri": uri, "interpreter": ""})["command"][0] == str(folder / ".venv/bin/python")
    assert "python" not in state(folder)


def test_an_entry_that_names_its_python_is_changed(start: Start, script: Path) -> None:
    folder = script.parent
    (folder / ".hotlens").mkdir()
    entry = {"script": "train.py", "arguments": "--data x", "python": ".venv/bin/python"}
    (folder / ".hotlens" / "runs.json").write_text(json.dumps({"runs": [entry]}))
    client = start()
    client.initialize([folder], TALKS, OPTIONS)
    assert client.command(CHOOSE, {"script": "train.py", "interpreter": PYTHON})["command"][0] == PYTHON
    assert json.loads((folder / ".hotlens" / "runs.json").read_text())["runs"] == [{**entry, "python": PYTHON}]
    ends(client, 1)


@pytest.mark.parametrize("gone", ["state", "entry"])
def test_a_python_that_is_gone_is_said_with_the_same_button(start: Start, script: Path, gone: str) -> None:
    folder = script.parent
    (folder / ".hotlens").mkdir()
    if gone == "state":
        (folder / ".hotlens" / "state.json").write_text(json.dumps({"schema": "hotlens.state/1", "python": "gone/bin/python"}))
    else:
        runs = {"runs": [{"script": "train.py", "python": "gone/bin/python"}]}
        (folder / ".hotlens" / "runs.json").write_text(json.dumps(runs))
    client = start()
    client.initialize([folder], TALKS, OPTIONS)
    answer = client.command(PROFILE, {"script": "train.py"})
    assert answer["started"] is False and "gone/bin/python" in answer["message"]
    asked = client.next_message("window/showMessageRequest")
    assert asked["message"] == answer["message"] and [action["title"] for action in asked["actions"]] == ["Choose interpreter…"]


def test_an_untrusted_workspace_is_asked_nothing(start: Start, script: Path) -> None:
    client = start()
    client.initialize([script.parent], TALKS, {**OPTIONS, "trusted": False})
    assert client.command(CHOOSE, {"script": "train.py", "interpreter": PYTHON})["started"] is False
    assert client.messages("hotlens/choose") == [] and not (script.parent / ".hotlens").exists()


@pytest.mark.parametrize("argument", [5, [], {"interpreter": 5}, {"interpreters": "x"}, {"interpreters": [1]}, {"script": "gone.py"}])
def test_the_command_survives_any_argument(start: Start, script: Path, argument: Any) -> None:
    client = start()
    client.initialize([script.parent], options=OPTIONS)
    id = client.send("workspace/executeCommand", {"command": CHOOSE, "arguments": [argument]})
    message = client.wait(lambda: client.responses.get(str(id)))[0]
    assert message.get("error", {}).get("code") == -32602 or message["result"].get("started") is False
