"""`hotlens report` on what is no trace, or a broken one: exit code 3 and one sentence, or a report with a warning."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

HOTLENS = os.environ.get("HOTLENS_BIN", "build/release/bin/hotlens")
UNUSABLE = 3


def report(path: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([HOTLENS, "report", str(path), *options], capture_output=True, timeout=60, check=False)


def event(name: str, start: float, length: float = 1, thread: object = 1, **more: object) -> dict[str, object]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": thread, "ts": start, "dur": length, **more}


def trace(*events: dict[str, object]) -> bytes:
    return json.dumps({"traceEvents": events}).encode()


NOT_TRACES: dict[str, bytes] = {
    "empty": b"",
    "space": b" \n\t\n",
    "text": b"loss 0.31 after 100 steps\n",
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "json of another kind": b'{"model": {"layers": [1, 2, 3]}}',
    "list of numbers": b"[1, 2, 3]",
    "no events": b'{"traceEvents": []}',
    "events that are no list": b'{"traceEvents": {"ph": "X"}}',
    "cut in the first event": b'{"traceEvents": [{"ph": "X", "name": "aten::ad',
    "gzip of nothing": gzip.compress(b""),
    "gzip that is none": b"\x1f\x8b\x08" + b"rubbish" * 9,
    "deep nesting": b'{"a":' * 100_000 + b"1",
    "a trace of Chrome itself": json.dumps(
        {"traceEvents": [{"ph": "X", "cat": "blink,devtools.timeline", "name": "Layout", "pid": 9, "tid": 1, "ts": 1, "dur": 2}]}
    ).encode(),
    "an export of nsys": b'{"Type": 80, "CudaEvent": {"startNs": "1", "endNs": "2"}}\n{"Type": 80}\n',
    "a trace of TensorFlow": json.dumps(
        {"displayTimeUnit": "ns", "traceEvents": [{"ph": "X", "pid": 3, "tid": 1, "ts": 1, "dur": 2, "name": "MatMul:MatMul", "args": {}}]}
    ).encode(),
}


@pytest.mark.parametrize("kind", NOT_TRACES)
def test_what_is_no_trace_is_one_sentence_with_the_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_bytes(NOT_TRACES[kind])
    result = report(path)
    assert result.returncode == UNUSABLE, result
    message = result.stderr.decode()
    assert str(path) in message
    assert message.count("\n") == 1
    assert result.stdout == b""


def test_a_folder_and_what_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        result = report(path)
        assert result.returncode == UNUSABLE, result
        assert str(path) in result.stderr.decode()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.write_bytes(trace(event("aten::add", 1)))
    path.chmod(0)
    result = report(path)
    assert result.returncode == UNUSABLE
    assert "Permission" in result.stderr.decode()


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = trace(*(event("aten::add", start) for start in range(20_000)))
    writer = threading.Thread(target=path.write_bytes, args=(text,))
    writer.start()
    result = report(path, "--format", "json")
    writer.join()
    assert result.returncode == 0, result
    assert json.loads(result.stdout)["steps"]


def long_name() -> bytes:
    return trace(event("n" * 10_000_000, 1), event("aten::add", 3))


def many_threads() -> bytes:
    rows = (f'{{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":{tid},"ts":{tid % 977},"dur":1}}' for tid in range(1_000_000))
    return ('{"traceEvents":[' + ",".join(rows) + "]}").encode()


def deep_arguments() -> bytes:
    deep = "[" * 200_000 + "]" * 200_000
    whole = trace(event("aten::add", 1), event("deep", 3, args={"x": 0}), event("aten::mul", 5))
    return whole.replace(b'{"x": 0}', b'{"x": ' + deep.encode() + b"}")


ODD_TRACES: dict[str, Callable[[], bytes]] = {
    "negative and enormous numbers": lambda: trace(
        event("a", -(10**12), 10**12), event("b", 10**18, 1), event("c", 5, -7), event("d", 1, 2, tid=-(2**63), correlation=2**64)
    ),
    "overlaps without nesting": lambda: trace(*(event(f"op{i}", i * 3, 10) for i in range(50))),
    "NaN": lambda: trace(event("aten::add", 1)).replace(b'"pid": 1', b'"pid": NaN, "x": Infinity'),
    "duplicate ids": lambda: trace(
        *(event("k", i, 1, cat="kernel", args={"correlation": 7}) for i in range(9)),
        *(event("cudaLaunchKernel", i, 1, cat="cuda_runtime", args={"correlation": 7}) for i in range(9)),
    ),
    "a name of 10 MB": long_name,
    "a million threads": many_threads,
    "deep nesting in arguments": deep_arguments,
}


@pytest.mark.parametrize("kind", ODD_TRACES)
def test_odd_traces_are_reported_and_add_up(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(ODD_TRACES[kind]())
    result = report(path, "--format", "json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["steps"]


def test_text_of_a_trace_cannot_steer_the_terminal(tmp_path: Path) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202e\x9b31m"
    path = tmp_path / "nasty.json"
    module = event(f"nn.Module: {nasty}_0", 0, 90, cat="python_function")
    path.write_bytes(trace(module, event("aten::add", 1, 50), event(nasty, 60, 9)))
    escapes = (b"\x1b]", b"\x1b[2J", b"\x07")
    for options, forbidden in (([], (*escapes, b"\xc2\x9b")), (["--format", "json"], escapes), (["--events"], escapes)):
        result = report(path, *options)
        assert result.returncode == 0, result.stderr
        for sequence in forbidden:
            assert sequence not in result.stdout + result.stderr, options


def test_a_trace_that_breaks_off_is_reported_with_a_warning(tmp_path: Path) -> None:
    whole = trace(*(event("aten::add", start) for start in range(1000)))
    for name, data in (("cut.json", whole[: len(whole) // 2]), ("cut.json.gz", gzip.compress(whole, mtime=0)[:-40])):
        path = tmp_path / name
        path.write_bytes(data)
        result = report(path, "--format", "json")
        assert result.returncode == 0, result.stderr
        assert "breaks off" in result.stderr.decode()
        assert any(warning["code"] == "truncated-trace" for warning in json.loads(result.stdout)["warnings"])
