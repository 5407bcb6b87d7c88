"""Runs the recorder in processes that have imported torch already: a run then costs what it does, not three seconds of imports.

One Python imports torch and forks for every run; the child goes on as `python __main__.py …` would. What such a run cannot
show (torch imported by the script, environment variables that its import reads, signals) is tested in processes of their own.

WarmPython is asked directly; interpreter() is a program to give to `hotlens run --python`, for profiles that a test only reads.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

TIMEOUT = 300.0
_LOOK_EVERY = 5.0  # seconds
_STREAMS = 3  # standard input, output and error; a further descriptor keeps the number that its user knows

# Without torch, and started in a few milliseconds: hands over what it was started with. The run is no child of who started it: what sends
# signals to a run, or looks at its processes, needs a Python of its own.
_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
others = [fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2 and fd != server.fileno()]
passed = [fd for fd in others if os.path.exists(f"/proc/self/fd/{{fd}}")]
request = {{"argv": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ), "passed": passed}}
text = json.dumps(request).encode()
socket.send_fds(server, [len(text).to_bytes(4, "big")], [0, 1, 2, *passed])
server.sendall(text)
code = int.from_bytes(server.recv(4, socket.MSG_WAITALL), "big", signed=True)
sys.exit(code if code >= 0 else 128 - code)
"""


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


@functools.cache
def interpreter() -> str:
    """The path of a program that runs a Python script, and its arguments, as `python` does. It serves until this process ends."""
    place = Path(tempfile.mkdtemp(prefix="hotlens-warm-"))
    address, program = place / "socket", place / "python"
    program.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        server = subprocess.Popen([sys.executable, __file__, str(listener.fileno()), "listen"], pass_fds=(listener.fileno(),))

    def end() -> None:
        server.terminate()
        server.wait()
        shutil.rmtree(place, ignore_errors=True)

    atexit.register(end)
    return str(program)


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


def _listen(listener: socket.socket) -> dict[str, list[str]]:
    """Runs of several connections go on beside each other. Returns in a run's process only; ends with the process that started it."""
    parent = os.getppid()
    listener.settimeout(_LOOK_EVERY)
    while os.getppid() == parent:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        connection.setblocking(True)
        if os.fork() == 0:
            listener.close()
            return _serve(connection)
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
    os._exit(0)


if __name__ == "__main__":
    channel = socket.socket(fileno=int(sys.argv[1]))
    for module in ("torch", "torch._dynamo"):  # optimizers import the second when they are made
        importlib.import_module(module)
    gc.freeze()  # no child's collection touches what all share

    argv = (_listen if sys.argv[2:] == ["listen"] else _serve)(channel)["argv"]
    sys.argv = argv
    sys.path[0] = str(Path(argv[0]).parent)
    runpy.run_path(argv[0], run_name="__main__")
