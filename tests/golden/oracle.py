"""What a trace says, computed a second time: an oracle for `hotlens report`, written from the trace format alone.

    python tests/golden/oracle.py TRACE            print the numbers of one trace
    python tests/golden/oracle.py --write TRACE…   write tests/golden/NAME.json

It shares no code and no data structure with the annotator: whole JSON documents, dictionaries, explicit enclosing intervals, `Python parent
id` for module trees. All times are integer nanoseconds. Only what the format defines is computed; what the annotator decides by judgement
(stages, the loss, the host's gaps) is not here.
"""

from __future__ import annotations

import argparse
import json
import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import chain as chain_of
from itertools import takewhile
from pathlib import Path
from typing import Any

from raw_events import DEVICE, MODULE, STEP, Event, beside, chain, clipped, merged, nested, read, union

RUNS_AHEAD = 0.02  # of all steps: less is how the last kernels always run out
SATURATED = 0.8  # busy at least: else what is late waits for something else
WAITS = ("StreamSynchronize", "DeviceSynchronize", "EventSynchronize", "CtxSynchronize")
HELD_UP, BUSY_THROUGHOUT = 100_000, 0.9  # ns that no launch takes; of it the device is busy
GOLDEN = Path(__file__).resolve().parent

Steps = list[tuple[int, int, int]]  # number, start, end after the time base


