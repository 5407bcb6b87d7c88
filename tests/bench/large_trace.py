"""A large trace made from a real one, by repetition with shifted times and ids. Written piece by piece: no more than one copy is in memory.

python tests/bench/large_trace.py TRACE OUT.json --megabytes 1000
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]

# Numbers that tie events of one copy together; each copy gets its own. The step is larger than any in the shared traces.
ID_STEP = 10_000_000
ARGUMENT_IDS = ("correlation", "External id", "Ev Idx", "Sequence number", "Python id", "Python parent id")


def read(path: Path) -> dict[str, Any]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    loaded = json.loads(text)
    return loaded if isinstance(loaded, dict) else {"traceEvents": loaded}


def shifted(event: Event, copy: int, time: float) -> Event:
    moved = dict(event)
    if "ts" in moved:
        moved["ts"] = round(float(moved["ts"]) + time, 3)
    if isinstance(moved.get("id"), int):
        moved["id"] += copy * ID_STEP
    if isinstance(arguments := moved.get("args"), dict):
        moved["args"] = {
            key: value + copy * ID_STEP if key in ARGUMENT_IDS and isinstance(value, int) and value > 0 else value
            for key, value in arguments.items()
        }
    return moved


def copies(events: list[Event], megabytes: int) -> Iterator[str]:
    """Events as JSON texts, enough of them for that size; metadata once, ranges of time one after the other."""
    timed = [event for event in events if event.get("ph") != "M"]
    starts = [event["ts"] for event in timed if event.get("ph") == "X"]
    ends = [event["ts"] + event.get("dur", 0) for event in timed if event.get("ph") == "X"]
    length = max(ends) - min(starts) + 1000
    written = 0
    encode = json.JSONEncoder().encode
    for event in events:
        if event.get("ph") == "M":
            yield encode(event)
    copy = 0
    while written < megabytes * 1_000_000:
        for event in timed:
            text = encode(shifted(event, copy, copy * length))
            written += len(text) + 5
            yield text
        copy += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    options = parser.parse_args()
    source = read(options.trace)
    with options.out.open("w") as out:
        out.write('{\n  "schemaVersion": 1,\n  "traceEvents": [\n    ')
        for number, text in enumerate(copies(source["traceEvents"], options.megabytes)):
            out.write(f",\n    {text}" if number else text)
        out.write(f'\n  ],\n  "baseTimeNanoseconds": {source.get("baseTimeNanoseconds", 0)}\n}}\n')


if __name__ == "__main__":
    main()
