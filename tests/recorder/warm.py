"""Runs the recorder in processes that have imported torch already: a run then costs what it does, not three seconds of imports.

One Python imports torch and forks for every run; the child goes on as `python __main__.py …` would. What such a run cannot
show (torch imported by the script, environment variables that its import reads, signals) is tested in processes of their own.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TIMEOUT = 300.0
_STREAMS = 3  # standard input, output and error; a further descriptor keeps the number that its user knows


class WarmPython:
    """Use one at a time, from one thread."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=(theirs.fileno(),), start_new_session=True
        )
        theirs.close()
        self._socket.settimeout(TIMEOUT)

    def run(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], streams: Sequence[int], passed: Sequence[int] = ()
    ) -> int:
        """Exit status of `command` (interpreter, script, arguments) as subprocess gives it. Descriptors in `passed` keep their numbers."""
        request = {"argv": list(command[1:]), "folder": str(folder), "environment": dict(environment), "passed": list(passed)}
        text = json.dumps(request).encode()
        socket.send_fds(self._socket, [len(text).to_bytes(4, "big")], [*streams, *passed])
        self._socket.sendall(text)
        return int.from_bytes(_exactly(self._socket, 4), "big", signed=True)

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait()


def _exactly(source: socket.socket, size: int) -> bytes:
    text = b""
    while len(text) < size:
        more = source.recv(size - len(text))
        if not more:
            raise EOFError
        text += more
    return text


def _serve(connection: socket.socket) -> dict[str, list[str]]:
    """Forks for every request. Returns in the child only, with the streams, the folder and the environment of its run."""
    while True:
        head, files, _, _ = socket.recv_fds(connection, 4, 8)
        if not head:
            os._exit(0)
        request = json.loads(_exactly(connection, int.from_bytes(head, "big")))
        child = os.fork()
        if child == 0:
            connection.close()
            for number, file in enumerate(files[:_STREAMS]):
                os.dup2(file, number)
            high = [os.dup(file) for file in files[_STREAMS:]]
            for file in files:
                os.close(file)
            for number, file in zip(request["passed"], high, strict=True):
                if number != file:
                    os.dup2(file, number)
                    os.close(file)
            os.chdir(request["folder"])
            os.environ.clear()
            os.environ.update(request["environment"])
            return request
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


if __name__ == "__main__":
    channel = socket.socket(fileno=int(sys.argv[1]))
    for module in ("torch", "torch._dynamo"):  # optimizers import the second when they are made
        importlib.import_module(module)
    gc.freeze()  # no child's collection touches what all share

    argv = _serve(channel)["argv"]
    sys.argv = argv
    sys.path[0] = str(Path(argv[0]).parent)
    runpy.run_path(argv[0], run_name="__main__")
