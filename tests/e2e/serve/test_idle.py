"""Communication beside other work, and why nothing runs at a moment: what the page shows of a device that is not busy with the step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_socket import Json, Page, page_of
from small_trace import Trace


def trace_of_gaps(path: Path) -> Path:
    """A host that launches, sleeps in a function of its own for 3 ms, waits for a copy, and launches work that takes long to load."""
    trace = Trace()
    trace.add("user_annotation", "ProfilerStep#0", 0, 10000)
    trace.add("python_function", "train.py(41): rollout", 150, 3900)
    trace.add("python_function", "nn.Module: Net_0", 5, 100)
    shapes = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    trace.add("cpu_op", "aten::mm", 10, 40, **shapes)
    trace.launch("sgemm", 20, 40, 100)
    trace.add("cpu_op", "aten::conv2d", 4100, 2000)
    trace.launches += 1
    trace.add("cuda_runtime", "cudaLaunchKernel", 4200, 1500, correlation=trace.launches)
    trace.add("kernel", "winograd", 5720, 200, thread="7", correlation=trace.launches)
    # Communication of 400 µs, 150 of them beside a kernel; on the same stream afterwards another kernel.
    trace.add("cpu_op", "c10d::allreduce_", 6200, 50)
    trace.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 6210, 6300, 400)
    trace.events[-1]["tid"] = "9"
    trace.events[-1]["args"] |= {
        "Collective name": "allreduce",
        "In msg nelems": 1_000_000,
        "Out msg nelems": 1_000_000,
        "dtype": "Float",
        "Group size": 8,
        "Process Group Name": "2",
    }
    trace.add("cpu_op", "aten::add", 6300, 50)
    trace.launch("add", 6310, 6400, 150)
    trace.add("cpu_op", "aten::mul", 6400, 50)
    trace.launch("mul", 6410, 6700, 100)
    trace.events[-1]["tid"] = "9"
    return trace.write(path)


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with page_of(trace_of_gaps(tmp_path_factory.mktemp("gaps") / "gaps.json")) as page:
        yield page


def named(level: Json, kind: str) -> list[Json]:
    return [track for track in level["tracks"] if track["kind"] == kind]


def times(rows: Json) -> dict[str, int]:
    return {row["what"]: row["time"] for row in rows}


def test_communication_has_a_track_of_its_own_where_its_stream_does_other_work_too(gaps: Page) -> None:
    level = gaps.ask("level", path=[], width=1000)
    (communication,) = named(level, "communication")
    assert communication["name"] == "GPU 0 stream 9 communication"
    assert communication["busy"] == 400_000
    assert {track["name"]: track["busy"] for track in named(level, "device")} == {"GPU 0 stream 7": 450_000, "GPU 0 stream 9": 100_000}


def test_the_overlap_row_says_what_of_the_communication_other_work_hides(gaps: Page) -> None:
    (overlap,) = named(gaps.ask("level", path=[], width=1000), "overlap")
    assert (overlap["exposed"], overlap["hidden"], overlap["busy"]) == (250_000, 150_000, 400_000)
    buckets = {bucket["bucket"]: bucket["device"] for bucket in gaps.ask("overview")["buckets"]}
    assert buckets["communication"] == overlap["exposed"]
    blocks = overlap["blocks"]
    assert [blocks["kinds"][kind] for kind in blocks["kind"]] == ["exposed", "hidden", "exposed"]
    assert blocks["duration"] == [100_000, 150_000, 150_000]
    assert blocks["whole"] == [250_000, 150_000, 250_000]


def test_an_exchange_says_its_bytes_processes_algorithm_and_bandwidth(gaps: Page) -> None:
    blocks = named(gaps.ask("level", path=[], width=1000), "communication")[0]["blocks"]
    (segment,) = {segment for segment in blocks["segment"] if segment}
    (exchange,) = gaps.ask("details", path=[segment])["collectives"]
    assert exchange == {
        "operation": "all_reduce",
        "group": "2",
        "type": "Float",
        "processes": 8,
        "algorithm": "ring, LL",
        "calls": 1,
        "time": 400_000,
        "exposed": 250_000,
        "bytes": 4_000_000,
        "algorithmBandwidth": 10_000_000_000,
        "busBandwidth": 17_500_000_000,
    }
    assert "collectives" not in gaps.ask("details", path=["forward"] if segment != "forward" else [])


def test_idle_time_says_what_the_host_did_and_what_came_next(gaps: Page) -> None:
    idle = gaps.ask("idle", track=stream(gaps), at=2_000_000)
    assert (idle["start"], idle["end"]) == (140_000, 5_720_000)
    causes = times(idle["parts"])
    assert sum(causes.values()) == idle["end"] - idle["start"]
    assert causes["device idle, host runs other code"] > 3_800_000
    assert idle["doing"][0]["what"] == "train.py(41): rollout"
    assert idle["doing"][0]["time"] == 3_900_000
    assert times(idle["doing"])["cudaLaunchKernel of aten::conv2d"] == 1_520_000  # until the kernel began
    following = idle["next"]
    assert (following["launch"], following["caller"]) == ("cudaLaunchKernel", "aten::conv2d")
    assert (following["launched"], following["launching"], following["delay"]) == (4_200_000, 1_500_000, 20_000)
    assert gaps.ask("details", path=following["path"])["name"] == "winograd"


def stream(page: Page) -> str:
    name: str = named(page.ask("level", path=[], width=1000), "device")[0]["id"]
    return name


def test_time_outside_operators_of_the_main_thread_names_the_function(gaps: Page) -> None:
    idle = gaps.ask("idle", track="main", at=1_000_000)
    assert times(idle["doing"])["train.py(41): rollout"] == 3_900_000
    assert "next" not in idle


def test_a_level_shows_what_of_it_lies_on_the_critical_path(gaps: Page) -> None:
    (path,) = named(gaps.ask("level", path=[], width=1000), "path")
    assert path["name"] == "critical path"
    assert path["time"] == path["busy"] == 10_000_000
    blocks = path["blocks"]
    assert {"cudaLaunchKernel", "no operator"} <= set(blocks["labels"])  # its device is never what it waits for
    assert {blocks["kinds"][kind] for kind in blocks["kind"]} <= {"path", "merged"}
    launch = blocks["labels"].index("cudaLaunchKernel")
    ways = [way for way, label in zip(path["ways"], blocks["label"], strict=True) if way is not None and label == launch]
    assert ways and {gaps.ask("details", path=way)["name"] for way in ways} == {"cudaLaunchKernel"}
    (inner,) = named(gaps.ask("level", path=["forward"], width=1000), "path")
    assert 0 < inner["time"] < path["time"]
    shortens = times(gaps.ask("details", path=[])["shortens"])
    assert sum(shortens.values()) == 10_000_000
    assert "exposed communication" not in shortens, "a path has what is hidden too, and the verdict's number is another one"
    assert not [name for name in shortens if name.startswith("device idle")], "what the host does may be on a path while the device works"
    assert "shortens" not in gaps.ask("details", path=["forward"])


def test_arithmetic_is_told_by_unique_arguments(gaps: Page) -> None:
    (row,) = gaps.ask("details", path=[])["costs"]
    assert (row["name"], row["shapes"], row["type"], row["calls"]) == ("aten::mm", "[[64, 64], [64, 64]]", "f32", 1)
    assert row["time"] == 100_000
    assert row["flopsPerSecond"] == pytest.approx(2 * 64**3 / 100e-6)
    assert row["bytesPerSecond"] == pytest.approx(3 * 64**2 * 4 / 100e-6)
    assert "ofRoof" not in row  # the device has no name


GLOO = 20


def trace_without_a_device(path: Path) -> Path:
    """Two steps on a CPU: each exchanges for 6 ms, 1 ms of it beside the main thread's work; then the loop runs code of its own."""
    trace = Trace()
    for step in range(2):
        at = 10_000 * step
        trace.add("user_annotation", f"ProfilerStep#{step}", at, 10_000)
        trace.add("cpu_op", "aten::mm", at + 100, 1_900)
        trace.add(
            "user_annotation", "gloo:all_reduce", at + 1_000, 6_000, thread=str(GLOO), **{"Input Dims": [[1000]], "Input type": ["float"]}
        )
        trace.add("cpu_op", "aten::add", at + 7_100, 400)
    return trace.write(path)


