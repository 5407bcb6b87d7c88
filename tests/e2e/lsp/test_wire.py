"""Framing and JSON-RPC against the running server."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import pytest
from conftest import ROOT
from lsp_client import Client, RequestError, frame

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}

Start = Callable[..., Client]


def test_a_message_in_single_bytes_and_two_in_one_write(start: Start) -> None:
    client = start()
    for byte in frame(json.dumps(INITIALIZE).encode()):
        client.write_bytes(bytes([byte]))
    assert client.result(0)["serverInfo"]["name"] == "hotlens"
    two = [{"jsonrpc": "2.0", "id": i, "method": "hotlens/profileState"} for i in (1, "1")]
    client.write_bytes(b"".join(frame(json.dumps(message).encode()) for message in two))
    assert client.result(1) == client.result("1")


def test_headers_in_any_case_order_and_company(start: Start) -> None:
    client = start()
    body = json.dumps(INITIALIZE).encode()
    client.write_bytes(
        b"x-other: 1\r\ncontent-type: application/vscode-jsonrpc; charset=utf8\r\nCONTENT-LENGTH:%d\r\n\r\n%s" % (len(body), body)
    )
    assert client.result(0)


@pytest.mark.parametrize("id", [0, -5, 2147483647, "a", "7"])
def test_ids_come_back_as_they_were(start: Start, id: object) -> None:
    client = start()
    client.write({**INITIALIZE, "id": id})
    assert client.result(id)


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"X: " + b"y" * 10000,
        b"\xef\xbb\xbfContent-Length: 2\r\n\r\n{}",
    ],
)
def test_a_stream_that_cannot_be_trusted_ends_the_server_with_a_reason(start: Start, garbage: bytes) -> None:
    client = start()
    client.write_bytes(garbage)
    assert client.exit_code() == 1
    assert b"closing:" in client.errors.get(timeout=5)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100000, -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', -32600),
        (b'{"jsonrpc":"2.0","id":3,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":3,"method":"x","params":1}', -32600),
        (b'[{"jsonrpc":"2.0","id":3,"method":"shutdown"}]', -32600),
    ],
)
def test_a_body_that_is_no_message_is_answered_and_survived(start: Start, body: bytes, code: int) -> None:
    client = start()
    client.write_bytes(frame(body))
    answer = client.wait(lambda: list(client.responses.values()))[0][0]
    assert answer["error"]["code"] == code
    client.write({**INITIALIZE, "id": "later"})
    assert client.result("later")


def test_unknown_methods(start: Start) -> None:
    client = start()
    client.initialize([])
    for method in ("textDocument/definition", "$/made/up", "hotlens/other"):
        with pytest.raises(RequestError) as error:
            client.request(method, {})
        assert error.value.code == -32601
    for method in ("$/setTrace", "$/made/up", "some/notification"):
        client.notify(method, {"value": "off"})
    client.write({"jsonrpc": "2.0", "id": 999, "result": None})  # an answer to nothing
    assert client.request("hotlens/profileState") is not None
    assert len(client.responses) == 5


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "textDocument/inlayHint",
        "inlayHint/resolve",
        "textDocument/hover",
        "textDocument/codeLens",
        "textDocument/codeAction",
        "workspace/executeCommand",
        "hotlens/hints",
    ],
)
@pytest.mark.parametrize("params", [None, [], [1], {"textDocument": 5, "position": [], "range": None, "command": {}, "capabilities": 3}])
def test_wrong_params_are_named_and_survived(start: Start, method: str, params: object) -> None:
    client = start()
    if method != "initialize":
        client.initialize([])
    with pytest.raises(RequestError, match="expected") as error:
        client.request(method, params)
    assert error.value.code == -32602
    assert client.process.poll() is None


def own_methods() -> list[str]:
    """Of both directions, as the protocol spells them."""
    text = (ROOT / "protocol/messages.h").read_text()
    return sorted(set(re.findall(r'"(hotlens/[\w/]+)"', text)))


def test_every_method_of_ours_takes_wrong_params(start: Start) -> None:
    client = start()
    client.initialize([])
    named = 0
    for method in own_methods():
        for params in (
            None,
            [],
            [1],
            {"textDocument": 5, "profile": [], "step": "x", "id": {}, "path": 3, "text": 1, "blocks": 7, "line": -1},
        ):
            try:
                client.request(method, params)
            except RequestError as error:
                assert error.code in (-32602, -32601), (method, params, error.code)
                assert error.code == -32601 or str(error), method
                named += error.code == -32602
    assert named > 40, "most need some"
    assert client.request("hotlens/profileState") is not None


def test_wrong_notifications_are_survived(start: Start) -> None:
    client = start()
    client.initialize([])
    for method in (
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didSave",
        "textDocument/didClose",
        "workspace/didChangeConfiguration",
        "workspace/didChangeWatchedFiles",
        "workspace/didChangeWorkspaceFolders",
        "window/workDoneProgress/cancel",
        "hotlens/trust",
        "$/cancelRequest",
    ):
        for params in (None, [], {"textDocument": 1, "contentChanges": 2, "settings": 3, "event": 4, "token": 5, "id": [], "trusted": "x"}):
            client.notify(method, params)
    assert client.request("hotlens/profileState") is not None


def test_a_cancelled_request_is_answered_once(start: Start) -> None:
    client = start()
    client.initialize([])
    messages = []
    for id in range(100, 200):
        messages.append({"jsonrpc": "2.0", "id": id, "method": "hotlens/profileState"})
        messages.append({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}})
    client.write_bytes(b"".join(frame(json.dumps(message).encode()) for message in messages))
    client.wait(lambda: all(str(id) in client.responses for id in range(100, 200)))
    time.sleep(0.1)
    for id in range(100, 200):
        (answer,) = client.responses[str(id)]
        assert "result" in answer or answer["error"]["code"] == -32800