class Oracle:
    """Events, links and steps of one trace. `steps` stands in for the step marks of a trace that has none."""

    def __init__(self, path: Path, steps: Steps | None = None) -> None:
        self.events, self.base = read(path)
        self.device = [e for e in self.events if e.kind in DEVICE]
        self.marked = self.find_steps()
        self.steps = self.marked or steps or self.window()
        self.launch_of = self.link()
        self.windows = self.find_windows()

    def window(self) -> Steps:
        """From the first to the last work of any kind."""
        work = [e for e in self.events if e.kind != "other"]
        return [(0, min(e.start for e in work), max(e.end for e in work))]

    def find_steps(self) -> Steps:
        """Number and bounds of the ProfilerStep ranges of the thread that has most of them; empty ranges are no steps."""
        marks: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in self.events:
            if event.kind == "op" and event.name.startswith(STEP) and event.end > event.start:
                marks[event.thread].append(event)
        if not marks:
            return []
        chosen = max(marks.values(), key=len)
        return sorted((int(e.name[len(STEP) :]), e.start, e.end) for e in chosen)

    def link(self) -> dict[int, Event]:
        """The launch of each device event that has one, by index."""
        launches = {int(e.args["correlation"]): e for e in self.events if e.kind == "launch" and int(e.args.get("correlation", -1)) > 0}
        return {e.index: launches[c] for e in self.device if (c := int(e.args.get("correlation", -1))) in launches}

    def find_windows(self) -> list[tuple[int, int]]:
        """By step, what the device did for it: later than the step by how far the device is behind, where that grows."""
        behind = []
        before = self.ends_of_earlier_work()
        for when in (when for _, start, end in self.steps for when in (start, end)):
            ends = (e.end for e in self.device if e.index in self.launch_of and self.launch_of[e.index].start < when)
            behind.append(max(0, max(chain_of(before, ends), default=when) - when))
        for at in reversed(range(len(self.steps))):
            if at + 1 < len(self.steps):
                between = self.steps[at + 1][1] - self.steps[at][2]
                following = behind[2 * at + 2]
                behind[2 * at + 1] = min(behind[2 * at + 1], following + between) if following else 0
            _, start, end = self.steps[at]
            catches_up = behind[2 * at] - behind[2 * at + 1] > RUNS_AHEAD * (end - start)
            behind[2 * at] = min(behind[2 * at], behind[2 * at + 1] + (self.waiting(start, end) if catches_up else 0))
        firsts = [at for at in range(len(self.steps)) if at == 0 or behind[2 * at] == 0]
        windows = []
        for first, last in zip(firsts, [*firsts[1:], len(self.steps)], strict=True):
            ahead = self.is_ahead(behind, first, last)
            for at in range(first, last):
                _, start, end = self.steps[at]
                windows.append((start + behind[2 * at], end + behind[2 * at + 1]) if ahead else (start, end))
        return windows

    def ends_of_earlier_work(self) -> list[int]:
        """Of what was launched before the recording: on each stream what runs before any work that has a launch."""
        streams: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in sorted(self.device, key=lambda e: (e.start, e.index)):
            streams[event.thread].append(event)
        return [e.end for events in streams.values() for e in takewhile(lambda e: e.index not in self.launch_of, events)]

    def is_ahead(self, behind: list[int], first: int, last: int) -> bool:
        """Whether the host gets ahead of a busy device in the steps from one to before another."""
        steps = self.steps[first:last]
        least = [min(behind[2 * first : 2 * at + 1 : 2]) for at in range(first, last)]
        growth = max(behind[2 * at + 1] - least[at - first] for at in range(first, last))
        begin, end = steps[0][1] + behind[2 * first], steps[-1][2] + behind[2 * last - 1]
        much = growth > RUNS_AHEAD * sum(end - start for _, start, end in steps)
        return much and union(clipped(self.device, begin, end)) >= SATURATED * (end - begin)

    def is_held_up(self, launch: Event) -> bool:
        length = launch.end - launch.start
        return length >= HELD_UP and union(clipped(self.device, launch.start, launch.end)) >= BUSY_THROUGHOUT * length

    def waiting(self, start: int, end: int) -> int:
        """How long the host waits within a step: in synchronisations, in launches that a full queue holds up, after its last event."""
        launches = [e for e in self.events if e.kind == "launch" and e.start < end and e.end > start]
        waits = [e for e in launches if any(word in e.name for word in WAITS) or self.is_held_up(e)]
        host = [e.end for e in self.events if e.kind in ("op", "launch", "python")]
        return union(clipped(waits, start, end)) + max(0, end - max(start, max(host, default=start)))

    def step_of(self, when: int) -> int | None:
        at = bisect_right([start for _, start, _ in self.steps], when) - 1
        return at if at >= 0 and when < self.steps[at][2] else None

    def step_of_event(self, event: Event) -> int | None:
        return self.step_of(self.launch_of.get(event.index, event).start)

    def step_rows(self) -> list[dict[str, int]]:
        inside = Counter(self.step_of_event(e) for e in self.events)
        rows = []
        for at, (number, begun, _) in enumerate(self.steps):
            start, end = self.windows[at]
            first_wins = self.device_by(start, end, self.origin)
            carried = self.device_by(start, end, partial(self.is_carried, begun))
            rows.append(
                {
                    "index": number,
                    "start_ns": self.base + start,
                    "wall_ns": end - start,
                    "device_ns": union(clipped(self.device, start, end)),
                    "unlinked_device_ns": first_wins["unlinked"],
                    "carried_device_ns": carried[True],
                    "communication_device_ns": first_wins["communication"],
                    "events": inside[at],
                }
            )
        return rows

    def origin(self, event: Event) -> str:
        if event.index not in self.launch_of:
            return "unlinked"
        return "communication" if is_communication(event) else "other"

    def is_carried(self, step_start: int, event: Event) -> bool:
        launch = self.launch_of.get(event.index)
        return launch is None or launch.start < step_start

    def device_by(self, start: int, end: int, label: Callable[[Event], Any]) -> Counter[Any]:
        """Device busy time inside a window by label; where events overlap the one that began first counts, communication last of all."""
        times: Counter[Any] = Counter()
        ordered = sorted(self.device, key=lambda e: (e.start, e.index))
        others = merged(clipped([e for e in ordered if not is_communication(e)], start, end))
        for late in (False, True):
            until = start
            for event in ordered:
                begin, finish = max(event.start, until), min(event.end, end)
                if is_communication(event) == late and finish > begin:
                    times[label(event)] += finish - begin - (beside(others, begin, finish) if late else 0)
                    until = finish
        return times

    def totals(self) -> dict[str, Any]:
        linked = [e for e in self.device if e.index in self.launch_of]
        return {
            "marked_steps": len(self.marked),
            "events": len(self.events),
            "kinds": dict(sorted(Counter(e.kind for e in self.events).items())),
            "launches_with_work": len({self.launch_of[e.index].index for e in linked}),
            "linked": len(linked),
            "linked_ns": sum(e.end - e.start for e in linked),
            "unlinked_ns": sum(e.end - e.start for e in self.device if e.index not in self.launch_of),
        }


