"""Profiling from the editor: the recorder really runs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON
from lsp_client import RICH, Client

Start = Callable[..., Client]
PROFILE, CANCEL = "hotlens.server.profile", "hotlens.server.cancel"
QUICK = {"python": PYTHON, "profile": {"warmup": 1, "steps": 2, "args": ["--epochs", "1"]}}
RUN_LIMIT = 90.0
TERMINAL = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "output": True}}}

HANGS = """
import signal, sys, time, torch
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("hanging", flush=True)
for step in range(1000):
    time.sleep(1000)
loss.backward()
"""

RAISES = """
import torch
model = torch.nn.Linear(3, 3)


def train():
    for step in range(10):
        loss = model(torch.ones(2, 4)).sum()
        loss.backward()


train()
"""


def progress(client: Client) -> list[dict[str, Any]]:
    return [p["value"] for p in client.messages("$/progress")]


def finished(client: Client) -> bool:
    return any(value["kind"] == "end" for value in progress(client))


def recorders(folder: Path) -> list[int]:
    """Processes that record in this folder."""
    pids = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            words = (proc / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"record" in words and any(str(folder).encode() in word for word in words):
            pids.append(int(proc.name))
    return pids


def gone(folder: Path, limit: float = 2.0) -> bool:
    end = time.monotonic() + limit
    while recorders(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return not recorders(folder)


def hanging(start: Start, folder: Path, **options: Any) -> Client:
    """A server with a run that ignores the interrupt and will not end by itself."""
    (folder / "hang.py").write_text(HANGS)
    client = start()
    client.initialize([folder], options={"python": PYTHON}, **options)
    assert client.command(PROFILE, {"script": "hang.py"})["started"] is True
    client.wait(lambda: [m for m in client.messages("window/logMessage") if m["message"] == "hanging"], RUN_LIMIT)
    assert recorders(folder)
    return client


def test_profiling_ends_with_new_hints(start: Start, unprofiled: Path) -> None:
    client = start()
    client.initialize([unprofiled], options=QUICK)
    model, train = client.open(unprofiled / "model.py"), client.open(unprofiled / "train.py")
    assert client.hints(model) == []
    (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": train}})
    started = client.command(lens["command"]["command"], *lens["command"]["arguments"])
    assert started["started"] is True and started["script"] == str(unprofiled / "train.py")
    assert started["command"][0] == PYTHON and started["command"][-3:] == ["train.py", "--epochs", "1"]
    again = client.command(PROFILE, {"uri": train})
    assert again["started"] is False and again["runId"] == started["runId"]
    assert client.hints(model) == []
    client.wait(lambda: finished(client), RUN_LIMIT)

    values = progress(client)
    assert [v["kind"] for v in values].count("begin") == 1 and values[0]["kind"] == "begin" and values[0]["cancellable"] is True
    assert [v["kind"] for v in values].count("end") == 1 and values[-1]["kind"] == "end"
    percentages = [v["percentage"] for v in values[:-1]]
    words = [v.get("message", "") for v in values]
    assert not any(word in message.lower() for message in words for word in ("plain", "map", "bundle", "program")), words
    assert percentages == sorted(percentages) and percentages[0] == 0
    assert len({p["token"] for p in client.messages("$/progress")}) == 1
    assert client.messages("window/workDoneProgress/create")[0]["token"] == client.messages("$/progress")[0]["token"]

    assert client.hints(model) and client.hints(train)
    assert len(client.messages("workspace/inlayHint/refresh")) == 1
    assert client.messages("window/showMessage") == []
    assert len(list((unprofiled / ".hotlens" / "profiles").iterdir())) == 1
    assert gone(unprofiled)

    # Once more, from a file that is no script: what ran before runs again, and the hints stay meanwhile.
    before = client.hints(model)
    assert client.command(PROFILE, {"uri": model})["command"][-3:] == ["train.py", "--epochs", "1"]
    assert client.hints(model) == before
    client.wait(lambda: [v["kind"] for v in progress(client)].count("end") == 2, RUN_LIMIT)
    assert len({p["token"] for p in client.messages("$/progress")}) == 2


def test_a_saved_file_is_profiled_again_quietly_where_a_profile_knows_it(start: Start, unprofiled: Path) -> None:
    client = start()
    client.initialize([unprofiled], options=QUICK)
    model = client.open(unprofiled / "model.py")
    saved = {"uri": model, "saved": True}
    unknown = client.command(PROFILE, saved)
    assert unknown["started"] is False and "No profile" in unknown["message"]
    assert client.command(PROFILE, {"uri": client.open(unprofiled / "train.py")})["started"] is True
    client.wait(lambda: finished(client), RUN_LIMIT)
    client.wait(lambda: client.hints(model))

    assert client.command(PROFILE, saved)["started"] is True
    during = client.command(PROFILE, saved)
    assert during["started"] is False and "another one follows" in during["message"]
    client.wait(lambda: [v["kind"] for v in progress(client)].count("end") == 3, 2 * RUN_LIMIT)
    assert len(list((unprofiled / ".hotlens" / "profiles").iterdir())) == 3
    assert client.messages("window/showMessage") == []  # the first run said its hottest line with buttons, the others nothing

    # Who cancels wants no other run after it, and a workspace that is not trusted runs nothing.
    assert client.command(PROFILE, saved)["started"] is True and client.command(PROFILE, saved)["started"] is False
    assert client.command(CANCEL)["cancelled"] is True
    client.wait(lambda: [v["kind"] for v in progress(client)].count("end") == 4, RUN_LIMIT)
    client.notify("hotlens/trust", {"trusted": False})
    assert client.command(PROFILE, saved)["started"] is False
    assert client.messages("window/showMessage") == []
    assert gone(unprofiled)


@pytest.mark.parametrize("way", ["command", "progress"])
def test_cancel_ends_the_script_within_a_second(start: Start, tmp_path: Path, way: str) -> None:
    client = hanging(start, tmp_path)
    token = client.next_message("$/progress")["token"]
    asked = time.monotonic()
    if way == "command":
        assert client.command(CANCEL) == {"cancelled": True}
    else:
        client.notify("window/workDoneProgress/cancel", {"token": "unknown"})
        for _ in range(2):
            client.notify("window/workDoneProgress/cancel", {"token": token})
    client.wait(lambda: finished(client))
    assert time.monotonic() - asked < 1.0
    assert gone(tmp_path, 0.5)
    assert client.command(CANCEL) == {"cancelled": False}
    client.notify("window/workDoneProgress/cancel", {"token": token})
    assert client.messages("window/showMessage") == []
    assert [v["kind"] for v in progress(client)].count("end") == 1
    assert client.request("hotlens/profileState")["running"] is False


def test_shutdown_answers_at_once_and_leaves_no_process(start: Start, tmp_path: Path) -> None:
    client = hanging(start, tmp_path)
    asked = time.monotonic()
    client.request("shutdown")
    assert time.monotonic() - asked < 0.5
    client.notify("exit")
    assert client.exit_code() == 0
    assert gone(tmp_path, 0.5)
    assert progress(client)[-1]["kind"] == "end"


@pytest.mark.parametrize("end", ["close", "terminate", "kill"])
def test_a_run_never_outlives_its_editor(start: Start, tmp_path: Path, end: str) -> None:
    client = hanging(start, tmp_path)
    if end == "close":
        assert client.process.stdin is not None
        client.process.stdin.close()
    else:
        client.process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGTERM)
    client.exit_code()
    assert gone(tmp_path, 1.0)


def test_a_script_that_raises_is_marked_at_its_line_until_the_next_run(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(RAISES)
    client = start()
    client.initialize([tmp_path], options={"python": PYTHON})
    uri = client.open(script)
    assert client.command(PROFILE, {"uri": uri})["started"] is True
    said = client.next_message("window/showMessage", limit=RUN_LIMIT)
    assert said["type"] == 1 and said["message"]
    published = client.next_message("textDocument/publishDiagnostics")
    assert published["uri"] == uri
    (diagnostic,) = published["diagnostics"]
    statement = "        loss = model(torch.ones(2, 4)).sum()"
    line = RAISES.splitlines().index(statement)
    assert diagnostic["range"] == {"start": {"line": line, "character": 8}, "end": {"line": line, "character": len(statement)}}
    assert diagnostic["severity"] == 1 and diagnostic["source"] == "hotlens" and "shapes cannot be multiplied" in diagnostic["message"]
    client.wait(lambda: finished(client))
    assert "message" in client.request("hotlens/profileState")

    client.command(PROFILE, {"uri": uri})
    assert client.next_message("textDocument/publishDiagnostics", after=1) == {"uri": uri, "diagnostics": []}


NEEDS_DATA = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()\n"
CRASHES, CRASHED = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "quiet.py was ended by signal 11. Nothing was recorded."
LACKS_DATA = "quiet.py exited with code 2: the following arguments are required: --data"


@pytest.mark.parametrize(
    "script, sentence",
    [("print('hello')\n", "the script never imported torch. Profile the script that trains"), (NEEDS_DATA, LACKS_DATA), (CRASHES, CRASHED)],
    ids=["no torch", "argparse", "a signal"],
)
def test_a_script_that_never_trains_says_so(start: Start, tmp_path: Path, script: str, sentence: str) -> None:
    (tmp_path / "quiet.py").write_text(script)
    client = start()
    client.initialize([tmp_path], options={"python": PYTHON})
    client.command(PROFILE, {"script": "quiet.py"})
    said = client.next_message("window/showMessage", limit=RUN_LIMIT)
    assert (said["type"], said["message"]) == (1, sentence)
    client.wait(lambda: finished(client))
    client.request("hotlens/profileState")
    assert [value["kind"] for value in progress(client)].count("end") == 1


def test_unsaved_changes_are_mentioned(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "quiet.py"
    script.write_text("print('on disk')\n")
    client = start()
    client.initialize([tmp_path], options={"python": PYTHON})
    uri = client.open(script)
    edit = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "# changed\n"}
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [edit]})
    client.command(PROFILE, {"script": "quiet.py"})
    said = client.next_message("window/showMessage")
    assert said["type"] == 3 and "quiet.py" in said["message"] and "disk" in said["message"]
    client.wait(lambda: [m for m in client.messages("window/logMessage") if m["message"] == "on disk"], RUN_LIMIT)


def test_a_flood_of_output_is_cut_and_the_server_answers(start: Start, tmp_path: Path) -> None:
    (tmp_path / "flood.py").write_text("line = 'x' * 200\nwhile True:\n    print(line)\n")
    client = start()
    client.initialize([tmp_path], options={"python": PYTHON})
    client.command(PROFILE, {"script": "flood.py"})
    client.wait(lambda: [m for m in client.messages("window/logMessage") if "not shown" in m["message"]], RUN_LIMIT)
    for _ in range(20):
        asked = time.monotonic()
        client.request("hotlens/profileState")
        assert time.monotonic() - asked < 0.5
    client.command(CANCEL)
    client.wait(lambda: finished(client))
    assert len(client.messages("window/logMessage")) < 250


def test_a_client_with_a_terminal_gets_the_output_as_it_was_printed(start: Start, tmp_path: Path) -> None:
    colours = "\\x1b[32mgreen\\x1b[0m"
    (tmp_path / "bars.py").write_text(f"import sys\nsys.stdout.write('{colours} 10%\\r20% é█\\n')\nsys.exit('no more')\n")
    client = start()
    client.initialize([tmp_path], capabilities=TERMINAL, options={"python": PYTHON})
    client.command(PROFILE, {"script": "bars.py"})
    client.wait(lambda: finished(client), RUN_LIMIT)
    said = client.messages("hotlens/output")
    assert [one.get("begins", False) for one in said] == [True] + [False] * (len(said) - 1)
    text = "".join(one["text"] for one in said)
    assert "bars.py\x1b[0m\n" in text and "\x1b[32mgreen\x1b[0m 10%\r20% é█\n" in text and "no more\n" in text
    assert text.rstrip().removesuffix("\x1b[0m").endswith("bars.py ended with code 1 before a training step: `no more`")
    assert not [m for m in client.messages("window/logMessage") if "20%" in m["message"]]


def test_what_cannot_be_run_says_what_to_do(start: Start, tmp_path: Path) -> None:
    client = start(env={"VIRTUAL_ENV": "", "PATH": "/nonexistent"})
    client.initialize([tmp_path])
    for argument, expected in (
        ([], "Open the script that trains"),
        ([{"script": "missing.py"}], "missing.py"),
        ([{"uri": "file:///nowhere.py"}], "Open the script that trains"),
    ):
        count = len(client.messages("window/showMessage"))
        answer = client.command(PROFILE, *argument)
        assert answer["started"] is False and expected in answer["message"]
        assert client.next_message("window/showMessage", after=count) == {"type": 1, "message": answer["message"]}
    (tmp_path / "train.py").write_text(RAISES)
    assert "hotlens.python" in client.command(PROFILE)["message"]  # the only script of the workspace, but no Python
    (tmp_path / "other.py").write_text(RAISES)
    assert "other.py, train.py" in client.command(PROFILE)["message"]
    assert "no/python" in client.command(PROFILE, {"script": "train.py", "python": "/no/python"})["message"]


def test_an_untrusted_workspace_runs_nothing(start: Start, unprofiled: Path) -> None:
    client = start()
    client.initialize([unprofiled], options={**QUICK, "trusted": False})
    uri = client.open(unprofiled / "train.py")
    assert client.command(PROFILE, {"uri": uri})["started"] is False
    assert "trusted" in client.next_message("window/showMessage")["message"]
    context = {"textDocument": {"uri": uri}, "context": {"diagnostics": []}}
    context["range"] = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    (action,) = client.request("textDocument/codeAction", context)
    assert action["disabled"]["reason"] and "command" not in action
    client.notify("hotlens/trust", {"trusted": True})
    assert "disabled" not in client.request("textDocument/codeAction", context)[0]


def test_without_progress_support_a_run_still_works(start: Start, tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text("print('hello')\n")
    client = start()
    client.initialize([tmp_path], capabilities={}, options={"python": PYTHON})
    client.command(PROFILE, {"script": "quiet.py"})
    client.next_message("window/showMessage", limit=RUN_LIMIT)
    assert client.messages("$/progress") == client.messages("window/workDoneProgress/create") == []


def test_a_refused_progress_token_is_never_used(start: Start, tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text("print('hello')\n")
    client = start()
    client.answer["window/workDoneProgress/create"] = lambda _: {"error": {"code": -32603, "message": "no"}}
    client.initialize([tmp_path], options={"python": PYTHON})
    client.command(PROFILE, {"script": "quiet.py"})
    client.next_message("window/showMessage", limit=RUN_LIMIT)
    time.sleep(0.2)
    assert client.messages("$/progress") == []


@pytest.mark.parametrize("command", [PROFILE, CANCEL, "hotlens.server.reload"])
def test_commands_survive_any_argument(start: Start, tmp_path: Path, command: str) -> None:
    client = start(env={"VIRTUAL_ENV": "", "PATH": os.defpath})
    client.initialize([tmp_path], options={"trusted": False})
    for arguments in ([], [{}], [None], [5], [[]], [{"script": 1}], [{"args": "x"}], [{"runId": "x"}], [{"uri": {}}]):
        id = client.send("workspace/executeCommand", {"command": command, "arguments": arguments})
        message = client.wait(lambda id=id: client.responses.get(str(id)))[0]
        assert "result" in message or message["error"]["code"] == -32602
    with pytest.raises(Exception, match="no such command"):
        client.command("hotlens.server.other")


def test_a_run_of_the_command_line_shows_in_the_open_editor(start: Start, unprofiled: Path) -> None:
    client = start()
    client.initialize([unprofiled], capabilities={**RICH, "workspace": {"inlayHint": {"refreshSupport": True}}})
    uri = client.open(unprofiled / "model.py")
    assert client.hints(uri) == []
    command = [os.environ["HOTLENS_BIN"], "run", "--python", PYTHON, "--warmup", "1", "--steps", "2", "train.py", "--epochs", "1"]
    subprocess.run(command, cwd=unprofiled, check=True, stdout=subprocess.DEVNULL)
    client.next_message("workspace/inlayHint/refresh", limit=10)
    assert client.hints(uri)
