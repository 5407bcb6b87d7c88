"""From initialize to exit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_client import RICH, SERVER, Client, RequestError, frame

Start = Callable[..., Client]


def test_before_initialize_requests_fail_and_notifications_are_dropped(start: Start, tmp_path: Path) -> None:
    client = start()
    with pytest.raises(RequestError) as error:
        client.request("textDocument/hover", {})
    assert error.value.code == -32002
    client.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": ""}})
    client.initialize([tmp_path])
    with pytest.raises(RequestError) as error:
        client.initialize([tmp_path])
    assert error.value.code == -32600


def test_shutdown_then_exit_is_0_and_requests_between_are_refused(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize([tmp_path])
    assert client.request("shutdown") is None
    with pytest.raises(RequestError) as error:
        client.request("hotlens/profileState")
    assert error.value.code == -32600
    client.notify("exit")
    assert client.exit_code() == 0


def test_shutdown_and_exit_back_to_back_are_both_honoured(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize([tmp_path])
    id = client.send("shutdown")
    client.notify("exit")
    assert client.exit_code() == 0
    assert client.result(id) is None


@pytest.mark.parametrize("initialized", [False, True])
def test_exit_without_shutdown_is_1(start: Start, tmp_path: Path, initialized: bool) -> None:
    client = start()
    if initialized:
        client.initialize([tmp_path])
    client.notify("exit")
    assert client.exit_code(1.0) == 1


@pytest.mark.parametrize("initialized", [False, True])
def test_the_end_of_input_ends_the_server(start: Start, tmp_path: Path, initialized: bool) -> None:
    client = start()
    if initialized:
        client.initialize([tmp_path])
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.exit_code(1.0) == 1


def test_the_server_ends_with_the_process_that_started_the_client(start: Start, tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    client = start()
    client.initialize([tmp_path], process_id=parent.pid)
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    assert client.exit_code(10.0) == 1


def test_an_unknown_client_process_tells_nothing(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize([tmp_path], process_id=4194303)
    time.sleep(2.5)
    assert client.request("hotlens/profileState")


def test_a_client_that_does_not_read_does_not_hold_the_server(tmp_path: Path) -> None:
    process = subprocess.Popen([SERVER, "lsp"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(frame(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}'))
    for id in range(3000):  # far more answers than a pipe holds
        process.stdin.write(frame(b'{"jsonrpc":"2.0","id":%d,"method":"hotlens/profileState"}' % id))
    process.stdin.write(frame(b'{"jsonrpc":"2.0","method":"exit"}'))
    process.stdin.close()
    assert process.wait(3.0) == 1
    process.stdout.close()


def test_a_client_that_closes_its_end_ends_the_server(tmp_path: Path) -> None:
    process = subprocess.Popen([SERVER, "lsp"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None and process.stdout is not None
    process.stdout.close()
    process.stdin.write(frame(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}'))
    process.stdin.flush()
    assert process.wait(2.0) == 1
    process.stdin.close()


@pytest.mark.parametrize("arguments", [(), ("--stdio",), ("--stdio", "--clientProcessId=1"), ("--unknown-flag", "value")])
def test_flags_that_editors_add_are_accepted(start: Start, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    client = start(arguments=arguments)
    assert client.initialize([tmp_path])


def test_nothing_is_sent_before_initialized_but_the_answer(start: Start, tmp_path: Path) -> None:
    client = start()
    client.request("initialize", {"processId": None, "capabilities": RICH, "workspaceFolders": [{"uri": tmp_path.as_uri(), "name": "w"}]})
    time.sleep(0.3)
    assert client.seen == []
    client.notify("initialized", {})
    registered = client.next_message("client/registerCapability")["registrations"]
    assert {one["method"] for one in registered} == {"workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles"}
    client.next_message("workspace/configuration")


def test_a_client_without_capabilities_is_asked_for_nothing(start: Start, example: Path) -> None:
    client = start()
    result = client.initialize([example], capabilities={})
    assert result["capabilities"]["positionEncoding"] == "utf-16"
    assert result["capabilities"]["codeActionProvider"] is True
    uri = client.open(example / "model.py")
    hints = client.hints(uri)  # cannot be told to ask again, so the first answer is the full one
    assert hints
    hover = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": hints[0]["position"]})
    if hover is not None:
        assert hover["contents"]["kind"] == "plaintext"
    action = client.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
            "context": {"diagnostics": []},
        },
    )
    assert action[0]["command"] == "hotlens.server.profile"  # a bare Command
    assert client.seen == []


def test_static_offers(start: Start, tmp_path: Path) -> None:
    offers = start().initialize([tmp_path])["capabilities"]
    assert offers["textDocumentSync"] == {"openClose": True, "change": 2, "save": {"includeText": False}}
    assert offers["inlayHintProvider"] == {"resolveProvider": False}
    assert offers["hoverProvider"] is True
    assert offers["codeActionProvider"]["codeActionKinds"] == [
        "hotlens.profile",
        "hotlens.show",
        "hotlens.whatIf",
        "quickfix",
        "refactor.rewrite",
    ]
    assert offers["experimental"]["hotlens"]["protocolVersion"] == 1
    assert all(command.startswith("hotlens.server.") for command in offers["executeCommandProvider"]["commands"])


def test_a_client_that_draws_hints_itself_is_not_offered_inlay_hints(start: Start, example: Path) -> None:
    client = start()
    own = {**RICH, "experimental": {"hotlens": {"protocolVersion": 1, "clientRendersHints": True}}}
    assert "inlayHintProvider" not in client.initialize([example], capabilities=own)["capabilities"]
    uri = client.open(example / "model.py")
    state = client.wait(lambda: [s for s in client.messages("hotlens/profileChanged") if "profile" in s])[0]
    assert set(state) == {"profile", "loading", "running"}
    assert set(state["profile"]) == {"id", "source", "created", "torch", "folder", "stepNs", "step"}
    client.wait(lambda: client.messages("workspace/inlayHint/refresh"))
    answer = client.request("hotlens/hints", {"textDocument": {"uri": uri}})
    assert answer["version"] == 1
    assert answer["hints"] and {"position", "label", "tooltip"} <= set(answer["hints"][0])


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="POSIX")
def test_what_others_print_stays_off_the_wire(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize([tmp_path])
    assert os.readlink(f"/proc/{client.process.pid}/fd/1") == os.readlink(f"/proc/{client.process.pid}/fd/2")
    assert os.readlink(f"/proc/{client.process.pid}/fd/0") == "/dev/null"


def test_one_client_over_a_loopback_socket(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([SERVER, "lsp", "--socket", str(port)], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 5
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                assert time.monotonic() < end
                time.sleep(0.02)
        with connection:
            connection.sendall(frame(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}'))
            assert b"Content-Length: " in connection.recv(65536)
        assert process.wait(2.0) == 1  # the client hung up without a shutdown
    finally:
        process.kill()
        process.wait()