def is_communication(event: Event) -> bool:
    return event.name.startswith("nccl")


def is_numbered_backward(event: Event) -> bool:
    return int(event.args.get("Fwd thread id", 0)) > 0


Place = tuple[str, ...]  # a module below those that called it, the outermost first


class Modules:
    """Module frames: who called whom by `Python parent id`, forward by what runs inside, backward by sequence number."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.frames = [e for e in oracle.events if e.kind == "python" and e.name.startswith(MODULE)]
        threads: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in oracle.events:
            wanted = event.kind in ("launch",) or (event.kind == "op" and not event.name.startswith(STEP))
            if wanted or (event.kind == "python" and event.name.startswith(MODULE)):
                threads[event.thread].append(event)
        self.placed = {index: interval for events in threads.values() for index, interval in nested(events).items()}
        self.forward = self.find_forward()
        self.backward = self.find_backward()
        self.by_id = {int(e.args["Python id"]): e for e in oracle.events if e.kind == "python" and "Python id" in e.args}
        self.place: dict[int, Place] = {}
        self.find_places()

    def caller(self, frame: Event) -> Event | None:
        """The module frame that a frame was called from."""
        above: Any = frame.args.get("Python parent id")
        while above is not None and int(above) in self.by_id and not self.by_id[int(above)].name.startswith(MODULE):
            above = self.by_id[int(above)].args.get("Python parent id")
        return self.by_id.get(int(above)) if above is not None else None

    def find_places(self) -> None:
        """By frame: the modules that led to it. What backward runs again is where the forward call was that it repeats."""
        ordered = sorted(self.frames, key=lambda e: (e.start, -e.end, e.index))
        for again in (False, True):
            for frame in ordered:
                if self.in_backward(frame) == again:
                    caller = self.caller(frame)
                    inside = caller is not None and self.in_backward(caller) == again
                    self.place[frame.index] = (
                        (*self.place[caller.index], frame.name) if caller and inside else self.repeated(frame) if again else (frame.name,)
                    )

    def repeated(self, frame: Event) -> Place:
        """Where the outermost frame of a recomputation ran first."""
        around = next((e for e in chain(self.placed[frame.index]) if is_numbered_backward(e)), None)
        creator = self.creator(around) if around else None
        for event in chain(self.placed.get(creator.index)) if creator else []:
            if event.name == frame.name:
                return self.place[event.index]
        return next((place for place in self.place.values() if place[-1] == frame.name), (frame.name,))

    def find_forward(self) -> dict[int, list[Event]]:
        """By sequence number: the operators that carry it and do not run backward, by start."""
        forward: dict[int, list[Event]] = defaultdict(list)
        for event in sorted(self.oracle.events, key=lambda e: e.start):
            number = int(event.args.get("Sequence number", -1))
            if event.kind == "op" and number >= 0 and not is_numbered_backward(event):
                forward[number].append(event)
        return forward

    def find_backward(self) -> dict[tuple[str, str], list[Event]]:
        """By thread: the numbered backward operators whose forward is in the trace, by start."""
        backward: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in sorted(self.oracle.events, key=lambda e: e.start):
            if event.kind == "op" and is_numbered_backward(event) and self.creator(event):
                backward[event.thread].append(event)
        return backward

    def creator(self, event: Event) -> Event | None:
        """Of a numbered backward operator: the forward operator of that number that started last before it."""
        candidates = [e for e in self.forward.get(int(event.args["Sequence number"]), []) if e.start < event.start]
        return candidates[-1] if candidates else None

    def used_before(self, accumulation: Event) -> Event | None:
        """The backward operator after which a gradient is accumulated: the engine runs the two one after the other."""
        ran = self.backward[accumulation.thread]
        at = bisect_left([e.start for e in ran], accumulation.start)
        return ran[at - 1] if at else None

    def module_of(self, event: Event | None) -> Place:
        """The innermost module around the creator of a backward operator."""
        creator = self.creator(event) if event else None
        around = chain(self.placed.get(creator.index)) if creator else []
        return next((self.place[e.index] for e in around if e.name.startswith(MODULE)), ())

    def owner(self, launch: Event) -> tuple[Place, str]:
        """The innermost module of a launch and the direction: forward, backward (recomputation included), or accumulation."""
        for event in chain(self.placed.get(launch.index)):
            if event.name.startswith(MODULE):
                return self.place[event.index], "backward" if self.in_backward(event) else "forward"
            if "AccumulateGrad" in event.name:
                return self.module_of(self.used_before(event)), "accumulation"
            if is_numbered_backward(event):
                return self.module_of(event), "backward"
        return (), "other"

    def in_backward(self, event: Event) -> bool:
        around = chain(self.placed[event.index])
        return any(is_numbered_backward(e) or e.name.startswith("autograd::engine::evaluate_function") for e in around)

    @staticmethod
    def holders(place: Place) -> list[Place]:
        return [place[:depth] for depth in range(1, len(place) + 1)]

    def rows(self) -> list[list[Any]]:
        """Per module and caller: name, row of the caller or -1, and per step calls, forward host ns, forward and backward device ns."""
        steps = range(len(self.oracle.steps))
        host: dict[tuple[Place, int], list[tuple[int, int]]] = defaultdict(list)
        calls: Counter[tuple[Place, int]] = Counter()
        for frame in self.frames:
            if self.in_backward(frame):
                continue
            for step in steps:
                _, start, end = self.oracle.steps[step]
                if start <= frame.start < end:
                    place = self.place[frame.index]
                    calls[place, step] += 1
                    for holder in self.holders(place):
                        host[holder, step].append((frame.start, min(frame.end, end)))
        device: dict[tuple[Place, int, str], list[tuple[int, int]]] = defaultdict(list)
        for event in self.oracle.device:
            launch = self.oracle.launch_of.get(event.index)
            when = self.oracle.step_of(launch.start) if launch else None
            if launch is None or when is None:
                continue
            place, direction = self.owner(launch)
            if direction == "accumulation":
                if event.name.startswith("nccl"):
                    continue  # gradients travelling are a row of their own
                direction = "backward"
            for holder in self.holders(place):
                device[holder, when, direction].append((event.start, event.end))
        order: dict[Place, int] = {}
        for place in self.place.values():
            order.setdefault(place, len(order))
        return [
            [
                place[-1][len(MODULE) :],
                order[place[:-1]] if len(place) > 1 else -1,
                [calls[place, step] for step in steps],
                [union(host[place, step]) for step in steps],
                [union(device[place, step, "forward"]) for step in steps],
                [union(device[place, step, "backward"]) for step in steps],
            ]
            for place in order
        ]


def compute(path: Path, steps: Steps | None = None) -> dict[str, Any]:
    """Everything the oracle knows of a trace, as the golden file holds it. `steps` only counts where the trace marks none."""
    oracle = Oracle(path, steps)
    numbers: dict[str, Any] = {"totals": oracle.totals(), "steps": oracle.step_rows()}
    if any(e.name.startswith(MODULE) for e in oracle.events if e.kind == "python"):
        numbers["modules"] = Modules(oracle).rows()
    return numbers


def text(numbers: dict[str, Any]) -> str:
    """JSON with one step or module a line."""
    parts = [f'"totals":{json.dumps(numbers["totals"])}']
    for key in ("steps", "modules"):
        if key in numbers:
            parts.append(f'"{key}":[\n' + ",\n".join(json.dumps(row, separators=(",", ":")) for row in numbers[key]) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def golden_of(trace: Path) -> Path:
    return GOLDEN / (trace.name.split(".")[0] + ".json")


def main() -> int:
    parser = argparse.ArgumentParser(description="recompute the golden numbers of traces")
    parser.add_argument("--write", action="store_true", help="write tests/golden/NAME.json instead of printing")
    parser.add_argument("traces", nargs="+", type=Path)
    options = parser.parse_args()
    for trace in options.traces:
        result = text(compute(trace))
        if options.write:
            golden_of(trace).write_text(result)
        else:
            sys.stdout.write(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
