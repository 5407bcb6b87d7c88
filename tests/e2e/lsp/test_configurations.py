"""Several run configurations of one script: one is chosen, remembered, and started by its launcher."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RICH, Client
from test_arguments import OPTIONS, PROFILE, SET, TALKS, ends, stored

Start = Callable[..., Client]
CHOOSE = "hotlens.server.chooseRun"
BUTTONS = {**RICH, "window": {"workDoneProgress": True, "showMessage": {"messageActionItem": {}}}}

SCRIPT = """
import os, sys, torch
import torch.distributed as dist
workers = int(os.environ.get("WORLD_SIZE", "1"))
if workers > 1:
    dist.init_process_group("gloo")
torch.set_num_threads(1)
print("ran with", sys.argv[1:], "workers", workers, flush=True)
model = torch.nn.Linear(8, 8)
model = torch.nn.parallel.DistributedDataParallel(model) if workers > 1 else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 8)).sum()
    loss.backward()
    optimizer.step()
"""
RUNS = [
    {"name": "tiny", "script": "train.py", "arguments": "--tiny"},
    {"name": "two workers", "script": "train.py", "arguments": "--x", "launcher": "torchrun --standalone --nproc_per_node 2"},
]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "work" / "train.py"
    (file.parent / ".hotlens").mkdir(parents=True)
    file.write_text(SCRIPT)
    write_runs(file.parent, RUNS)
    return file


def write_runs(folder: Path, runs: list[dict[str, str]]) -> None:
    (folder / ".hotlens" / "runs.json").write_text(json.dumps({"schema": "hotlens.runs/1", "runs": runs}))


def state(folder: Path) -> Any:
    file = folder / ".hotlens" / "state.json"
    return json.loads(file.read_text())["configurations"] if file.exists() else None


def printed(client: Client) -> set[str]:
    return {m["message"] for m in client.messages("window/logMessage") if "ran with" in m["message"]}


def lenses(client: Client, uri: str) -> list[str]:
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) or []
    return [lens["command"]["title"] for lens in found if lens["command"]["command"] in (CHOOSE, SET)]


def test_one_is_asked_for_remembered_and_launched_with_two_workers(start: Start, script: Path) -> None:
    folder = script.parent
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    client = start()
    client.answer["hotlens/choose"] = lambda _: {"result": {"index": 1}}
    client.initialize([folder], TALKS, OPTIONS)
    uri = client.open(script)
    client.wait(lambda: lenses(client, uri) == ["Choose run configuration…"])
    assert client.command(PROFILE, {"uri": uri}) == {"started": False, "asked": True}
    asked = client.next_message("hotlens/choose")
    assert asked["title"] == "How to run train.py"
    assert asked["choices"] == [
        {"label": "tiny", "detail": "train.py --tiny", "file": "runs.json", "chosen": False},
        {"label": "two workers", "detail": "torchrun --standalone --nproc_per_node 2 train.py --x", "file": "runs.json", "chosen": False},
    ]
    ends(client, 1)
    assert client.messages("window/showMessage") == []
    assert any("ran with ['--x'] workers 2" in line for line in printed(client))
    [bundle] = (folder / ".hotlens" / "profiles").iterdir()
    assert [trace["rank"] for trace in json.loads((bundle / "manifest.json").read_text())["traces"]] == [0, 1]
    assert client.hints_when_known(uri)
    assert state(folder) == {"train.py": "two workers"}
    status = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert sorted(status.split()[1::2]) == [".hotlens/runs.json", "train.py"]

    # Another session knows; the command chooses another one.
    other = start()
    other.answer["hotlens/choose"] = lambda _: {"result": {"index": 0}}
    other.initialize([folder], TALKS, OPTIONS)
    other.open(script)
    other.wait(lambda: lenses(other, uri) == ["Run configuration: two workers", "Arguments: --x"])
    assert other.command(CHOOSE, {"uri": uri}) == {"started": False, "asked": True}
    assert [choice["chosen"] for choice in other.next_message("hotlens/choose")["choices"]] == [False, True]
    ends(other, 1)
    assert printed(other) == {"ran with ['--tiny'] workers 1"}
    assert state(folder) == {"train.py": "tiny"}
    assert other.command(PROFILE, {"uri": uri})["command"][-2:] == ["train.py", "--tiny"]


def test_a_client_without_lists_has_buttons(start: Start, script: Path) -> None:
    client = start()
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][0]}
    client.initialize([script.parent], BUTTONS, OPTIONS)
    client.command(PROFILE, {"script": "train.py"})
    asked = client.next_message("window/showMessageRequest")
    assert asked["message"] == "Choose how train.py is run: tiny, two workers."
    assert [action["title"] for action in asked["actions"]] == ["tiny", "two workers"]
    ends(client, 1)
    assert printed(client) == {"ran with ['--tiny'] workers 1"}


def test_a_closed_list_runs_and_keeps_nothing(start: Start, script: Path) -> None:
    client = start()
    client.initialize([script.parent], TALKS, OPTIONS)
    refused = {"error": {"code": -32601, "message": "no"}}
    answers: list[Any] = [{"result": result} for result in (None, {}, {"index": 2}, {"index": -1}, {"index": "0"})]
    for answer in [*answers, refused]:
        client.answer["hotlens/choose"] = lambda _, answer=answer: answer
        count = len(client.messages("hotlens/choose"))
        assert client.command(PROFILE, {"script": "train.py"}) == {"started": False, "asked": True}
        client.next_message("hotlens/choose", after=count)
    assert client.request("hotlens/profileState")["running"] is False
    assert state(script.parent) is None


def test_arguments_are_set_for_the_one_that_is_chosen(start: Start, script: Path) -> None:
    client = start()
    client.answer["hotlens/choose"] = lambda _: {"result": {"index": 0}}
    client.answer["hotlens/prompt"] = lambda _: {"result": {"value": "--new"}}
    client.initialize([script.parent], TALKS, OPTIONS)
    assert client.command(SET, {"script": "train.py"}) == {"started": False, "asked": True}
    assert client.next_message("hotlens/prompt")["value"] == "--tiny"
    ends(client, 1)
    assert printed(client) == {"ran with ['--new'] workers 1"}
    assert [run["arguments"] for run in stored(script.parent)["runs"]] == ["--new", "--x"]


def test_a_name_chooses_without_a_question(start: Start, script: Path) -> None:
    client = start()
    client.initialize([script.parent], TALKS, OPTIONS)
    assert client.command(CHOOSE, {"script": "train.py", "configuration": "tiny"})["command"][-2:] == ["train.py", "--tiny"]
    ends(client, 1)
    assert state(script.parent) == {"train.py": "tiny"} and client.messages("hotlens/choose") == []
    refused = client.command(PROFILE, {"script": "train.py", "configuration": "gone"})
    assert refused == {"started": False, "message": "train.py has no run configuration `gone`. Choose another one."}


def test_a_script_without_any_says_where_to_write_them(start: Start, script: Path) -> None:
    write_runs(script.parent, [])
    client = start()
    client.initialize([script.parent], TALKS, OPTIONS)
    answer = client.command(CHOOSE, {"script": "train.py"})
    assert answer["started"] is False and str(script.parent / ".hotlens" / "runs.json") in answer["message"]
    assert client.command(CHOOSE, {"script": "gone.py"})["started"] is False


def test_an_untrusted_workspace_chooses_nothing(start: Start, script: Path) -> None:
    client = start()
    client.initialize([script.parent], TALKS, {**OPTIONS, "trusted": False})
    assert client.command(CHOOSE, {"script": "train.py", "configuration": "tiny"})["started"] is False
    assert "trusted" in client.next_message("window/showMessage")["message"]
    assert state(script.parent) is None


@pytest.mark.parametrize("argument", [5, "x", [], {"configuration": 5}, {"uri": {}}, {"configuration": ""}])
def test_the_command_survives_any_argument(start: Start, script: Path, argument: Any) -> None:
    client = start()
    client.initialize([script.parent], options=OPTIONS)
    id = client.send("workspace/executeCommand", {"command": CHOOSE, "arguments": [argument]})
    message = client.wait(lambda: client.responses.get(str(id)))[0]
    assert message.get("error", {}).get("code") == -32602 or message["result"].get("started") is False


LAUNCH = """{
  // Written by VS Code.
  "version": "0.2.0",
  "configurations": [
    {"name": "Current File", "type": "debugpy", "request": "launch", "program": "${file}", "console": "integratedTerminal"},
    {
      "name": "From below",
      "type": "python",
      "request": "launch",
      "program": "${workspaceFolder}/train.py",
      "args": ["--word", "two words", "${env:HOTLENS_TEST_WORD}"], /* a list */
      "cwd": "${workspaceFolder}/below",
      "env": {"OMP_NUM_THREADS": "1"},
    },
    {"name": "Ask", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}/train.py", "args": "${input:which}"},
    {"name": "Attach", "type": "debugpy", "request": "attach"},
  ],
}
"""


def launches(script: Path, text: str = LAUNCH) -> None:
    (script.parent / ".vscode").mkdir(exist_ok=True)
    (script.parent / ".vscode" / "launch.json").write_text(text)
    (script.parent / "below").mkdir(exist_ok=True)


def test_entries_of_launch_json_are_offered_as_they_stand_and_can_be_left_again(start: Start, script: Path) -> None:
    write_runs(script.parent, [])
    launches(script)
    client = start(env={"HOTLENS_TEST_WORD": "word"})
    client.answer["hotlens/choose"] = lambda _: {"result": {"index": 1}}
    client.initialize([script.parent], TALKS, OPTIONS)
    uri = client.open(script)
    client.wait(lambda: lenses(client, uri) == ["Choose run configuration…"])
    assert client.command(CHOOSE, {"uri": uri}) == {"started": False, "asked": True}
    asked = client.next_message("hotlens/choose")
    assert [(choice["label"], choice["detail"], choice["file"], choice["chosen"]) for choice in asked["choices"]] == [
        ("Current File", "train.py", "launch.json", False),
        ("From below", "train.py --word 'two words' word", "launch.json", False),
        ("No configuration", "as the settings say, or as it ran last", "", True),
    ]
    assert asked["message"].endswith(" Left out of launch.json: Ask: it uses `${input:which}`; Attach: its request is `attach`.")
    ends(client, 1)
    assert printed(client) == {"ran with ['--word', 'two words', 'word'] workers 1"}
    assert any(f"Profiling in {script.parent}/below: " in m["message"] for m in client.messages("window/logMessage"))
    assert state(script.parent) == {"train.py": "From below"}
    client.wait(lambda: lenses(client, uri) == ["Run configuration: From below"])

    # Its arguments stand in a file of another program.
    refused = client.command(SET, {"uri": uri, "arguments": "--mine"})
    assert refused["started"] is False and str(script.parent / ".vscode" / "launch.json") in refused["message"]
    assert (script.parent / ".vscode" / "launch.json").read_text() == LAUNCH

    client.answer["hotlens/choose"] = lambda _: {"result": {"index": 2}}
    client.command(CHOOSE, {"uri": uri})
    client.wait(lambda: state(script.parent) == {})
    ends(client, 2)


def test_launch_json_changes_nothing_until_somebody_chooses(start: Start, script: Path) -> None:
    write_runs(script.parent, [])
    launches(script)
    client = start()
    client.initialize([script.parent], TALKS, {**OPTIONS, "profile": {**OPTIONS["profile"], "args": ["--setting"]}})
    uri = client.open(script)
    assert client.command(PROFILE, {"uri": uri})["command"][-2:] == ["train.py", "--setting"]
    ends(client, 1)
    launches(script, "{ broken")
    client.answer["hotlens/choose"] = lambda _: {"result": None}
    answer = client.command(CHOOSE, {"uri": uri})
    assert answer["started"] is False and "Left out of launch.json: everything: it cannot be understood." in answer["message"]
    assert client.command(PROFILE, {"uri": uri})["started"] is True


def test_a_launch_entry_runs_nothing_where_the_workspace_is_not_trusted(start: Start, script: Path, tmp_path: Path) -> None:
    write_runs(script.parent, [])
    launches(script, json.dumps({"configurations": [{"name": "Out", "type": "python", "request": "launch", "program": "../evil.py"}]}))
    (tmp_path / "evil.py").write_text("open('ran', 'w')")
    client = start()
    client.initialize([script.parent], TALKS, {**OPTIONS, "trusted": False})
    for argument in ({"script": "train.py", "configuration": "Out"}, {"uri": (tmp_path / "evil.py").as_uri(), "configuration": "Out"}):
        assert client.command(CHOOSE, argument)["started"] is False
        assert client.command(PROFILE, argument)["started"] is False
    assert not list(tmp_path.rglob("ran"))
