"""`hotlens serve` among strangers: it ends when it is told to, lets its own page in, and starts a browser that has nothing of it."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from page_socket import HOTLENS, Page, Server
from small_bundle import small_bundle
from small_trace import small_trace


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    small_trace(tmp_path / "small.json")
    with Server(tmp_path, "small.json") as running:
        yield running


@pytest.fixture
def strangers() -> Iterator[Callable[[int, int, bytes], list[socket.socket]]]:
    held: list[socket.socket] = []

    def connect(port: int, count: int, said: bytes) -> list[socket.socket]:
        new = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        for peer in new:
            peer.sendall(said)
        held.extend(new)
        return new

    yield connect
    for peer in held:
        peer.close()


def ends(server: Server) -> bool:
    server.process.send_signal(signal.SIGINT)
    try:
        return server.process.wait(timeout=5) == 0
    except subprocess.TimeoutExpired:
        return False


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_it_ends_while_connections_come(served: Server) -> None:
    code = f"import socket\nwhile True:\n try: socket.create_connection(('127.0.0.1', {served.port})).close()\n except OSError: pass"
    flood = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    try:
        time.sleep(1)
        assert ends(served)
    finally:
        for process in flood:
            process.kill()
            process.wait()


def test_it_ends_while_pages_are_half_open(served: Server, strangers: Callable[[int, int, bytes], list[socket.socket]]) -> None:
    upgrade = f"GET /ws?token={served.token} HTTP/1.1\r\nHost: {served.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    upgrade += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    strangers(served.port, 20, upgrade.encode())
    strangers(served.port, 20, b"")
    assert Page(served).status == 101
    assert ends(served)


@pytest.mark.parametrize(("count", "said"), [(64, b""), (300, b"GET / HTTP/1.1\r\nHost:")])
def test_open_lines_keep_nobody_out(
    served: Server, strangers: Callable[[int, int, bytes], list[socket.socket]], count: int, said: bytes
) -> None:
    strangers(served.port, count, said)
    assert served.get(f"/?token={served.token}")[0] == 200
    page = Page(served)
    assert page.status == 101
    strangers(served.port, count, said)
    assert page.ask("profiles")["current"] == "small.json"  # who has the token is not put out for them


def test_without_descriptors_it_waits_and_goes_on(tmp_path: Path, strangers: Callable[[int, int, bytes], list[socket.socket]]) -> None:
    small_trace(tmp_path / "small.json")
    with Server(tmp_path, "small.json") as served:
        assert Page(served).ask("profiles")["current"] == "small.json"
        used = len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))
        resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE, (used + 4, used + 4))
        held = strangers(served.port, 30, b"")
        time.sleep(0.3)
        before = cpu_seconds(served.process.pid)
        time.sleep(1.5)
        assert cpu_seconds(served.process.pid) - before < 0.5
        for peer in held:
            peer.close()
        deadline = time.monotonic() + 10
        while served.get(f"/?token={served.token}")[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert ends(served)


def test_a_page_that_is_loaded_again_has_nothing_of_a_profile_without_the_token(served: Server) -> None:
    assert Page(served).ask("overview")  # the first answers are ready
    with_token = served.get(f"/?token={served.token}")[2]
    status, _, body = served.get("/")
    assert status == 200
    assert b"small.json" in with_token
    assert b"small.json" not in body


def at(address: str) -> Server:
    """The server of an address, which somebody else has started."""
    server = object.__new__(Server)
    server.url, server.host = address, urllib.parse.urlsplit(address).netloc
    server.port = int(server.host.split(":")[1])
    return server


def status_for(user: int, server: Server, target: str) -> int:
    """What another user of this machine is answered."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.setuid(user)
        os.write(write, str(server.get(target)[0]).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as answer:
        return int(answer.read())


OPENER = """#!/bin/sh
[ -n "$OPENER_WAITS" ] && sleep 5
{ printf '%s\\n' "$1"; grep SigBlk /proc/self/status; ls -l /proc/$$/fd; } > "$OPENER_SAYS.new"
mv "$OPENER_SAYS.new" "$OPENER_SAYS"
"""


def test_the_browser_gets_an_address_for_one_use_and_nothing_else(tmp_path: Path) -> None:
    small_bundle(tmp_path)
    tools, said = tmp_path / "tools", tmp_path / "said"
    tools.mkdir()
    (tools / "xdg-open").write_text(OPENER)
    (tools / "xdg-open").chmod(0o755)
    environment = {**os.environ, "DISPLAY": ":9", "PATH": f"{tools}:{os.environ['PATH']}", "OPENER_SAYS": str(said)}
    command = [str(Path(HOTLENS).resolve()), "serve"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        printed = process.stdout.readline().strip()
        token = urllib.parse.parse_qs(urllib.parse.urlsplit(printed).query)["token"][0]
        deadline = time.monotonic() + 10
        while not said.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address, blocked, *descriptors = said.read_text().splitlines()
        assert token not in address
        assert int(blocked.split()[1], 16) == 0
        assert "socket:" not in "\n".join(descriptors)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children == []  # neither a zombie nor anybody to wait for

        server = at(address)
        target = address.partition(server.host)[2]
        status, headers, body = server.get(target)
        assert (status, body) == (303, b"")
        assert headers["location"] == f"/?token={token}"
        assert server.get(target)[0] == 403
        assert server.get("/?once=" + "0" * 64)[0] == 403
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_the_code_is_worth_nothing_to_another_user(tmp_path: Path) -> None:
    """Somebody who reads the command line is faster than the browser."""
    small_trace(tmp_path / "small.json")
    tools, said = tmp_path / "tools", tmp_path / "said"
    tools.mkdir()
    (tools / "xdg-open").write_text(OPENER)
    (tools / "xdg-open").chmod(0o755)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    environment = {**os.environ, "DISPLAY": ":9", "PATH": f"{tools}:{os.environ['PATH']}", "OPENER_SAYS": str(said), "HOME": str(tmp_path)}
    (tmp_path / "said").parent.chmod(0o777)
    command = [str(Path(HOTLENS).resolve()), "serve", "small.json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, user=65534)
    try:
        deadline = time.monotonic() + 10
        while not said.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address = said.read_text().splitlines()[0]
        server = at(address)
        target = address.partition(server.host)[2]
        assert status_for(12345, server, target) == 403
        assert status_for(65534, server, target) == 303
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=5)
