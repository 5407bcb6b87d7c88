"""A client for tests: one server process, requests with a time limit, everything the server says recorded.

It answers the server's own requests as an editor does (configuration, registration, progress, refresh) unless a test says otherwise.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SERVER = os.environ["HOTLENS_BIN"]
LIMIT = 20.0  # seconds; a hang is a failure, not a wait
LOOK_EVERY = 0.1

RICH: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "inlayHint": {"resolveSupport": {"properties": ["label.tooltip"]}},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}, "disabledSupport": True},
    },
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "inlayHint": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
}


class RequestError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def uri_of(path: Path) -> str:
    return path.as_uri()


def text_of(label: Any) -> str:
    """Of a hint, whose label may be in parts."""
    return label if isinstance(label, str) else "".join(part["value"] for part in label)


class Client:
    def __init__(
        self, *, cwd: Path, env: dict[str, str] | None = None, arguments: tuple[str, ...] = ("--stdio",), through: tuple[str, ...] = ()
    ) -> None:
        """`through`: a program that starts the server, with its arguments."""
        self.process = subprocess.Popen(
            [*through, SERVER, "lsp", *arguments],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.settings: Any = None  # what `workspace/configuration` answers
        self.answer: dict[str, Callable[[Any], dict[str, Any]]] = {}  # method -> {"result": …} or {"error": …}
        self.seen: list[dict[str, Any]] = []  # everything from the server that is not a response
        self.responses: dict[Any, list[dict[str, Any]]] = {}
        self.changed = threading.Condition()
        self.closed = False
        self.next_id = 1
        self.errors: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    # Bytes.
    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            header = stream.readline()
            if not header:
                break
            assert header.startswith(b"Content-Length: "), header  # nothing else may ever stand on stdout
            length = int(header[16:])
            assert stream.readline() == b"\r\n"
            self._on_message(json.loads(stream.read(length)))
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.put(line)

    def _on_message(self, message: dict[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0"
        if "method" in message and "id" in message:
            answer = self.answer.get(message["method"], self._default_answer)(message.get("params"))
            self.write({"jsonrpc": "2.0", "id": message["id"], **answer})
        with self.changed:
            if "method" in message:
                self.seen.append(message)
            else:
                assert ("result" in message) != ("error" in message), message
                self.responses.setdefault(json.dumps(message["id"]), []).append(message)
            self.changed.notify_all()

    def _default_answer(self, params: Any) -> dict[str, Any]:
        if params and "items" in params:
            return {"result": [self.settings for _ in params["items"]]}
        return {"result": None}

    def write(self, message: Any) -> None:
        self.write_bytes(frame(json.dumps(message).encode()))

    def write_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # the test closed it, or the server is gone
            self.process.stdin.write(data)
            self.process.stdin.flush()

    # Messages.
    def wait(self, what: Callable[[], Any], limit: float = LIMIT) -> Any:
        """The first true value of `what()`, looked at after every message, and now and then: it may ask about a file."""
        end = time.monotonic() + limit
        with self.changed:
            while not (found := what()):
                left = end - time.monotonic()
                assert left > 0, f"nothing after {limit} s; seen: {[m['method'] for m in self.seen]}"
                self.changed.wait(min(left, LOOK_EVERY))
            return found

    def send(self, method: str, params: Any = None) -> int:
        id = self.next_id
        self.next_id += 1
        self.write({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})})
        return id

    def result(self, id: Any, limit: float = LIMIT) -> Any:
        message = self.wait(lambda: self.responses.get(json.dumps(id)), limit)[0]
        if "error" in message:
            raise RequestError(message["error"])
        return message["result"]

    def request(self, method: str, params: Any = None, limit: float = LIMIT) -> Any:
        return self.result(self.send(method, params), limit)

    def notify(self, method: str, params: Any = None) -> None:
        self.write({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def messages(self, method: str) -> list[Any]:
        return [m.get("params") for m in list(self.seen) if m["method"] == method]

    def next_message(self, method: str, after: int = 0, limit: float = LIMIT) -> Any:
        return self.wait(lambda: self.messages(method)[after:], limit)[0]

    # Conversation.
    def initialize(self, folders: list[Path], capabilities: Any = None, options: Any = None, process_id: int | None = None) -> Any:
        result = self.request(
            "initialize",
            {
                "processId": process_id,
                "clientInfo": {"name": "test"},
                "rootUri": None,
                "workspaceFolders": [{"uri": uri_of(f), "name": f.name} for f in folders] or None,
                "initializationOptions": options,
                "capabilities": RICH if capabilities is None else capabilities,
            },
        )
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None, version: int = 1) -> str:
        uri = uri_of(path)
        text = path.read_text() if text is None else text
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": version, "text": text}})
        return uri

    def hints(self, uri: str, begin: int = 0, end: int = 100000, limit: float = LIMIT) -> Any:
        range = {"start": {"line": begin, "character": 0}, "end": {"line": end, "character": 0}}
        return self.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": range}, limit)

    def hints_when_known(self, uri: str) -> list[dict[str, Any]]:
        """Asks as an editor does: at once, then after each refresh. The first answer that is not empty."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            refreshes = len(self.messages("workspace/inlayHint/refresh"))
            if found := self.hints(uri):
                return list(found)
            self.next_message("workspace/inlayHint/refresh", after=refreshes, limit=end - time.monotonic())
        raise AssertionError("no hints")

    def offered_lenses(self, uri: str) -> list[dict[str, Any]]:
        """Those that can be clicked; what is only said has no command."""
        lenses = self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return [lens for lens in lenses if lens["command"]["command"]]

    def command(self, command: str, *arguments: Any) -> Any:
        return self.request("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    def exit_code(self, limit: float = 5.0) -> int:
        return self.process.wait(limit)

    def stop(self) -> int:
        self.request("shutdown")
        self.notify("exit")
        return self.exit_code()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
