"""What a client that is not the official one may send: line by line, over a pipe."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import HOTLENS


def initialize(version: str = "2025-06-18", **capabilities: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def request(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def say(folder: Path, *messages: dict[str, Any] | str | bytes) -> list[dict[str, Any]]:
    """Sends them all and closes; the answers, each of which is one line of JSON."""
    lines = [m if isinstance(m, bytes) else (m if isinstance(m, str) else json.dumps(m)).encode() for m in messages]
    done = subprocess.run([HOTLENS, "mcp"], cwd=folder, input=b"\n".join(lines) + b"\n", capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def by_id(answers: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    assert len({json.dumps(answer["id"]) for answer in answers}) == len(answers)
    return {answer["id"]: answer for answer in answers}


@pytest.mark.parametrize(
    ("asked", "given"),
    [(version, version) for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")]
    + [("2026-07-28", "2025-11-25"), ("1.0", "2025-11-25")],
)
def test_versions_are_negotiated(tmp_path: Path, asked: str, given: str) -> None:
    [answer] = say(tmp_path, initialize(asked))
    assert answer["result"]["protocolVersion"] == given
    assert answer["result"]["capabilities"] == {"tools": {}, "resources": {}}


def test_every_request_is_answered_once_with_its_own_id(recorded: Path) -> None:
    calls = [request(f"c{i}", "tools/call", name="report", arguments={"limit": 1}) for i in range(20)]
    answers = by_id(say(recorded, initialize(), *calls, request(7, "ping"), request(-1, "tools/list")))
    assert set(answers) == {0, 7, -1, *(f"c{i}" for i in range(20))}
    assert answers[7]["result"] == {}
    assert all(not answers[f"c{i}"]["result"]["isError"] for i in range(20))


def test_before_and_after_initialize(tmp_path: Path) -> None:
    answers = by_id(
        say(
            tmp_path,
            request(1, "tools/list"),
            request(2, "ping"),
            request(3, "server/discover"),
            request(4, "initialize"),
            initialize(),
            request(5, "initialize", protocolVersion="2025-06-18"),
            request(6, "logging/setLevel", level="info"),
        )
    )
    codes = {number: answer.get("error", {}).get("code") for number, answer in answers.items()}
    assert codes == {1: -32600, 2: None, 3: -32601, 4: -32602, 0: None, 5: -32600, 6: -32601}


def test_a_cancelled_call_is_not_answered(recorded: Path) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    answers = by_id(say(recorded, initialize(), request(1, "tools/call", name="report"), cancel, request(2, "ping")))
    assert set(answers) == {0, 2}


def test_a_client_without_elicitation_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("open('ran', 'w')\n")
    call = request(1, "tools/call", name="profile", arguments={"script": "train.py"})
    for first in (initialize(), initialize("2024-11-05", elicitation={}), initialize("2025-11-25", elicitation={"url": {}})):
        answers = by_id(say(tmp_path, first, call))
        assert answers[1]["result"]["isError"] and "--allow-run" in answers[1]["result"]["content"][0]["text"]
    # One that can be asked, and goes away instead of answering.
    asked = say(tmp_path, initialize("2025-11-25", elicitation={"form": {}}), call)
    assert all(message.get("id") != 1 or "method" in message for message in asked)
    assert not (tmp_path / "ran").exists()


def test_bad_input_costs_one_answer(recorded: Path) -> None:
    bad: list[dict[str, Any] | str | bytes] = [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        b"\xff\xfe\x00",
        '{"jsonrpc":"1.0","id":1,"method":"ping"}',
        '{"jsonrpc":"2.0","id":{},"method":"ping"}',
        '{"jsonrpc":"2.0","id":99,"result":{}}',
        "[" * 100_000,
        request(2, "tools/call"),
        request(3, "tools/call", name="report", arguments=[]),
        request(4, "tools/call", name="report", arguments={"profile": "\ud800"}),
        request(5, "resources/read", uri=5),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"a": []}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        "x" * 1_000_000,
    ]
    answers = say(recorded, initialize(), *bad, request("last", "tools/call", name="hot_lines"))
    assert next(answer for answer in answers if answer["id"] == "last")["result"]["structuredContent"]["lines"]
    assert all(("result" in answer) != ("error" in answer) for answer in answers)


def test_random_bytes_never_kill_it(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    good = json.dumps(request(1, "tools/call", name="check", arguments={"files": ["a.py"]})).encode()
    broken = []
    for _ in range(300):
        text = bytearray(good)
        for _ in range(dice.randrange(1, 6)):
            text[dice.randrange(len(text))] = dice.choice(b'{}[]",:0aZ\\\x00\xff ')
        broken.append(bytes(text).replace(b"\n", b" "))
    answers = say(tmp_path, initialize(), *broken, request("last", "ping"))
    assert answers[-1]["id"] == "last" or any(answer["id"] == "last" for answer in answers)
