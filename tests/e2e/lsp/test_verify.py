"""What is done about advice beside applying it: verified by running the script, silenced at its place, told again."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON
from lsp_client import SERVER, Client
from test_advice import (
    CACHE,
    DROPOUT,
    EDITS,
    GELU,
    OPTIMIZER,
    SCRIPT,
    actions,
    advice,
    bundle_of,
    change,
    hover,
    kinds_and_lines,
    opened,
    predict,
    profiled,
    work,
)

__all__ = ["profiled", "work"]

Start = Callable[..., Client]
VERIFY, SILENCE, TELL_AGAIN = "hotlens.server.verify", "hotlens.server.silence", "hotlens.server.tellAgain"
DIALOGS = {**EDITS, "experimental": {"hotlens": {"protocolVersion": 1, "dialogs": True}}}
MINUS = "\N{MINUS SIGN}"
GAIN = {"no_dropout": (0.7, 0.65, 0.75)}


def ledger(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / ".hotlens/ledger.jsonl").read_text().splitlines()]


def verified(folder: Path, ratio: float, losses: str = "unknown") -> None:
    """An outcome as `hotlens whatif --verify` keeps it."""
    row = {"schema": "hotlens.ledger/1", "event": "verified", "time": "2026-11-24T11:00:00Z", "profile": bundle_of(folder).name}
    row |= {"kind": "no_dropout", "torch": "2", "ratio": ratio, "low": ratio - 0.011, "high": ratio + 0.011, "pairs": 6, "losses": losses}
    with (folder / ".hotlens/ledger.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def hinted(start: Start, folder: Path, capabilities: Any = None) -> tuple[Client, str]:
    client, uri = opened(start, folder, capabilities)
    client.wait(lambda: advice(client, uri))
    return client, uri


def titled(client: Client, uri: str, line: int, begin: str) -> dict[str, Any]:
    (found,) = [one for one in actions(client, uri, line) if one["title"].startswith(begin)]
    return found


def run(client: Client, action: dict[str, Any]) -> Any:
    return client.command(action["command"]["command"], *action["command"]["arguments"])


def said(client: Client) -> list[str]:
    return [message["message"] for message in client.messages("window/showMessage")]


def progress(client: Client, kind: str) -> list[dict[str, Any]]:
    return [message["value"] for message in client.messages("$/progress") if message["value"]["kind"] == kind]


def left_behind(folder: Path) -> list[str]:
    """Processes of the workspace's script, and our folders for temporary files."""
    found = [entry for entry in os.listdir(tempfile.gettempdir()) if entry.startswith("hotlens-verify-")]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.joinpath("cwd").readlink() == folder and b"train.py" in process.joinpath("cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def test_a_change_is_verified_by_running_and_says_so_beforehand_meanwhile_and_afterwards(start: Start, work: Path) -> None:
    predict(work, GAIN)
    client, uri = hinted(start, work)
    action = titled(client, uri, DROPOUT, "Verify by running: Dropout off (p=0) (")
    assert action["kind"] == "quickfix" and " to " in action["title"]  # how long it may take
    assert run(client, action) == {"started": True}
    assert run(client, action)["started"] is False  # one at a time
    assert client.command("hotlens.server.profile", {"script": "train.py"})["started"] is False  # it would disturb the times
    assert titled(client, uri, DROPOUT, "Verify by running")["disabled"]["reason"] == "a change is being verified"
    client.wait(lambda: progress(client, "end"), limit=240)
    assert progress(client, "begin")[0]["title"] == "Verifying Dropout off (p=0)"
    steps = [value["message"] for value in progress(client, "report")]
    assert any("pair 2: " in step for step in steps), steps
    assert [value["message"] for value in progress(client, "end")] == ["Done."]
    (outcome,) = [words for words in said(client) if " is verified: " in words]
    assert outcome.startswith(f"Dropout off (p=0) is verified: {MINUS}") and " % ± " in outcome and outcome.endswith(" pairs.")
    client.wait(lambda: any(f"; verified {MINUS}" in one["message"] for one in advice(client, uri)))
    assert f"Verified by running the script: {MINUS}" in hover(client, uri, DROPOUT)
    assert (work / "train.py").read_text() == SCRIPT
    assert [row["event"] for row in ledger(work)][-1] == "verified"


def test_a_verification_that_is_cancelled_leaves_nothing_behind(start: Start, work: Path) -> None:
    before = left_behind(work)
    predict(work, GAIN)
    client, uri = hinted(start, work)
    assert run(client, titled(client, uri, DROPOUT, "Verify"))["started"] is True
    client.wait(lambda: any("runs in pairs" in value.get("message", "") for value in progress(client, "report")), limit=120)
    deadline = time.monotonic() + 20
    while left_behind(work) == before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(left_behind(work)) > len(before)
    began = time.monotonic()
    assert client.command("hotlens.server.cancel") == {"cancelled": True}
    client.wait(lambda: progress(client, "end"))
    assert time.monotonic() - began < 1.5
    assert [value["message"] for value in progress(client, "end")] == ["Cancelled."]
    assert left_behind(work) == before
    assert not [words for words in said(client) if "verif" in words]
    assert [row["event"] for row in ledger(work)].count("verified") == 0


def test_a_server_that_is_killed_takes_the_script_along(start: Start, work: Path) -> None:
    predict(work, GAIN)
    client, uri = hinted(start, work)
    run(client, titled(client, uri, DROPOUT, "Verify"))
    running = lambda: [entry for entry in left_behind(work) if entry.isdigit()]  # noqa: E731
    deadline = time.monotonic() + 120
    while not running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running()
    client.kill()
    deadline = time.monotonic() + 5
    while running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running() == []


def test_what_was_verified_stands_in_the_hint_and_what_was_no_gain_goes(start: Start, work: Path) -> None:
    predict(work, GAIN)
    verified(work, 0.872)
    client, uri = hinted(start, work)
    assert advice(client, uri)[0]["message"].endswith(f"; verified {MINUS}12.8 % ± 1.1 %, 6 pairs")
    assert f"Verified by running the script: {MINUS}12.8 % ± 1.1 %, 6 pairs." in hover(client, uri, DROPOUT)
    verified(work, 0.872, losses="differ")
    client.wait(lambda: "losses differ" in hover(client, uri, DROPOUT))
    verified(work, 0.995)
    client.wait(lambda: advice(client, uri) == [])


def test_what_cannot_be_run_again_says_why_before_anything_runs(start: Start, work: Path, tmp_path: Path) -> None:
    predict(work, GAIN)
    manifest = bundle_of(work) / "manifest.json"
    text = manifest.read_text()
    try:
        manifest.write_text(json.dumps({**json.loads(text), "argv": ["train.py", "--key", "***"]}))
        client, uri = hinted(start, work)
        assert "secret" in titled(client, uri, DROPOUT, "Verify")["disabled"]["reason"]
        answer = client.command(VERIFY, {"profile": bundle_of(work).name, "kind": "no_dropout"})
        assert answer["started"] is False and "secret" in answer["message"]
    finally:
        manifest.write_text(text)
    assert not progress(client, "begin")


def test_what_takes_long_is_asked_about_first(start: Start, work: Path) -> None:
    predict(work, GAIN)
    manifest = bundle_of(work) / "manifest.json"
    text = manifest.read_text()
    try:
        slow = {**json.loads(text), "plain_step_ns": [20_000_000_000] * 5, "loop": None}
        manifest.write_text(json.dumps(slow))
        client, uri = hinted(start, work, {**EDITS, "window": {"workDoneProgress": True, "showMessage": {"messageActionItem": {}}}})
        action = titled(client, uri, DROPOUT, "Verify")
        assert run(client, action) == {"started": False, "asked": True}
        asked = client.next_message("window/showMessageRequest")
        assert "takes" in asked["message"] and "--limit" in asked["message"] and [each["title"] for each in asked["actions"]] == ["Verify"]
        time.sleep(0.3)
        assert not progress(client, "begin")  # nobody chose it
    finally:
        manifest.write_text(text)


def test_an_untrusted_workspace_verifies_nothing(start: Start, work: Path) -> None:
    predict(work, GAIN)
    client = start(env=CACHE)
    client.initialize([work], EDITS, {"python": PYTHON, "trusted": False})
    uri = client.open(work / "train.py")
    client.wait(lambda: advice(client, uri))
    assert not [one for one in actions(client, uri, DROPOUT) if one["title"].startswith("Verify")]
    answer = client.command(VERIFY, {"profile": bundle_of(work).name, "kind": "no_dropout"})
    assert answer["started"] is False and "not trusted" in answer["message"]


@pytest.mark.parametrize("command", [VERIFY, SILENCE])
@pytest.mark.parametrize(
    "argument", [None, {}, {"kind": "gone"}, {"kind": 5}, {"kind": "no_dropout"}, {"kind": "no_dropout", "profile": "../x"}]
)
def test_a_command_that_names_no_hint_does_nothing(start: Start, work: Path, command: str, argument: Any) -> None:
    predict(work, GAIN)
    client, _ = hinted(start, work)
    id = client.send("workspace/executeCommand", {"command": command, "arguments": [] if argument is None else [argument]})
    message = client.wait(lambda: client.responses.get(str(id)))[0]
    refused = message.get("error", {}).get("code") == -32602
    assert refused or message["result"].get("started") is False or message["result"].get("silenced") is False
    assert not (work / ".hotlens/silenced.jsonl").exists() and not progress(client, "begin")


def test_advice_is_silenced_at_its_place_and_told_again_from_a_list(start: Start, work: Path) -> None:
    predict(work, {**GAIN, "fused_optimizer": (0.8, 0.75, 0.85), "gelu_to_relu": (0.97, 0.96, 0.98)})
    client, uri = hinted(start, work, DIALOGS)
    assert run(client, titled(client, uri, DROPOUT, "Not here: Dropout off (p=0)")) == {"silenced": True}
    client.wait(lambda: kinds_and_lines(client, uri) == [("fused_optimizer", OPTIMIZER), ("gelu_to_relu", GELU)])
    assert run(client, titled(client, uri, OPTIMIZER, "Not here")) == {"silenced": True}
    client.wait(lambda: kinds_and_lines(client, uri) == [("gelu_to_relu", GELU)])

    # Another session knows, whatever else is edited in the file.
    client.kill()
    client, uri = hinted(start, work, DIALOGS)
    change(client, uri, "# a comment\n" + SCRIPT, 2)
    client.wait(lambda: kinds_and_lines(client, uri) == [("gelu_to_relu", GELU + 1)])
    change(client, uri, SCRIPT, 3)

    client.answer["hotlens/choose"] = lambda _: {"result": {"index": 1}}
    assert client.command(TELL_AGAIN) == {"told": 0, "asked": True}
    asked = client.next_message("hotlens/choose")
    assert [(choice["label"], choice["file"]) for choice in asked["choices"]] == [
        ("All 2", "silenced.jsonl"),
        ("Dropout off (p=0)", "train.py"),
        ("Optimizer with fused=True", "train.py"),
    ]
    assert asked["choices"][1]["detail"] == "layers = [nn.Linear(64, 64), nn.Dropout(0.1)]"
    client.wait(lambda: kinds_and_lines(client, uri) == [("no_dropout", DROPOUT), ("gelu_to_relu", GELU)])
    assert client.command(TELL_AGAIN, {"all": True}) == {"told": 1}
    client.wait(lambda: len(advice(client, uri)) == 3)
    assert client.command(TELL_AGAIN) == {"told": 0}


def test_a_client_without_lists_tells_all_again_by_a_button(start: Start, work: Path) -> None:
    predict(work, GAIN)
    capabilities = {**EDITS, "window": {"workDoneProgress": True, "showMessage": {"messageActionItem": {}}}}
    client, uri = hinted(start, work, capabilities)
    client.answer["window/showMessageRequest"] = lambda params: {"result": params["actions"][0]}
    run(client, titled(client, uri, DROPOUT, "Not here"))
    client.wait(lambda: not advice(client, uri))
    assert client.command(TELL_AGAIN) == {"told": 0, "asked": True}
    assert client.next_message("window/showMessageRequest")["message"] == "Silenced: Dropout off (p=0) in train.py."
    client.wait(lambda: advice(client, uri))


def test_a_broken_list_silences_what_can_be_read_and_keeps_the_rest(start: Start, work: Path) -> None:
    predict(work, GAIN)
    silenced = work / ".hotlens/silenced.jsonl"
    broken = '{"schema":"hotlens.silenced/1"\n[]\n\x00\n{"schema":"hotlens.silenced/1","kind":5,"file":"train.py","text":"x"}\n'
    silenced.write_text(broken)
    client, uri = hinted(start, work)
    assert run(client, titled(client, uri, DROPOUT, "Not here")) == {"silenced": True}
    client.wait(lambda: not advice(client, uri))
    assert silenced.read_text().startswith(broken)
    row = json.loads(silenced.read_text().splitlines()[-1])
    assert (row["kind"], row["file"], row["silenced"]) == ("no_dropout", "train.py", True)


def test_the_command_line_says_what_is_silenced(work: Path) -> None:
    place = {"kind": "no_dropout", "file": "train.py", "text": SCRIPT.splitlines()[DROPOUT]}
    (work / ".hotlens/silenced.jsonl").write_text(json.dumps({"schema": "hotlens.silenced/1", **place}) + "\n")
    ask = [SERVER, "whatif", "list"]
    listed = subprocess.run([*ask, "--format", "json"], cwd=work, env=CACHE, capture_output=True, text=True, check=True)
    states = {item["kind"]: item["state"] for item in json.loads(listed.stdout)["items"]}
    assert states["no_dropout"] == "silenced" and states["fused_optimizer"] == "open"
    text = subprocess.run(ask, cwd=work, env=CACHE, capture_output=True, text=True, check=True).stdout
    assert text.count("silenced at this place: editors do not recommend it") == 1


WHAT_IF = "hotlens.server.whatIf"


def asked_actions(client: Client, uri: str, line: int) -> list[dict[str, Any]]:
    at = {"line": line, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}
    return [one for one in client.request("textDocument/codeAction", params) if one["title"] == "What would help here?"]


def test_what_would_help_is_replayed_on_request_and_becomes_hints(start: Start, work: Path) -> None:
    client, uri = opened(start, work)
    client.hints_when_known(uri)
    (action,) = asked_actions(client, uri, DROPOUT)
    assert action["kind"] == "hotlens.whatIf"
    command = {"command": action["command"]["command"], "arguments": action["command"]["arguments"]}
    assert client.request("workspace/executeCommand", command) == {"started": True}
    assert asked_actions(client, uri, DROPOUT) == []  # one at a time
    again = client.request("workspace/executeCommand", command)
    assert not again["started"] and "being replayed" in again["message"]
    run = client.request("workspace/executeCommand", {"command": "hotlens.server.profile", "arguments": [{"uri": uri}]})
    assert not run["started"] and "would disturb its times" in run["message"]
    told = client.wait(lambda: said(client)[2:], 240)  # behind the two refusals
    assert told[0].startswith("What would help: "), told
    assert "Dropout off (p=0): ≈ " in told[0]
    client.wait(lambda: any(one["code"] == "no_dropout" for one in advice(client, uri)))
    assert {one["title"].partition(":")[0] for one in actions(client, uri, DROPOUT)} >= {"Apply", "Verify by running"}
    assert (work / "train.py").read_text() == SCRIPT


def test_what_would_help_can_be_cancelled(start: Start, work: Path) -> None:
    client, uri = opened(start, work)
    client.hints_when_known(uri)
    assert client.request("workspace/executeCommand", {"command": WHAT_IF, "arguments": [{"uri": uri}]}) == {"started": True}
    assert client.request("workspace/executeCommand", {"command": "hotlens.server.cancel", "arguments": []}) == {"cancelled": True}
    client.wait(lambda: asked_actions(client, uri, DROPOUT))
    assert not [one for one in said(client) if "What would help" in one]


def test_an_untrusted_workspace_replays_nothing(start: Start, work: Path) -> None:
    client = start(env=CACHE)
    client.initialize([work], EDITS, {"python": PYTHON, "trusted": False})
    uri = client.open(work / "train.py")
    client.hints_when_known(uri)
    assert asked_actions(client, uri, DROPOUT) == []
    answer = client.request("workspace/executeCommand", {"command": WHAT_IF, "arguments": [{"uri": uri}]})
    assert not answer["started"] and "not trusted" in answer["message"]
    assert not (work / ".hotlens/ledger.jsonl").exists()
