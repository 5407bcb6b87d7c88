"""What the page draws is as wide as the work is long: at every zoom, on every track of every level, of every real trace at hand."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_socket import Json, Page, Server
from small_trace import Trace

TRACES = sorted(Path(folder).glob("*.json*")) if (folder := os.environ.get("HOTLENS_TRACES")) else []
WIDTH = 1000  # pixels
ZOOMS = (1, 4, 30, 300)  # times closer than the whole level
DEEPEST = 2  # levels below the step
MOST = 1.1  # drawn ÷ busy


def kind(blocks: Json, index: int) -> str:
    name: str = blocks["kinds"][blocks["kind"][index]]
    return name


def work(blocks: Json) -> list[int]:
    return [index for index in range(len(blocks["start"])) if kind(blocks, index) not in ("idle", "gap")]


def cut(blocks: Json, index: int, window: Json) -> int:
    start, end = blocks["start"][index], blocks["start"][index] + blocks["duration"][index]
    return max(0, int(min(end, window[1]) - max(start, window[0])))


def drawn_over_busy(level: Json, track: Json) -> float:
    """Of the time that the window shows of a track; both ends of the window may cut a piece that is drawn together with what is outside."""
    drawn = sum(cut(track["blocks"], index, level["window"]) for index in work(track["blocks"]))
    slack = 2 * (level["window"][1] - level["window"][0]) / WIDTH
    return max(0.0, drawn - slack) / track["busy"] if track["busy"] else 1.0


def heaviest(level: Json) -> Iterator[str]:
    """The blocks that can be opened and are drawn longest, one of each track."""
    for track in level["tracks"]:
        blocks = track["blocks"]
        opening = [index for index in work(blocks) if blocks["open"][index]]
        if opening:
            yield blocks["segment"][max(opening, key=lambda index: blocks["duration"][index])]


def paths(page: Page, path: list[str]) -> Iterator[list[str]]:
    yield path
    if len(path) < DEEPEST:
        for segment in sorted(set(heaviest(page.ask("level", path=path, width=WIDTH)))):
            yield from paths(page, [*path, segment])


def windows(page: Page, path: list[str]) -> Iterator[Json]:
    begin, end = page.ask("level", path=path, width=1)["extent"]
    for zoom in ZOOMS:
        length = max(1, (end - begin) // zoom)
        for part in (0.0, 0.4, 0.9):
            start = begin + int(part * max(0, end - begin - length))
            yield page.ask("level", path=path, width=WIDTH, **{"from": start, "to": start + length})


def worst_of(trace: Path) -> tuple[dict[str, float], int]:
    """The largest drawn ÷ busy by kind of track, and the most blocks of one answer."""
    worst: dict[str, float] = {}
    most = 0
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder), str(trace.resolve())) as server:
        page = Page(server)
        for path in paths(page, []):
            for level in windows(page, path):
                most = max(most, sum(len(track["blocks"]["start"]) for track in level["tracks"]))
                for track in level["tracks"]:
                    worst[track["kind"]] = max(worst.get(track["kind"], 0.0), drawn_over_busy(level, track))
        page.close()
    return worst, most


@pytest.mark.skipif(not TRACES, reason="HOTLENS_TRACES names no folder of traces")
@pytest.mark.parametrize("trace", TRACES, ids=[trace.name.split(".")[0] for trace in TRACES])
def test_what_is_drawn_is_as_long_as_the_work_at_every_zoom(trace: Path) -> None:
    worst, _ = worst_of(trace)
    assert worst
    assert all(ratio <= MOST for ratio in worst.values()), worst


def launch_bound(path: Path) -> Path:
    """Two thousand kernels of 3 µs, one every 10 µs; the host copies its result back and waits for that."""
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 21000)
    trace.add("python_function", "nn.Module: Net_0", 5, 19995)
    for at in range(10, 20000, 10):
        trace.add("cpu_op", f"aten::op{at % 7}", at, 8)
        trace.launch("sgemm", at + 2, at + 5, 3)
    trace.add("cpu_op", "aten::copy_", 20010, 900)
    trace.add("cuda_runtime", "cudaStreamSynchronize", 20020, 880)
    return trace.write(path)


def test_a_launch_bound_step_is_drawn_by_its_kernels_and_says_their_time(tmp_path: Path) -> None:
    with Server(tmp_path, str(launch_bound(tmp_path / "launches.json"))) as server:
        page = Page(server)
        for width in (50, 300, 1000, 4000):
            level = page.ask("level", path=[], width=width)
            (device,) = (track for track in level["tracks"] if track["kind"] == "device")
            assert device["busy"] == 1999 * 3000
            pieces = work(device["blocks"])
            assert sum(device["blocks"]["busy"][piece] for piece in pieces) == device["busy"]
            assert sum(device["blocks"]["spans"][piece] for piece in pieces) == 1999
            assert device["busy"] <= sum(device["blocks"]["duration"][piece] for piece in pieces) <= MOST * device["busy"]
        page.close()


def test_a_block_says_the_time_that_its_details_say(tmp_path: Path) -> None:
    with Server(tmp_path, str(launch_bound(tmp_path / "launches.json"))) as server:
        page = Page(server)
        told = 0
        for track in page.ask("level", path=[], width=WIDTH)["tracks"]:
            blocks = track["blocks"]
            for index in work(blocks):
                if blocks["segment"][index] == "":
                    continue
                times = page.ask("details", path=[blocks["segment"][index]])["times"]
                assert blocks["whole"][index] == times["cpuTotal" if track["kind"] == "host" else "device"]
                told += 1
                if told > 50:
                    break
        assert told > 1
        page.close()


def test_waiting_inside_a_block_is_told_with_its_place(tmp_path: Path) -> None:
    with Server(tmp_path, str(launch_bound(tmp_path / "launches.json"))) as server:
        page = Page(server)
        host = page.ask("level", path=[], width=WIDTH)["tracks"][0]
        page.close()
    assert (host["waits"]["start"], host["waits"]["duration"]) == ([20_020_000], [880_000])
    assert sum(host["blocks"]["waiting"]) == 880_000


if __name__ == "__main__":  # the figures: python tests/e2e/serve/test_drawn.py TRACE…
    for name in sys.argv[1:]:
        ratios, blocks_drawn = worst_of(Path(name))
        print(f"{Path(name).name:70} {blocks_drawn:6} blocks  " + "  ".join(f"{kind} {ratio:.2f}" for kind, ratio in ratios.items()))
