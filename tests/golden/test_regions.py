"""Work of replayed graphs on every shared trace: which events it is, how much there is of it, and what repeats in it, by the raw events."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
import raw_events
from raw_events import DEVICE, Event
from test_golden import TRACE_FILES, hotlens, needs_traces


def replayed(trace: Path) -> dict[int, list[Event]]:
    """Device work by the launch of a graph, by the position of that launch."""
    events, _ = raw_events.read(trace)
    launches = {int(e.args["correlation"]): e for e in events if e.kind == "launch" and "GraphLaunch" in e.name}
    work = defaultdict(list)
    for event in sorted((e for e in events if e.kind in DEVICE), key=lambda e: (e.start, e.index)):
        if launch := launches.get(int(event.args.get("correlation", -1))):
            work[launch.index].append(event)
    return work


@needs_traces
@pytest.mark.parametrize("trace", TRACE_FILES, ids=lambda path: path.name.split(".")[0])
def test_work_of_replayed_graphs_is_told(trace: Path) -> None:
    raw = replayed(trace)
    told = {row["event"]: row for line in hotlens("report", trace, "--events").splitlines() if (row := json.loads(line))}
    ours = {at for at, row in told.items() if row.get("region") == "replayed"}
    assert ours == {event.index for work in raw.values() for event in work if event.index in told}

    report = json.loads(hotlens("report", trace, "--format", "json"))
    regions = [region for region in report.get("compiled", {}).get("regions", []) if region["kind"] == "replayed"]
    shown = {launch: work for launch, work in raw.items() if launch in told and told[launch]["step"] == report["profile"]["shown_step"]}
    assert sum(region["works"] for region in regions) == sum(map(len, shown.values()))
    assert sum(region["runs"] for region in regions) == len([work for work in shown.values() if work])


@needs_traces
def test_what_repeats_in_a_graph_repeats() -> None:
    trace = next(path for path in TRACE_FILES if path.name.startswith("inference_vllm"))
    [region] = json.loads(hotlens("report", trace, "--format", "json"))["compiled"]["regions"]
    [work] = replayed(trace).values()
    repeat = region["repeat"]
    length, times = repeat["works"], repeat["times"]
    assert (length, times) == (35, 11)
    fits = set()
    for begin in range(len(work) - length * times + 1):
        part = work[begin : begin + length * times]
        if all(a.name == b.name for a, b in zip(part, part[length:], strict=False)):
            fits.add(sum(e.end - e.start for e in part))
    assert repeat["ns"] in fits
