"""How fast `hotlens serve` answers a page: the first picture, then every message at random places, depths and zooms.

    HOTLENS_BIN=... python tests/bench/timeline_latency.py TRACE [--events 1000000 [--one-step]] [--asked 500] [--width 1400] [--seed 1]

With --events the trace is repeated until it has that many, with --one-step all of them in one step; otherwise it is served as it is. Times
are of the client: request sent to whole answer read and not yet parsed; processor times are of the server. Prints p50, p99 and the largest
answer of each message.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e" / "serve"))
from large_trace import copies, read
from page_socket import Json, Page, Server


def write_repeated(trace: Path, out: Path, events: int, one_step: bool) -> int:
    """The trace repeated until it has that many complete events; how many it has."""
    loaded = read(trace)
    source = [event for event in loaded["traceEvents"] if not (one_step and str(event.get("name", "")).startswith("ProfilerStep#"))]
    steps = [event for event in loaded["traceEvents"] if str(event.get("name", "")).startswith("ProfilerStep#")]
    written, last = 0, 0.0
    first = min(event["ts"] for event in source if event.get("ph") == "X")
    with out.open("w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [')
        for number, text in enumerate(copies(source, 1 << 20)):
            file.write((",\n" if number else "") + text)
            if '"ph": "X"' not in text:
                continue
            written += 1
            event = json.loads(text)
            last = max(last, event["ts"] + event.get("dur", 0))
            if written >= events:
                break
        if one_step:
            file.write(",\n" + json.dumps({**steps[0], "ts": first - 1, "dur": last - first + 2}))
        file.write("]}")
    return written


def processor_seconds(process: int) -> float:
    """What all threads of a process have used of the processors: what is left of a time when others wait for them as well."""
    used = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        used += int((thread / "schedstat").read_text().split()[0])
    return used / 1e9


def timed(page: Page, method: str, **params: Json) -> tuple[float, int, Json]:
    """Seconds, bytes and the result of one request."""
    begin = time.perf_counter()
    wanted = page.post(method, **params)
    text = page.read_message()
    took = time.perf_counter() - begin
    message = json.loads(text)
    assert message["id"] == wanted and "result" in message, message
    return took, len(text), message["result"]


def random_window(random_: random.Random, extent: list[int]) -> tuple[int, int]:
    """Any zoom, from the whole block down to a thousandth of it and less."""
    length = max(1, extent[1] - extent[0])
    span = max(1, int(length * 10 ** random_.uniform(-4, 0)))
    begin = extent[0] + random_.randrange(max(1, length - span + 1))
    return begin, begin + span


def descend(random_: random.Random, level: Json) -> str | None:
    """The segment of a block of this level that opens."""
    open_segments = [
        blocks["segment"][at]
        for track in level["tracks"]
        for blocks in [track["blocks"]]
        for at in range(len(blocks["start"]))
        if blocks["open"][at]
    ]
    return random_.choice(open_segments) if open_segments else None


WORDS = ("linear", "a", "gemm", "nothing that is there")
# Of the timeline as text; the ways down are pressed more often than those up.
KEYS = (*("open", "below", "right") * 3, *("left", "above", "first", "last", "up", "zoom_in", "zoom_out", "zoom_to_block", "fit"))
KEYS += ("next_step", "previous_step", "recording", "unfold", "sum", "compare", "next_match", "line")


def measure(page: Page, process: int, asked: int, width: int, random_: random.Random) -> dict[str, list[tuple[float, float, int]]]:
    """Seconds, seconds of the server's processors and bytes of each answer, by message."""
    taken: dict[str, list[tuple[float, float, int]]] = {}

    def ask(method: str, **params: Json) -> Json:
        before = processor_seconds(process)
        took, size, result = timed(page, method, **params)
        of = f"{method} of all" if "recording" in params else method
        taken.setdefault(of, []).append((took, processor_seconds(process) - before, size))
        return result

    path: list[str] = []
    view: Json = {}
    threads = [each["id"] for each in page.ask("lanes", width=width)["threads"]]
    begin = time.perf_counter()
    page.ask("lanes", width=width, open=threads)
    print(f"every thread of the host {1000 * (time.perf_counter() - begin):.1f} ms, asked for the first time")
    extent = page.ask("level", path=[], width=width)["extent"]
    begin = time.perf_counter()
    recorded = page.ask("recording", width=width)["extent"]
    print(f"the whole recording {1000 * (time.perf_counter() - begin):.1f} ms, asked for the first time")
    view = page.ask("text", columns=width // 8, actions=[{"does": "search", "query": WORDS[0]}])["view"]
    for _ in range(asked):
        begin, end = random_window(random_, extent)
        window = {"from": begin, "to": end}
        level = ask("level", path=path, width=width, unfold=random_.random() < 0.2, **window)
        ask("details", path=path)
        ask("range", path=path, **window)
        ask("lanes", width=width, open=threads if random_.random() < 0.5 else [], **window)
        ask("arrows", path=path, **(window if random_.random() < 0.5 else {}))
        begin, end = random_window(random_, recorded)
        ask("recording", width=width, **{"from": begin, "to": end})
        ask("range", recording=True, **{"from": begin, "to": end})
        view = ask("text", view=view, actions=[{"does": random_.choice(KEYS)}], columns=width // 8)["view"]
        if random_.random() < 0.2:
            ask("search", query=random_.choice(WORDS), limit=50)
            ask("breakdown", metric=random_.choice(("time", "memory")))
            ask("overview")
        segment = descend(random_, level)
        path = [*path, segment] if segment and random_.random() < 0.4 and len(path) < 12 else path if random_.random() < 0.7 else []
        extent = page.ask("level", path=path, width=1)["extent"]
    return taken


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("trace", type=Path)
    arguments.add_argument("--events", type=int)
    arguments.add_argument("--one-step", action="store_true")
    arguments.add_argument("--asked", type=int, default=500)
    arguments.add_argument("--width", type=int, default=1400)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = options.trace.resolve()
        if options.events:
            trace = Path(folder) / "large.json"
            print(f"{write_repeated(options.trace, trace, options.events, options.one_step):,} events, {trace.stat().st_size / 1e6:.0f} MB")
        with Server(Path(folder), str(trace)) as server:
            page = Page(server)
            begin = time.perf_counter()
            overview = page.ask("overview")
            print(f"profile open {time.perf_counter() - begin:.2f} s after the page connected, {len(overview['steps'])} steps")
            first, size, level = timed(page, "level", path=[], width=options.width)
            print(f"first picture {first * 1000:.1f} ms, {size / 1000:.1f} kB, {len(level['tracks'])} tracks")
            taken = measure(page, server.process.pid, options.asked, options.width, random.Random(options.seed))
            for method, answers in taken.items():
                wall, processor = (statistics.quantiles([answer[of] for answer in answers], n=100) for of in (0, 1))
                told = [f"p50 {cuts[49] * 1000:.2f}, p99 {cuts[98] * 1000:.2f} ms" for cuts in (wall, processor)]
                largest = max(size for _, _, size in answers)
                print(f"{method:12} {len(answers):5} asked: {told[0]}; processor {told[1]}; largest answer {largest / 1000:.1f} kB")
            page.close()


if __name__ == "__main__":
    main()
