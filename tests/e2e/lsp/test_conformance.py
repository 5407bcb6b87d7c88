"""What a careful client may expect of any language server, beside what the other tests of this folder hold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RICH, Client, text_of, uri_of

Start = Callable[..., Client]
JUNK: list[list[Any]] = [
    [],
    [{}],
    [None],
    [5],
    ["x"],
    [[]],
    [{"uri": 5}],
    [{"uri": "file:///nowhere.py"}],
    [{"position": "x"}],
    [{"profile": []}],
]


def answered(client: Client, method: str, params: Any) -> dict[str, Any]:
    """The one answer, a result or an error."""
    id = client.send(method, params)
    return dict(client.wait(lambda: client.responses.get(json.dumps(id)))[0])


def opened(start: Start, example: Path, capabilities: Any = None) -> tuple[Client, str]:
    client = start()
    client.initialize([example], capabilities)
    uri = client.open(example / "model.py")
    client.hints_when_known(uri)
    return client, uri


def actions(client: Client, uri: str, line: int, **context: Any) -> list[dict[str, Any]]:
    at = {"line": line, "character": 0}
    params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}, "context": {"diagnostics": [], **context}}
    return list(client.request("textDocument/codeAction", params))


def test_every_command_that_is_offered_survives_any_argument(start: Start, tmp_path: Path) -> None:
    client = start(env={"VIRTUAL_ENV": "", "PATH": os.defpath})
    offered = client.initialize([tmp_path], options={"trusted": False})["capabilities"]["executeCommandProvider"]["commands"]
    assert len(offered) > 15
    for command in offered:
        for arguments in JUNK:
            message = answered(client, "workspace/executeCommand", {"command": command, "arguments": arguments})
            assert "result" in message or message["error"]["code"] in (-32602, -32803), (command, arguments, message)
        assert "result" in answered(client, "hotlens/profileState", {})


def test_what_was_not_asked_for_cannot_be_cancelled(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    hints = client.hints(uri)
    for id in (client.next_id - 1, client.next_id - 1, 10**6, "never", None, {}):
        client.notify("$/cancelRequest", {"id": id})
    for token in ("never", 7, "hotlens-run-1", None):
        client.notify("window/workDoneProgress/cancel", {"token": token})
    assert client.hints(uri) == hints
    assert all(len(answers) == 1 for answers in client.responses.values())


def test_hints_are_sorted_lines_of_text_and_the_same_when_asked_again(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    hints = client.hints(uri)
    assert client.hints(uri) == hints
    lines = [hint["position"]["line"] for hint in hints]
    assert lines == sorted(set(lines))
    for label in (text_of(hint["label"]) for hint in hints):
        assert 0 < len(label) <= 20 and label.isprintable(), label


def test_hover_is_null_where_nothing_was_measured_and_a_lens_is_on_one_line(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    measured = {hint["position"]["line"] for hint in client.hints(uri)}
    text = (example / "model.py").read_text().splitlines()
    empty = next(number for number, line in enumerate(text) if not line)
    assert empty not in measured
    for at in ({"line": empty, "character": 0}, {"line": 10**6, "character": 5}):
        assert client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at}) is None
    for lens in client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}):
        assert lens["range"]["start"]["line"] == lens["range"]["end"]["line"]


def test_actions_have_titles_of_their_own_and_kinds_that_can_be_asked_for(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    line = client.hints(uri)[0]["position"]["line"]
    found = actions(client, uri, line)
    assert len({each["title"] for each in found}) == len(found) > 1
    kinds = {each["kind"] for each in found}
    for kind in kinds:
        asked = actions(client, uri, line, only=[kind])
        assert asked and all(each["kind"] == kind or each["kind"].startswith(kind + ".") for each in asked)
        assert actions(client, uri, line, only=[kind.split(".")[0]])  # a kind holds those below it
    assert actions(client, uri, line, only=["source.organizeImports"]) == []
    assert actions(client, uri, line, only=["hotlen"]) == []  # no kind holds what only begins like it


def test_a_client_without_literals_gets_commands_and_nothing_that_is_disabled(start: Start, example: Path) -> None:
    plain = {**RICH, "textDocument": {**RICH["textDocument"], "codeAction": {}}}
    client, uri = opened(start, example, plain)
    line = client.hints(uri)[0]["position"]["line"]
    found = actions(client, uri, line)
    client.notify("hotlens/trust", {"trusted": False})  # a client that can show why has these actions disabled now
    left = actions(client, uri, line)
    assert len(left) < len(found) and not any("rofile" in each["title"] for each in left)
    assert found and all(set(each) <= {"title", "command", "arguments"} and isinstance(each["command"], str) for each in found)


def test_one_file_under_two_spellings_is_two_documents(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    other = uri_of(example / "model.py").replace("model.py", "%6Dodel.py")
    text = (example / "model.py").read_text()
    client.notify("textDocument/didOpen", {"textDocument": {"uri": other, "languageId": "python", "version": 1, "text": text}})
    client.wait(lambda: client.hints(other) == client.hints(uri))
    hints = client.hints(uri)
    client.notify("textDocument/didChange", {"textDocument": {"uri": other, "version": 2}, "contentChanges": [{"text": "# new\n" + text}]})
    assert [hint["position"]["line"] for hint in client.hints(other)] == [hint["position"]["line"] + 1 for hint in hints]
    assert client.hints(uri) == hints
    client.notify("textDocument/didClose", {"textDocument": {"uri": other}})
    assert client.hints(uri) == hints


@pytest.mark.parametrize("versions", [(2, 9, 10), (-5, -4, 0), (2**31 - 3, 2**31 - 2, 2**31 - 1)], ids=["gaps", "negative", "large"])
def test_versions_may_be_any_that_rise(start: Start, example: Path, versions: tuple[int, ...]) -> None:
    client, uri = opened(start, example)
    before = [hint["position"]["line"] for hint in client.hints(uri)]
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    for count, version in enumerate(versions, 1):
        change = {"range": top, "text": "# new\n"}
        client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]})
        assert [hint["position"]["line"] for hint in client.hints(uri)] == [line + count for line in before]


def test_the_log_holds_no_text_of_the_user(start: Start, example: Path) -> None:
    client, uri = opened(start, example)
    secret = "PASSWORD_OF_SOMEBODY"
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    nowhere = {"start": {"line": 10**6, "character": 0}, "end": {"line": 0, "character": 0}}
    for version, range in enumerate((top, nowhere), 2):
        change = {"range": range, "text": f"{secret} = 1\n"}
        client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]})
    answered(client, "textDocument/hover", {"textDocument": {"uri": uri}, "position": secret})
    client.stop()
    said = json.dumps([client.messages(method) for method in ("window/logMessage", "window/showMessage", "window/showMessageRequest")])
    while not client.errors.empty():
        said += client.errors.get().decode(errors="replace")
    assert secret not in said
