"""What the allocator held during a recorded step, from the memory events of its trace."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from .program import BEGIN, END, INPUT, OWN, PREFIX, TWICE, Program

CPU, CUDA = 0, 1  # `Device Type` of a memory event
_OURS = ('"name": "[memory]"', f'"name": "{PREFIX}')
CUDA_BLOCK_BYTES = 512  # the caching allocator gives whole blocks


@dataclass(frozen=True)
class Memory:
    """Bytes of what the program lists as existing, and the most that was held during the step, beside what the program does not name."""

    start_bytes: int
    peak_bytes: int


def memory(path: str, program: Program) -> Memory:
    """Raises ValueError where the trace does not show the step."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    start = start_bytes(program)
    return Memory(start, start + highest_rise(_events(text), program.device))


def _events(text: str) -> list[dict[str, Any]]:
    """Those of the allocator and our own ranges, a small part of a trace. Torch writes each event between two indented braces: the rest is
    not parsed, nor does a name in it matter that torch did not escape. A trace that is written in another way is parsed whole."""
    try:
        ours = json.loads("[" + ",".join(text[slice(*_event_around(text, at))] for key in _OURS for at in _places(text, key)) + "]")
    except ValueError:
        ours = []
    return ours or list(json.loads(text)["traceEvents"])


def _places(text: str, key: str) -> Iterator[int]:
    at = text.find(key)
    while at >= 0:
        yield at
        at = text.find(key, at + 1)


def _event_around(text: str, at: int) -> tuple[int, int]:
    first, last = text.rindex("\n  {", 0, at), text.index("\n  }", at)
    return first, last + len("\n  }")


def start_bytes(program: Program) -> int:
    """Each memory once, as the allocator counts it; what comes during the step is not there yet."""
    later = {n for operator in program.operators if operator.op == INPUT for n in operator.args}
    storages = {
        known.storage: int(known.facts["storage_bytes"])
        for known in program.tensors
        if known.facts["device"] == program.device and "foreign" not in known.facts and known.number not in later
    }
    return sum(_in_blocks(size, program.device) for size in storages.values())


def _in_blocks(size: int, device: str) -> int:
    return size if device == "cpu" else -(-size // CUDA_BLOCK_BYTES) * CUDA_BLOCK_BYTES


def highest_rise(events: Iterable[dict[str, Any]], device: str) -> int:
    """The most that was allocated between the two marks, above what was at the first. Blocks from before the trace are not known."""
    events = list(events)
    begin, end = _range(events, BEGIN)[1], _range(events, END)[0]
    own = _by_thread(e for e in events if e.get("name") == OWN and e.get("ph") == "X")
    twice = [(*_interval(e), int(e["name"][len(TWICE) :])) for e in events if e.get("ph") == "X" and e["name"].startswith(TWICE)]
    kind, index = (CPU, None) if device == "cpu" else (CUDA, int(device.partition(":")[2] or 0))
    moments = [e for e in events if e.get("name") == "[memory]" and int(e["args"]["Device Type"]) == kind]
    moments = [e for e in moments if index is None or int(e["args"]["Device Id"]) == index]
    moments.sort(key=lambda e: float(e["ts"]))
    blocks: dict[int, int] = {}
    held = highest = base = 0
    for moment in moments:
        at, size, address = float(moment["ts"]), int(moment["args"]["Bytes"]), int(moment["args"]["Addr"])
        if _covers(own.get(moment["tid"], []), at):
            continue
        if size > 0:
            blocks[address] = size
            held += size
        else:
            held -= blocks.pop(address, 0)
        if at < begin:
            base = highest = held
        elif at <= end:
            too_many = sum(size for first, last, size in twice if first <= at <= last) if kind == CPU else 0
            highest = max(highest, held - too_many)
    return highest - base


def _by_thread(ranges: Iterable[dict[str, Any]]) -> dict[Any, list[tuple[float, float]]]:
    """Their beginnings and ends in order, without those inside another: ranges of one thread nest."""
    found: dict[Any, list[tuple[float, float]]] = {}
    for first, last, thread in sorted(((*_interval(e), e["tid"]) for e in ranges), key=lambda each: (each[0], -each[1])):
        outer = found.setdefault(thread, [])
        if not outer or outer[-1][1] < first:
            outer.append((first, last))
    return found


def _covers(ranges: list[tuple[float, float]], at: float) -> bool:
    before = bisect_right(ranges, (at, inf)) - 1
    return before >= 0 and at <= ranges[before][1]


def _range(events: Iterable[dict[str, Any]], name: str) -> tuple[float, float]:
    """The last one: a step that was none, with the end of an epoch in it, has left its own."""
    found = [_interval(e) for e in events if e.get("name") == name and e.get("ph") == "X"]
    if not found:
        raise ValueError(f"the trace has no range {name}")
    return max(found)


def _interval(event: dict[str, Any]) -> tuple[float, float]:
    return float(event["ts"]), float(event["ts"]) + float(event["dur"])
