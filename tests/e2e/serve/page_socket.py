"""A page's side of `hotlens serve`, over plain sockets: what a browser does, and what a browser would never do."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import struct
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

HOTLENS = os.environ.get("HOTLENS_BIN", "build/release/bin/hotlens")
Json = Any

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class SameAddress(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def exchanged(url: str) -> str:
    """The address behind one that is for one use: with the token, and the same state."""
    try:
        urllib.request.build_opener(SameAddress).open(url, timeout=10)
    except urllib.error.HTTPError as answer:
        assert answer.code == 303, answer
        state = urllib.parse.urlsplit(url).fragment
        return urllib.parse.urljoin(url, answer.headers["Location"]) + (f"#{state}" if state else "")
    raise AssertionError(f"{url} is no address for one use")


class Address:
    """Where a page is served, as its address tells."""

    def __init__(self, url: str) -> None:
        if "once" in urllib.parse.parse_qs(urllib.parse.urlsplit(url).query):
            url = exchanged(url)
        parts = urllib.parse.urlsplit(url)
        self.url, self.host, self.port = url, parts.netloc, parts.port or 0
        self.token = urllib.parse.parse_qs(parts.query).get("token", [""])[0]
        self.state = urllib.parse.parse_qs(parts.fragment)


class Server(Address):
    """`hotlens serve` in a folder, until the block ends."""

    def __init__(self, folder: Path, *words: str) -> None:
        command = [str(Path(HOTLENS).resolve()), "serve", *words, "--no-open"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        super().__init__(self.process.stdout.readline().strip())

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.process.terminate()
        self.process.communicate(timeout=10)

    def ask(self, request: str) -> tuple[int, dict[str, str], bytes]:
        """The answer to one raw request: status, headers in lower case, body. Status 0: the server closed without a word."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as peer:
            peer.sendall(request.encode("latin-1"))
            received = b""
            try:
                while piece := peer.recv(1 << 16):
                    received += piece
            except ConnectionResetError:
                pass
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1]) if lines[0] else 0
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        return status, headers, body

    def get(self, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """GET with a Host of ours; other headers by name, `_` for `-`."""
        lines = {"Host": self.host, "Connection": "close", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.ask(f"GET {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n")


class Page:
    """A WebSocket. `status` is the answer to the upgrade: 101 when it was accepted."""

    def __init__(self, server: Address, token: str | None = None, **headers: str) -> None:
        self.peer = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        self.buffer = b""
        self.last_id = 0
        lines = {
            "Host": server.host,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Sec-WebSocket-Version": "13",
            **headers,
        }
        target = f"/ws?token={server.token if token is None else token}"
        self.peer.sendall((f"GET {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n").encode())
        while b"\r\n\r\n" not in self.buffer and (piece := self.peer.recv(1 << 16)):
            self.buffer += piece
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.status = int(head.split(b" ")[1]) if head else 0
        self.notified: list[Json] = []

    def close(self) -> None:
        self.peer.close()

    def send_frame(self, kind: int, payload: bytes, final: bool = True) -> None:
        size, mask = len(payload), os.urandom(4)
        first = bytes([(0x80 if final else 0) | kind])
        if size < 126:
            length = bytes([0x80 | size])
        elif size < 1 << 16:
            length = bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            length = bytes([0x80 | 127]) + struct.pack(">Q", size)
        key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        self.peer.sendall(first + length + mask + (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big"))

    def read_exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            piece = self.peer.recv(1 << 20)
            if not piece:
                raise EOFError("the server closed the connection")
            self.buffer += piece
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def read_message(self) -> bytes:
        whole = b""
        while True:
            first, length = self.read_exactly(2)
            if length == 126:
                (length,) = struct.unpack(">H", self.read_exactly(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.read_exactly(8))
            payload = self.read_exactly(length)
            if first & 15 == CLOSE:
                raise EOFError("the server closed the socket")
            if first & 15 == PING:
                self.send_frame(PONG, payload)
            elif first & 15 != PONG:
                whole += payload
                if first & 0x80:
                    return whole

    def post(self, method: str, **params: Json) -> int:
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": f"hotlens/timeline/{method}", "params": params}
        self.send_frame(TEXT, json.dumps(message).encode())
        return self.last_id

    def answer(self, wanted: int) -> tuple[Json, int]:
        """The whole response to one request and its size; notifications on the way are kept in `notified`."""
        while True:
            text = self.read_message()
            message = json.loads(text)
            if message.get("id") == wanted:
                return message, len(text)
            if "id" not in message:
                self.notified.append(message)

    def ask(self, method: str, **params: Json) -> Json:
        message, _ = self.answer(self.post(method, **params))
        assert "result" in message, message
        return message["result"]

    def refused(self, method: str, **params: Json) -> Json:
        message, _ = self.answer(self.post(method, **params))
        assert "error" in message, message
        return message["error"]


@contextlib.contextmanager
def page_of(trace: Path) -> Iterator[Page]:
    """A page of a server of its own."""
    with Server(trace.parent, str(trace)) as server:
        page = Page(server)
        yield page
        page.close()
