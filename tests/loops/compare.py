"""What Hotlens says of every operator of a recording against the truth that was taken out of it."""

from __future__ import annotations

import collections
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

from record import PREFIX, Recording

HOTLENS = os.environ.get("HOTLENS_BIN", "hotlens")


def reported(recording: Recording) -> dict[int, dict[str, Any]]:
    """What `report --events` says, by position in traceEvents."""
    command = [HOTLENS, "report", str(recording.path), "--events"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line["event"]: line for line in map(json.loads, output.splitlines())}


def report(recording: Recording) -> dict[str, Any]:
    """The whole report."""
    command = [HOTLENS, "report", str(recording.path), "--format", "json"]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return answer


class Truth:
    """The innermost truth range of one kind around an event, on its thread."""

    def __init__(self, recording: Recording, kind: str) -> None:
        self._by_thread: dict[Any, list[tuple[float, float, str]]] = collections.defaultdict(list)
        prefix = f"{PREFIX}{kind}."
        for event in recording.truth:
            if event["name"].startswith(prefix):
                span = (event["ts"], event["ts"] + event["dur"], event["name"][len(prefix) :])
                self._by_thread[event["tid"]].append(span)

    def around(self, event: dict[str, Any], any_thread: bool = False) -> str | None:
        """The name of the innermost range; with `any_thread` of whatever thread."""
        start, end = event["ts"], event["ts"] + event["dur"]
        spans = (span for tid, spans in self._by_thread.items() if any_thread or tid == event["tid"] for span in spans)
        inside = [span for span in spans if span[0] <= start and end <= span[1]]
        return min(inside, key=lambda span: span[1] - span[0])[2] if inside else None


def operators(recording: Recording) -> Iterator[tuple[int, dict[str, Any]]]:
    """Position and event of every operator."""
    for index, event in enumerate(recording.events):
        if event.get("ph") == "X" and event.get("cat") == "cpu_op":
            yield index, event


def wrong_stages(recording: Recording, said: dict[int, dict[str, Any]]) -> tuple[list[str], int]:
    """Operators inside a truth stage that are in another, in words, and how many were looked at."""
    truth = Truth(recording, "stage")
    wrong, total = [], 0
    for index, event in operators(recording):
        want = truth.around(event)
        if want is None or index not in said:
            continue
        total += 1
        if said[index]["stage"] not in want.split("|"):
            wrong.append(f"{event['name']} at {event['ts']}: {said[index]['stage']}, not {want}")
    return wrong, total


def step_pairs(recording: Recording, said: dict[int, dict[str, Any]]) -> collections.Counter[tuple[str | None, int | None]]:
    """How many operators have this step in truth and that one as reported."""
    truth = Truth(recording, "step")
    pairs: collections.Counter[tuple[str | None, int | None]] = collections.Counter()
    for index, event in operators(recording):
        pairs[truth.around(event, any_thread=True), said[index]["step"] if index in said else None] += 1
    return pairs


def module_pairs(recording: Recording, said: dict[int, dict[str, Any]]) -> dict[str, collections.Counter[tuple[str, str | None]]]:
    """By reported direction: how many operators have this module in truth and that one as reported."""
    truth = Truth(recording, "module")
    pairs: dict[str, collections.Counter[tuple[str, str | None]]] = collections.defaultdict(collections.Counter)
    for index, event in operators(recording):
        want = truth.around(event)
        if want is not None and index in said:
            pairs[said[index]["direction"]][want, said[index]["module"]] += 1
    return pairs