@pytest.fixture(scope="module")
def exchanging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with page_of(trace_without_a_device(tmp_path_factory.mktemp("gloo") / "gloo.json")) as page:
        yield page


def test_waiting_for_other_ranks_is_communication_without_a_device_too(exchanging: Page) -> None:
    level = exchanging.ask("level", path=[], width=1000)
    (main,) = named(exchanging.ask("level", path=["forward"], width=1000), "host")  # between two operators of it
    blocks = main["blocks"]
    at = [blocks["kinds"][kind] for kind in blocks["kind"]].index("communication")
    assert (blocks["start"][at], blocks["duration"][at]) == (2_000_000, 5_000_000)
    assert blocks["labels"][blocks["label"][at]] == "gloo:all_reduce"
    assert blocks["stages"][blocks["stage"][at]] == "communication"
    (overlap,) = named(level, "overlap")
    assert overlap["name"] == "CPU overlap"
    assert (overlap["exposed"], overlap["hidden"]) == (5_000_000, 1_000_000)
    details = exchanging.ask("details", path=["forward", blocks["segment"][at]])
    assert (details["kind"], details["name"]) == ("communication", "gloo:all_reduce")
    (row,) = details["collectives"]
    assert (row["operation"], row["time"], row["exposed"]) == ("all_reduce", 6_000_000, 5_000_000)


