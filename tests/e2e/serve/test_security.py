"""Who gets in: tokens, origins, paths, sizes."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest
from page_socket import HOTLENS, TEXT, Page, Server
from small_trace import small_trace


def test_the_address_has_a_long_random_token(server: Server) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    assert len(server.token) == 64
    assert len(set(server.token)) > 8


def test_the_page_comes_with_the_token_only(server: Server) -> None:
    status, headers, _ = server.get(f"/?token={server.token}")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    for target in ("/?token=", "/?token=" + "0" * 64, f"/?token={server.token}0", f"/?token={server.token[:-1]}"):
        assert server.get(target)[0] == 403, target


def test_sockets_need_the_token_and_our_origin(server: Server) -> None:
    assert Page(server, token="").status == 403
    assert Page(server, token="f" * 64).status == 403
    assert Page(server, Origin="http://evil.example").status == 403
    assert Page(server, Origin=f"https://{server.host}").status == 403
    assert Page(server, Origin="null").status == 403
    assert Page(server, Host="evil.example").status == 403
    assert Page(server, Host=f"evil.example:{server.port}").status == 403
    assert Page(server, Origin=f"http://{server.host}").status == 101
    assert Page(server).status == 101  # no browser: the token is all there is


def test_foreign_names_for_this_machine_are_refused(server: Server) -> None:
    assert server.get(f"/?token={server.token}", Host="rebound.example")[0] == 403
    assert server.get(f"/?token={server.token}", Host=f"localhost:{server.port}")[0] == 200


OUTSIDE = ["/../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/", "//etc/passwd", "/.", "/assets/", "/assets", "/index.html"]
OUTSIDE += ["/.git/config", "/\\..\\x", "http://127.0.0.1/", "*", "/a" * 300]


@pytest.mark.parametrize("target", OUTSIDE)
def test_nothing_but_the_pages_files(server: Server, target: str) -> None:
    status, _, body = server.get(target)
    assert status in (400, 403, 404)
    assert b"root:" not in body
    assert len(body) < 200


def test_other_methods_are_refused(server: Server) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, _, _ = server.ask(f"{method} /?token={server.token} HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n")
        assert status == 400


def test_only_loopback_listens(server: Server) -> None:
    table = Path("/proc/net/tcp").read_text().splitlines()[1:]
    bound = [row.split()[1] for row in table if row.split()[1].endswith(f":{server.port:04X}") and row.split()[3] == "0A"]
    assert bound == [f"0100007F:{server.port:04X}"]


def test_a_message_that_is_too_long_ends_the_connection(server: Server) -> None:
    page = Page(server)
    with pytest.raises((EOFError, ConnectionError)):
        page.send_frame(TEXT, b"[" + b"0," * 700_000 + b"0]")
        page.read_message()
    survivor = Page(server)
    assert survivor.ask("profiles")["current"] == "small.json"


def test_nonsense_is_answered_or_ends_the_connection(server: Server) -> None:
    page = Page(server)
    for text in (b"{", b"[]", b"null", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":{},"method":"x"}'):
        page.send_frame(TEXT, text)
        assert "error" in json.loads(page.read_message())
    page.send_frame(TEXT, b'{"jsonrpc":"2.0","id":9,"method":"shutdown"}')
    assert json.loads(page.read_message())["error"]["code"] == -32601
    page.peer.sendall(b"\xff" * 20)
    with pytest.raises((EOFError, ConnectionError)):
        page.read_message()


def test_a_flood_of_requests_is_answered_in_the_end(server: Server) -> None:
    page = Page(server)
    asked = [page.post("level", path=[], width=50) for _ in range(200)]
    answered = set()
    while len(answered) < len(asked):
        answered.add(json.loads(page.read_message())["id"])
    assert answered == set(asked)


def test_half_a_request_does_not_hold_up_others(server: Server) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
    for peer in idle:
        peer.sendall(b"GET / HTTP/1.1\r\nHost:")
    assert server.get(f"/?token={server.token}")[0] == 200
    for peer in idle:
        peer.close()


def test_a_port_that_is_taken_is_said(server: Server, tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "t.json")
    command = [str(Path(HOTLENS).resolve()), "serve", str(trace), "--no-open", "--port", str(server.port)]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert refused.returncode != 0
    assert "choose another port" in refused.stderr
