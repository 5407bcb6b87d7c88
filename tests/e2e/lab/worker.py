"""The worker as a process that is spoken to, and small programs for it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

Json = dict[str, Any]


class Worker:
    def __init__(self, program: Path, **environment: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment})

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def receive(self) -> Json:
        assert self.process.stdout is not None
        answer: Json = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, **request: Any) -> Json:
        self.send(json.dumps(request))
        return self.receive()

    def load(self, document: Json) -> None:
        answer = self.ask(do="load", program=document)
        assert "error" not in answer, answer


def tensor(shape: list[int], kind: str = "parameter", dtype: str = "float32", storage: int = 0, **facts: Any) -> Json:
    """Contiguous, alone in its storage."""
    stride, numel = [1] * len(shape), 1
    for at in reversed(range(len(shape))):
        stride[at] = numel
        numel *= shape[at]
    width = {"float32": 4, "int64": 8}[dtype]
    return {
        "kind": kind,
        "shape": shape,
        "stride": stride,
        "dtype": dtype,
        "device": "cpu",
        "storage": storage,
        "storage_bytes": numel * width,
        **facts,
    }


def op(name: str, *args: Any, out: Any = None, overload: str = "", **kwargs: Any) -> Json:
    return {"op": name, "overload": overload, "args": list(args), "kwargs": kwargs, "out": out, "grad": False}


def program(tensors: list[Json], operators: list[Json]) -> Json:
    return {"format": 1, "device": "cpu", "threads": 1, "modules": [{"path": "net.fc"}], "tensors": tensors, "operators": operators}