def test_a_host_that_waits_for_others_says_for_which_exchange(exchanging: Page) -> None:
    waiting = exchanging.ask("idle", track="main", at=4_000_000)
    assert (waiting["start"], waiting["end"]) == (2_000_000, 7_000_000)
    assert times(waiting["parts"]) == {"communication between processes": 5_000_000}
    assert times(waiting["doing"]) == {"waiting for the other ranks in gloo:all_reduce": 5_000_000}
    other = exchanging.ask("idle", track="main", at=8_000_000)
    assert other["parts"] == []
    assert "waiting for the other ranks" not in other["doing"][0]["what"]


@pytest.mark.parametrize("of, name, sums", (("exchanging", "CPU", (10_000_000, 2_000_000)), ("gaps", "GPU 0", (250_000, 150_000))))
def test_the_recording_has_communication_and_its_overlap(of: str, name: str, sums: tuple[int, int], request: pytest.FixtureRequest) -> None:
    recording = request.getfixturevalue(of).ask("recording", width=1000)
    (communication,), (overlap,) = named(recording, "communication"), named(recording, "overlap")
    assert (communication["name"], overlap["name"]) == (f"{name} communication", f"{name} overlap")
    assert communication["busy"] == sum(sums)
    blocks = overlap["blocks"]
    of_kind = [
        sum(d for d, k in zip(blocks["duration"], blocks["kind"], strict=True) if blocks["kinds"][k] == kind)
        for kind in ("exposed", "hidden")
    ]
    assert tuple(of_kind) == sums


def test_where_something_runs_nothing_is_explained(gaps: Page) -> None:
    assert gaps.ask("idle", track=stream(gaps), at=50_000) == {"parts": [], "doing": []}
    assert gaps.ask("idle", track="main", at=20_000) == {"parts": [], "doing": []}
    assert gaps.refused("idle", track="nobody", at=5)["code"] == -32602
    assert gaps.refused("idle", track="main")["code"] == -32602
